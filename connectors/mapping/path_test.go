package mapping

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

const pathBody = `{
 "id": 98765432109876543210, "total": "1,234.50", "cents": 4990, "empty": "", "nothing": null, "yes": true, "list": ["+91 98765 43210"],
 "a": {"b": {"c": " deep "}, "dotted.name": "d", "with space": "s"},
 "phones": [{"value": "1", "primary": false}, {"value": "2", "primary": true}, {"primary": true, "value": "3"}],
 "attributes": [{"key": "telephone1", "value": "555"}, {"key": "Name", "value": {"first": "Zoë"}}],
 "fields": [{"label": "Your Phone?", "value": null}, {"label": "phone (2nd)", "value": "777"}],
 "entry": [{"changes": [{"v": 1}, {"v": 2}]}, {"changes": []}, {"changes": [{"v": 3}]}],
 "form": {"q1_a": {"first": "A"}, "q2_b": {"full": "+1"}},
 "asked": {"fields": [{"id": 1, "title": "Your name"}, {"id": "p", "title": "Your phone", "more": [{"x": "y"}]}]},
 "answers": [{"of": 1, "text": "Ada"}, {"of": "p", "text": "0770"}, {"of": "q", "text": "1"}],
 "holes": {"0": "zero", "2": "two"}, "one": {"only": "me"},
 "caf\u00e9": "escaped name", "quote": "say \"hi\"", "html": "<b>&pound;5</b>"
}`

func pathView(t testing.TB, e *Expr, body string) *View {
	t.Helper()
	p := rawjson.NewProgram()
	e.Link(p, p)
	found := make([]rawjson.Span, p.Slots)
	if err := p.Run(body, found); err != nil {
		t.Fatal(err)
	}
	return &View{
		Item: body, Root: body, InItem: found, InRoot: found, RawQuery: "source=shop%201&x=1&x=2",
		Header: http.Header{"X-Topic": {" orders/create "}}, Typ: "sender/word", Kind: "order.created", Event: "e1",
	}
}

func TestPathsLeadToTexts(t *testing.T) {
	tests := map[string]struct{ path, want string }{
		"a number keeps its digits":               {"id", "98765432109876543210"},
		"outer space goes":                        {"a.b.c", "deep"},
		"null is nothing":                         {"nothing", ""},
		"an object is nothing":                    {"a", ""},
		"a truth value is a word":                 {"yes", "true"},
		"a list of one is its element":            {"list", "+91 98765 43210"},
		"a list of several is nothing":            {"phones", ""},
		"a name with a dot in quotes":             {`a."dotted.name"`, "d"},
		"a name with a space in quotes":           {`a."with space"`, "s"},
		"a name that is escaped in the body":      {"café", "escaped name"},
		"a place":                                 {"phones[1].value", "2"},
		"the last position":                       {"phones[-1].value", "3"},
		"a place that is not there":               {"phones[7].value", ""},
		"a place before the first":                {"phones[-9].value", ""},
		"a filter":                                {"attributes[key=telephone1].value", "555"},
		"a filter keeps case":                     {"attributes[key=name].value.first", ""},
		"a filter on a truth value":               {"phones[primary=true].value", "2"},
		"a filter's value in quotes":              {`attributes[key='Name'].value.first`, "Zoë"},
		"contains, case aside":                    {"fields[label~=PHONE (].value", "777"},
		"a match without the rest is passed over": {"attributes[key~=e].value.first", "Zoë"},
		"every one, the first of them":            {"entry[*].changes[*].v", "1"},
		"an object is a list of one for a star":   {"one[*].only", "me"},
		"a list with holes, as PHP writes it":     {"holes[2]", "two"},
		"a filter with several words":             {"fields[label~=mobil|2nd].value", "777"},
		"a filter with several values":            {"attributes[key=telephone2|telephone1].value", "555"},
		"a sign in quotes is no several":          {"attributes[key='telephone2|telephone1'].value", ""},
		"a member by its name":                    {"holes[~=2]", "two"},
		"a member by its name, with capitals":     {"[~=CAF]", "escaped name"},
		"the next member, where one lacks it":     {"form[~=q].full", "+1"},
		"a list has no members":                   {"phones[~=a]", ""},
		"another list says more":                  {"answers[1].of -> asked.fields[id].title", "Your phone"},
		"it says nothing":                         {"answers[2].of -> asked.fields[id].title", ""},
		"and with a function":                     {"answers[1].of -> root:asked.fields[id].title | upper", "YOUR PHONE"},
		"the whole way":                           {"answers[1].of -> asked.fields[id].more[0].x", "y"},
		"an entry by what another list says":      {"answers[of -> asked.fields[id].title ~= phone].text", "0770"},
		"exactly":                                 {"answers[of -> asked.fields[id].title=Your name].text", "Ada"},
		"by none":                                 {"answers[of -> asked.fields[id].title~=mail].text", ""},
		"a list that is not there":                {"answers[of -> nowhere[id].title~=mail].text", ""},
		"a header":                                {"header:x-topic", "orders/create"},
		"a header that is not there":              {"header:X-Other", ""},
		"a parameter":                             {"query:source", "shop 1"},
		"a text of its own":                       {"'it''s'", "it's"},
		"texts joined":                            {"{a.b.c}-{header:X-Topic}", "deep-orders/create"},
		"half a join is nothing":                  {"{a.b.c}-{nothing}", ""},
		"from the top of the body":                {"root:one.only", "me"},
		"money without its separators":            {"total | money", "1234.50"},
		"capitals":                                {"a.b.c | upper", "DEEP"},
		"pipes in a row":                          {"html | plain | after £", "5"},
		"before":                                  {"header:X-Topic | before /", "orders"},
		"is":                                      {"yes | is true on", "true"},
		"is not":                                  {"yes | is false", "false"},
		"is of nothing":                           {"nothing | is x", ""},
		"map":                                     {"cents | map 4990=low", "low"},
		"map leaves the rest":                     {"cents | map 1=low", "4990"},
		"first of a list written as text":         {"total | first", "1"},
		"escapes are undone":                      {"quote", `say "hi"`},
		"a path into a text is nothing":           {"total.more", ""},
		"a place in a text is nothing":            {"total[0]", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := ParseExpr(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Text(pathView(t, e, pathBody)); got != tt.want {
				t.Errorf("%s = %q, want %q", tt.path, got, tt.want)
			}
		})
	}
}

func TestAStarLeadsToAll(t *testing.T) {
	e, err := ParseExpr("entry[*].changes[*].v")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for text := range e.given(pathView(t, e, pathBody)) {
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestABadPathSaysWhere(t *testing.T) {
	tests := map[string]struct {
		path, msg string
		at        int
	}{
		"nothing":                         {"", "an empty path", 0},
		"two dots":                        {"a..b", "a name should be here", 2},
		"a dot in front":                  {".a", "a path does not begin with a dot", 0},
		"an open bracket":                 {"a[0", "a [ that is never closed", 1},
		"an empty bracket":                {"a[]", "[] is neither a position such as [0], nor [*], nor a filter such as [type=phone]", 2},
		"a filter without a name":         {"a[=x]", "[=x] is neither a position such as [0], nor [*], nor a filter such as [type=phone]", 2},
		"a space in the middle":           {"a b", "'b' behind the end of the path", 2},
		"a lead to no list":               {"a -> b", "no list with the name that is compared behind ->", 5},
		"a lead to a place in a list":     {"a -> b[]", `"" is no name to compare`, 7},
		"a lead that stays open":          {"a -> b[c", "a [ that is never closed", 7},
		"a lead inside a filter":          {"a[b -> c=d]", `"b -> c" is no name to filter by`, 2},
		"an unknown function":             {"a | uper", `"uper" is no function`, 4},
		"a function without its argument": {"a | before", "| before wants something behind it", 4},
		"a function with one too many":    {"a | upper x", "| upper takes nothing behind it", 4},
		"an open quote":                   {"'a", "a quote that is never closed", 0},
		"an open brace":                   {"{a.b", "a { that is never closed", 0},
		"a fault inside a brace":          {"{a}-{b..c}", "a name should be here", 7},
		"header without a name":           {"header:", "a header's name should follow header:", 7},
		"letters behind a bracket":        {"a[0]b", "'b' should be a dot, a bracket or the end", 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseExpr(tt.path)
			fault, ok := errors.AsType[*problems.SyntaxFault](err)
			if !ok || fault.Msg != tt.msg || fault.At != tt.at || fault.Hint == "" {
				t.Errorf("parseExpr(%q) = %+v, want %q at %d and a hint", tt.path, err, tt.msg, tt.at)
			}
		})
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a.b", "a[0].b", `a["x"]`, "[*]", ".", "a[k=v].c", "a[k~='v]'].c", "{a}-{b}", "header:x | lower", "'x'", "a | map a=b", "root:a[*]", "a[-1]", `"a""b".c`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, event := range []bool{false, true} {
			e, err := ParseExprAbout(text, event)
			if err != nil {
				if fault, ok := errors.AsType[*problems.SyntaxFault](err); !ok || fault.At < 0 || fault.At > len(text) {
					t.Fatalf("parseExpr(%q): %v without a place in the text", text, err)
				}
				continue
			}
			v := pathView(t, e, pathBody)
			if got := e.Text(v); strings.TrimSpace(got) != got && len(e.Pipes) == 0 && e.From != fromLiteral {
				t.Fatalf("%q leads to %q, with space around it", text, got)
			}
			for range e.given(v) {
				continue
			}
		}
		if r, err := ParseRule(text); err == nil {
			v := pathView(t, r.Left, pathBody)
			r.Holds(v)
		}
	})
}

func TestRulesHold(t *testing.T) {
	tests := map[string]struct {
		rule string
		want bool
	}{
		"a path with a value":             {"yes", true},
		"a path with nothing":             {"nothing", false},
		"a path with an object":           {"a", true},
		"equal as text":                   {"a.b.c == deep", true},
		"equal as numbers":                {"cents == 4990.0", true},
		"long ids are equal only as text": {"id == 98765432109876543211", false},
		"equal in quotes":                 {"a.b.c == 'deep'", true},
		"not equal":                       {"a.b.c != deep", false},
		"nothing is not equal":            {"nothing != deep", true},
		"is null":                         {"nothing == null", true},
		"what is not there is null":       {"missing == null", true},
		"empty text is null":              {"empty == null", true},
		"an object is not null":           {"a != null", true},
		"a list is not null":              {"phones != null", true},
		"greater":                         {"cents > 4989.99", true},
		"at least":                        {"cents >= 4990", true},
		"less":                            {"cents < 4990", false},
		"at most":                         {"cents <= 4990", true},
		"a text is not greater":           {"a.b.c > 1", false},
		"contains":                        {"a.b.c contains EE", true},
		"the sender's word":               {"event.type == sender/word", true},
		"our word":                        {"event.kind == order.created", true},
		"one of the sender's words":       {"event.type | is other/word sender/word", true},
		"none of the sender's words":      {"event.type | is other/word", false},
		"a filter inside a rule":          {"phones[primary=true].value == 2", true},
		"what another list says":          {"answers[0].of -> asked.fields[id].title == 'Your name'", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRule(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Holds(pathView(t, r.Left, pathBody)); got != tt.want {
				t.Errorf("%s is %v", tt.rule, got)
			}
		})
	}
}

func TestABadRuleSaysWhy(t *testing.T) {
	tests := map[string]struct{ rule, msg string }{
		"nothing on the right": {"a ==", "nothing to compare with behind =="},
		"nothing on the left":  {"== a", "an empty path"},
		"a number is wanted":   {"a > b", `> compares numbers, and "b" is none`},
		"a bad path":           {"a..b == c", "a name should be here"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseRule(tt.rule); err == nil || err.Error() != tt.msg {
				t.Errorf("parseRule(%q) = %v, want %q", tt.rule, err, tt.msg)
			}
		})
	}
}
