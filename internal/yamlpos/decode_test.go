package yamlpos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
)

type common struct {
	Name string `yaml:"name" doc:"What it is called."`
}

type inner struct {
	URL     string         `yaml:"url" validate:"required" example:"https://example.com"`
	Timeout units.Duration `yaml:"timeout" validate:"min=100ms,max=1h" default:"10s"`
	Retries int            `yaml:"retries" validate:"min=0,max=10" default:"3"`
}

type outer struct {
	common `yaml:",inline"`

	Mode   string            `yaml:"mode" validate:"oneof=live shadow off" default:"live"`
	On     []string          `yaml:"on"`
	Flag   bool              `yaml:"flag"`
	Share  float64           `yaml:"share"`
	Count  uint8             `yaml:"count"`
	Inner  inner             `yaml:"inner"`
	Maybe  *inner            `yaml:"maybe"`
	Labels map[string]string `yaml:"labels"`
	Rules  Ordered[inner]    `yaml:"rules"`
	List   []inner           `yaml:"list"`
	Waits  []units.Duration  `yaml:"waits" default:"5s, 1m"`
	Rate   units.Rate        `yaml:"rate" validate:"min=1/h,max=1000/s" default:"20/s"`
	Key    secret.Secret     `yaml:"key"`
	Raw    *Node             `yaml:"raw"`
	Any    any               `yaml:"any"`
}

// said is what the problems say, one a line.
func said(ps Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Error())
	}
	return out
}

func TestDecodeSaysWhatIsWrongAndWhere(t *testing.T) {
	tests := map[string]struct {
		src  string
		want []string
	}{
		"a misspelt key gets the nearest one": {
			"mod: live\n", []string{`f.yaml:1:1: mod: unknown key; did you mean "mode"?`},
		},
		"an unknown key far from all gets the known ones of a small section": {
			"inner: {url: x, colour: red}\n",
			[]string{`f.yaml:1:17: inner.colour: unknown key; known here: url, timeout, retries`},
		},
		"a list where one value belongs": {
			"mode: [live]\n", []string{"f.yaml:1:7: mode: wants a single value, has a list"},
		},
		"one value where keys belong": {
			"inner: yes\n", []string{`f.yaml:1:8: inner: wants keys with values, has a single value; write "key: value" lines, indented below it`},
		},
		"a list where keys belong": {
			"rules:\n  - url: x\n", []string{`f.yaml:2:3: rules: wants keys with values, has a list; write "key: value" lines, without "- "`},
		},
		"keys where a list belongs": {
			"list:\n  url: x\n", []string{`f.yaml:2:3: list: wants a list, has keys with values; begin each item with "- ", or write [a, b]`},
		},
		"one value where a list of sections belongs": {
			"list: a\n", []string{`f.yaml:1:7: list: wants a list, has a single value; begin each item with "- ", or write [a, b]`},
		},
		"a key without a value": {
			"mode:\nflag: ~\n", []string{
				"f.yaml:1:6: mode: has no value; give it one, or remove the line",
				"f.yaml:2:7: flag: has no value; give it one, or remove the line",
			},
		},
		"a key that stands twice": {
			"mode: live\nflag: on\nmode: off\n",
			[]string{"f.yaml:3:1: mode: duplicate key; it is also on line 1; remove one of the two, or give it another name"},
		},
		"a required key is missed at the key above it": {
			"inner:\n  retries: 1\nlist:\n  - retries: 2\n", []string{
				"f.yaml:1:1: inner.url: is missing; add url: https://example.com",
				"f.yaml:4:5: list[0].url: is missing; add url: https://example.com",
			},
		},
		"a word that is not one of the few": {
			"mode: of\n", []string{`f.yaml:1:7: mode: "of" is not known here; write one of live, shadow, off`},
		},
		"a word near one of the few": {
			"mode: shadwo\n", []string{`f.yaml:1:7: mode: "shadwo" is not known here; did you mean "shadow"? It is one of live, shadow, off`},
		},
		"values out of range": {
			"inner: {url: x, timeout: 1ms, retries: 11}\nrate: 5000/s\n", []string{
				`f.yaml:1:26: inner.timeout: "1ms" is less than 100ms; it is between 100ms and 1h`,
				`f.yaml:1:40: inner.retries: "11" is more than 10; it is between 0 and 10`,
				`f.yaml:2:7: rate: "5000/s" is more than 1000/s; it is between 1/h and 1000/s`,
			},
		},
		"texts that are no numbers or truths": {
			"flag: maybe\nshare: .nan\ncount: 256\ninner: {url: x, retries: ten}\n", []string{
				`f.yaml:1:7: flag: "maybe" is neither true nor false; write true or false`,
				`f.yaml:2:8: share: ".nan" is not a number; write it as 2 or 2.5`,
				`f.yaml:3:8: count: "256" is not a whole number from 0; write digits only`,
				`f.yaml:4:26: inner.retries: "ten" is not a whole number; write digits only`,
			},
		},
		"a quantity explains itself": {
			"rate: 20\nwaits: [5s, 5, x]\n", []string{
				`f.yaml:1:7: rate: "20" does not say per what; write a whole number, a slash and s, min, h or d: 20/s, 600/min`,
				`f.yaml:2:13: waits[1]: "5" has no unit; write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m`,
				`f.yaml:2:16: waits[2]: "x" is not a duration; write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m`,
			},
		},
		"a list as a key": {
			"? [a, b]\n: x\n", []string{`f.yaml:1:3: a key must be a word, not a list; write "key: value"; quote a key that begins with [ or {`},
		},
		"faults in an anchor are told once": {
			"inner: &i {url: x, retires: 1}\nmaybe: *i\n",
			[]string{`f.yaml:1:20: inner.retires: unknown key; did you mean "retries"?`},
		},
		"an alias inside what it repeats": {
			"any: &a [*a]\n", []string{"f.yaml:1:10: any[0]: the alias *a stands inside what it repeats; move it out of there"},
		},
		"a merge of something that has no keys": {
			"inner:\n  <<: 12\n  url: x\n",
			[]string{"f.yaml:2:7: inner: << wants keys with values, has a single value; write <<: *name, with &name at the keys to repeat"},
		},
		"the whole file is a list": {
			"- a\n", []string{`f.yaml:1:1: wants keys with values, has a list; write "key: value" lines, without "- "`},
		},
		"a path with dots is quoted": {
			"labels: {a.b: [x]}\n", []string{`f.yaml:1:15: labels["a.b"]: wants a single value, has a list`},
		},
		"a secret in the file is only a warning": {
			"key: hunter2hunter2\n",
			[]string{"f.yaml:1:6: warning: key: is a secret written into the file; write ${NAME} and set the variable NAME for the daemon, or ${file:/path/to/it}"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var v outer
			_, ps := Decode("f.yaml", []byte(tt.src), &v)
			if diff := cmp.Diff(tt.want, said(ps)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSyntaxErrorsSpeakPlainly(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"a tab":                                          {"a:\n\tb: 1\n", "f.yaml:2:1: a tab cannot indent YAML; use spaces"},
		"an open bracket":                                {"a: [1, 2\nb: 3\n", "f.yaml:1:4: the [ is not closed; add the missing ] at the end of this line"},
		"an open brace":                                  {"a: {b: 1\nc: 3\n", "f.yaml:1:4: the { is not closed; add the missing } at the end of this line"},
		"a comma at the end":                             {"a: [1,\n", "f.yaml:1:7: here a value is missing, or a ] or } that closes what is open; write the value, or remove the comma before it"},
		"nothing between commas":                         {"a: {b: c,, d}\n", "f.yaml:1:10: here a value is missing, or a ] or } that closes what is open; write the value, or remove the comma before it"},
		"two colons":                                     {"a: b: c\n", `f.yaml:1:5: a second ": " on this line, or a line that is indented too far; put a value that contains ": " in quotes; otherwise check the spaces before this line`},
		"an open quote":                                  {"a: 'x\nb: 2\n", "f.yaml:1:4: the quote ' is not closed; add the missing quote at the end of its text"},
		"an open list of lines":                          {"a: [\n  b,\n  c\nd: 1\n", "f.yaml:4:2: a list in [ ] is not closed (begun on line 1); add the missing ] or comma"},
		"an open bracket that is noticed below":          {"a:\n  - {b: [1, 2}\n  - c: 3\n", "f.yaml:2:9: the [ is not closed; add the missing ] at the end of this line"},
		"an open quote with another below":               {"a: 'x\nb: '2'\n# it's\nc: {d: 'e'}\n", "f.yaml:1:4: the quote ' is not closed; add the missing quote at the end of its text"},
		"an open double quote":                           {"a: [\"x]\nb: 2\nc: \"d\"\n", "f.yaml:1:5: the quote \" is not closed; add the missing quote at the end of its text"},
		"a text of several lines is closed":              {"a: 'it\n  goes on'\nb: c: d\n", `f.yaml:3:5: a second ": " on this line, or a line that is indented too far; put a value that contains ": " in quotes; otherwise check the spaces before this line`},
		"marks of a merge":                               {"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n", "f.yaml:2:1: this is a mark of a merge that was not finished; keep one of the two sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"},
		"one mark of a merge":                            {"a: 1\n=======\nb: 3\n", "f.yaml:2:1: this is a mark of a merge that was not finished; keep one of the two sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"},
		"a no-break space behind a colon":                {"a: 1\nb:\u00a02\nc: 3\n", "f.yaml:2:3: this is a no-break space (U+00A0), as web pages have it: it does not end a key; type a plain space in its place"},
		"typographic quotes around a template":           {"a: [‘{{ b }}’]\n", "f.yaml:1:5: a typographic quote is no quote in YAML; type plain quotes, ' or \", in its place; if the text shall have it, put plain ones around it"},
		"a key indented further than one with its value": {"a: 1\n  b: 2\n", "f.yaml:2:3: this line is indented further than line 1, which has its value already; give it as many spaces as line 1, or take the value from there"},
		"one key of a section is not indented":           {"a:\nb: 1\n  c: 2\n", "f.yaml:2:1: this line belongs under a of line 1; indent it by two spaces more"},
		"a bad escape":                                   {"a: \"\\q\"\n", `f.yaml:1:5: a backslash in double quotes before a character it does not go with; write \\ for a backslash, or use single quotes`},
		"a reserved character":                           {"a: @x\n", "f.yaml:1:4: a value cannot begin with '@'; put the value in quotes"},
		"an unknown anchor":                              {"a: *x\n", "f.yaml:1:4: there is no anchor 'x' referenced; mark what it should repeat with &name; a value that begins with * needs quotes"},
		"uneven indentation":                             {"a:\n  - b\n c: d\n", "f.yaml:3:2: this line does not fit the lines above it (begun on line 1); give it as many spaces as the line it belongs to"},
		"a key without a colon":                          {"a: 1\nb\nc: 2\n", "f.yaml:2:1: a key without its colon; write \"key: value\""},
		"two documents":                                  {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document begins here; a config is one document; remove the line ---, or put the rest into a file of its own"},
		"a control character":                            {"a: b\nc: \x01\n", "f.yaml:2:4: a control character (0x01) may not stand in a file; delete it"},
		"a pasted line separator":                        {"a: b\u2028c\n", "f.yaml:1:5: an invisible line separator (U+2028) may not stand in a file; delete it; it often comes with copied text"},
		"Latin-1":                                        {"a: caf\xe9\n", "f.yaml:1:7: is not UTF-8 text here; save the file as UTF-8"},
		"UTF-16":                                         {"\xff\xfea\x00", "f.yaml:1:1: the file is UTF-16; save it as UTF-8"},
		"a file that is too large":                       {strings.Repeat("#", MaxBytes+1), "f.yaml: is longer than 1048576 bytes, and no more are read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var v any
			doc, ps := Decode("f.yaml", []byte(tt.src), &v)
			if diff := cmp.Diff([]string{tt.want}, said(ps)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if doc == nil {
				t.Error("Decode returned no Doc")
			}
		})
	}
}

func TestDecodeKeepsWhatWasWritten(t *testing.T) {
	src := `
name: 0123
on: shopify.cart.updated
flag: On
inner: &i
  url: "+4479"
  timeout: 1h
maybe:
  <<: *i
  retries: 7
labels: {b: no, a: 1.10, c: on}
rules:
  zeta: {url: 1}
  alpha: {url: 2}
list:
  - {url: a, retries: x}
  - {url: b}
any: {n: 12, f: 2.5, z: 0123, t: [true, "true", ~]}
`
	var v outer
	doc, ps := Decode("f.yaml", []byte(src), &v)
	want := []string{`f.yaml:16:23: list[0].retries: "x" is not a whole number; write digits only`}
	if diff := cmp.Diff(want, said(ps)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	got := fmt.Sprint(v.Name, v.Mode, v.On, v.Flag, v.Inner, *v.Maybe, v.Labels, v.Rules, v.List, v.Waits, v.Rate, v.Any)
	wantValues := "0123live[shopify.cart.updated] true {+4479 1h 3} {+4479 1h 7} map[a:1.10 b:no c:on] " +
		"[{zeta {1 10s 3} 13 3} {alpha {2 10s 3} 14 3}] [{a 10s 3} {b 10s 3}] [5s 1m] 20/s map[f:2.5 n:12 t:[true true <nil>] z:0123]"
	if diff := cmp.Diff(strings.Fields(wantValues), strings.Fields(got)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if l, c := doc.Node("rules.alpha.url").Pos(); l != 14 || c != 16 {
		t.Errorf("rules.alpha.url stands at %d:%d, want 14:16", l, c)
	}
}

func TestAnEmptyFileHasItsDefaults(t *testing.T) {
	for _, src := range []string{"", "# nothing\n", "---\n", "~\n"} {
		var v outer
		_, ps := Decode("f.yaml", []byte(src), &v)
		if len(ps) > 0 || v.Mode != "live" || v.Inner.Timeout.D() != 10*time.Second || v.Maybe != nil {
			t.Errorf("%q: problems %v, value %+v", src, ps, v)
		}
	}
}

func TestAliasBombIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("any:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var v outer
	_, ps := Decode("f.yaml", []byte(b.String()), &v)
	if len(ps) != 1 || !strings.Contains(ps[0].Msg, "more than 100,000 values") {
		t.Errorf("problems: %v", ps)
	}
	_, ps = Decode("f.yaml", []byte("any: "+strings.Repeat("[", 200)+strings.Repeat("]", 200)), &v)
	if len(ps) != 1 || !strings.Contains(ps[0].Msg, "more than 100 levels") {
		t.Errorf("problems: %v", ps)
	}
}

func TestNodesAreFoundByTheirPath(t *testing.T) {
	src := "triggers:\n  cart:\n    if: one\n    on: [a, b]\n  \"a.b[0]\":\n    c: 1\nlabels:\n  order.paid: x\n"
	doc := Options{}.Parse("f.yaml", []byte(src))
	tests := map[string]string{
		"triggers.cart.if":         "3:9",
		"triggers.cart.if[0]":      "3:9",
		"triggers.cart.on[1]":      "4:13",
		`triggers["a.b[0]"].c`:     "6:8",
		"labels.order.paid":        "8:15",
		`labels["order.paid"]`:     "8:15",
		"triggers.cart.if[1]":      "",
		"triggers.cart.on[2]":      "",
		"triggers.car":             "",
		"triggers.cart.on[x]":      "",
		"triggers.cart.on[1].deep": "",
	}
	for path, want := range tests {
		got := ""
		if n := doc.Node(path); n != nil {
			got = fmt.Sprintf("%d:%d", n.line, n.col)
		}
		if got != want {
			t.Errorf("Node(%q) stands at %q, want %q", path, got, want)
		}
	}
	if n := doc.Nearest("triggers.cart.send.template"); n.path != "triggers.cart" {
		t.Errorf("Nearest stopped at %q", n.path)
	}
	every(doc.Root(), func(n *Node) {
		if doc.Node(n.path) != n {
			t.Errorf("Node(%q) is another node", n.path)
		}
	})
}

func every(n *Node, visit func(*Node)) {
	visit(n)
	for _, i := range n.items {
		every(i, visit)
	}
	for _, f := range n.fields {
		every(f.Value, visit)
	}
}

type selfMade struct{ text string }

func (s *selfMade) DecodeYAML(n *Node) {
	if n.Kind() == Mapping {
		n.UnknownKeys("until")
		s.text = n.Get("until").Text()
		return
	}
	s.text = n.Text()
	n.ReportAt(2, "bad third byte", "")
}

func TestATypeMayDecodeItself(t *testing.T) {
	var v struct {
		Wait selfMade            `yaml:"wait"`
		More map[string]selfMade `yaml:"more"`
	}
	_, ps := Decode("f.yaml", []byte("wait: 'abc'\nmore:\n  x: {until: y, untl: z}\n  n:\n"), &v)
	want := []string{
		"f.yaml:1:10: wait: bad third byte",
		`f.yaml:3:17: more.x.untl: unknown key; did you mean "until"?`,
		"f.yaml:4:5: more.n: has no value; give it one, or remove the line",
	}
	if diff := cmp.Diff(want, said(ps)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if v.Wait.text != "abc" || v.More["x"].text != "y" {
		t.Errorf("decoded %+v", v)
	}
}

func TestUnknownKeysMayHaveWordsOfTheirOwn(t *testing.T) {
	var v outer
	_, ps := Options{Unknown: func(path, _ string) (string, string) {
		if path == "quiet_hours" {
			return "not in this version", "remove it"
		}
		return "", ""
	}}.Decode("f.yaml", []byte("quiet_hours: x\nmodee: live\n"), &v)
	want := []string{
		"f.yaml:1:1: quiet_hours: not in this version; remove it",
		`f.yaml:2:1: modee: unknown key; did you mean "mode"?`,
	}
	if diff := cmp.Diff(want, said(ps)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestReferencesAreReplacedAndNeverShown(t *testing.T) {
	env := map[string]string{"RATE": "very-secret-rate", "MODE": "hidden-mode", "URL": "http://x", "KEY": "k"}
	look := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	expand := func(text string) (string, error) { return secret.Expand(text, look, "") }
	src := "rate: ${RATE}\nmode: ${MODE}\ninner: {url: '${URL}/a', timeout: '${NONE}'}\nkey: ${KEY}\nmaybe: {url: \"pre ${OTHER}\"}\n"
	var v outer
	_, ps := Options{Expand: expand}.Decode("f.yaml", []byte(src), &v)
	want := []string{
		"f.yaml:1:7: rate: ${RATE} does not say per what; write a whole number, a slash and s, min, h or d: 20/s, 600/min",
		"f.yaml:2:7: mode: ${MODE} is not known here; write one of live, shadow, off",
		"f.yaml:3:36: inner.timeout: the environment variable NONE is not set; set it for the daemon (export NONE=…), or write ${NONE:-otherwise} or ${file:/path}",
		"f.yaml:5:19: maybe.url: the environment variable OTHER is not set; set it for the daemon (export OTHER=…), or write ${OTHER:-otherwise} or ${file:/path}",
	}
	if diff := cmp.Diff(want, said(ps)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if v.Inner.URL != "http://x/a" || v.Key.Reveal() != "k" {
		t.Errorf("decoded %+v", v)
	}
}

func TestADefaultTagThatDoesNotDecodeIsAProgrammersMistake(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, `tag "soon" of units.Duration`) {
			t.Errorf("panic %q", got)
		}
	}()
	var v struct {
		Wait units.Duration `yaml:"wait" default:"soon"`
	}
	Decode("f.yaml", nil, &v)
}

func TestMergedKeysStandWhereTheyWereWritten(t *testing.T) {
	src := `
inner: &a {url: a, timeout: 1m}
maybe: &b {url: b, retries: 7}
list:
  - <<: [*b, *a]
    timeout: 2m
  - <<: *a
`
	var v outer
	doc, ps := Decode("f.yaml", []byte(src), &v)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if got, want := fmt.Sprint(v.List), "[{b 2m 7} {a 1m 3}]"; got != want {
		t.Errorf("decoded %s, want %s", got, want)
	}
	if line, col := doc.Node("list[0].retries").Pos(); line != 3 || col != 29 {
		t.Errorf("list[0].retries stands at %d:%d, want 3:29", line, col)
	}
	every(doc.Root(), func(n *Node) {
		if doc.Node(n.path) != n {
			t.Errorf("Node(%q) is another node", n.path)
		}
	})
}

func TestRoomsReportByPath(t *testing.T) {
	src := "triggers:\n  cart:\n    if: 'a and b'\n    on: [x]\n    map:\n      a.b: 1\n    late: ${X}\n"
	doc := Options{Expand: func(s string) (string, error) { return strings.ReplaceAll(s, "${X}", "hunter2"), nil }}.Parse("f.yaml", []byte(src))
	doc.Report("triggers.cart.if[0]", 6, "inside", "", false)
	doc.Report("triggers.cart.if[0]", -1, "at the start", "", true)
	doc.Report("triggers.cart.send.template", 3, "missing", "", false)
	doc.Report("triggers.cart.map.a.b", 0, "dotted", "", false)
	doc.Report("triggers.cart.late", 0, `"hunter2" is bad`, "not hunter2", false)
	doc.Report("nowhere", 0, "absent", "", false)
	doc.ReportKey("triggers.cart.on", "the key", "", false)
	want := []string{
		"f.yaml:1:1: nowhere: absent",
		"f.yaml:2:3: triggers.cart.send.template: missing",
		"f.yaml:3:9: warning: triggers.cart.if: at the start",
		"f.yaml:3:16: triggers.cart.if: inside",
		"f.yaml:4:5: triggers.cart.on: the key",
		`f.yaml:6:12: triggers.cart.map["a.b"]: dotted`,
		"f.yaml:7:11: triggers.cart.late: ${X} is bad; not ${X}",
	}
	if diff := cmp.Diff(want, said(doc.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
