package expressions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// The reason why names are checked by ours and not by the library's checker. When this test
// fails, the library has become better, and the comment at compiler should say so.
func TestTheLibraryStillMissesMisspeltArguments(t *testing.T) {
	type cart struct {
		Total messaging.Amount `expr:"total"`
	}
	type env struct {
		Cart cart `expr:"cart"`
	}
	more := func(params ...any) (any, error) { return false, nil }
	_, err := expr.Compile(`shorten(cart.totl, 5) == "x"`, expr.Env(env{}),
		expr.Function("shorten", func(...any) (any, error) { return "", nil }, new(func(any, int) string)),
		expr.Function("more", more, new(func(messaging.Amount, int) bool)), expr.Operator(">", "more"))
	if err != nil {
		t.Logf("the library now says: %v", err)
		t.Error("the library sees the misspelt name")
	}
	if _, faults := CompileCondition(`replace(cart.totl, "a", "b") == "x"`); len(faults) != 1 {
		t.Errorf("ours found %d faults, want 1", len(faults))
	}
}

func TestAHostilePayloadCannotMakeAConditionRunLong(t *testing.T) {
	big := strings.TrimSuffix(strings.Repeat("1,", 200_000), ",")
	const tooMuch = "it looks at more of the payload than one condition may"
	tests := map[string]struct{ text, payload, want string }{
		"a list held against itself": {`any(raw.a, raw.a contains # + 1)`, `{"a":[` + big + `]}`, tooMuch},
		"a long way to a key at every turn": {
			`any(raw.a, # == raw.last)`, `{"a":[` + big + `],"t":"` + strings.Repeat("x", 500_000) + `","last":2}`, tooMuch,
		},
		"a list inside a list": {`all(raw.a, all(raw.a, # > 0))`, `{"a":[` + big + `]}`, tooMuch},
		"a text looked for at every turn": {
			`any(raw.a, raw.t contains "y")`, `{"a":[` + big + `],"t":"` + strings.Repeat("x", 500_000) + `"}`, tooMuch,
		},
		"a pattern at every turn": {
			`any(raw.a, raw.t matches "(x+)+y")`, `{"a":[` + big + `],"t":"` + strings.Repeat("x", 100_000) + `"}`, tooMuch,
		},
		"a text that grows": {
			`len(replace(raw.t, "x", raw.t)) > 5`, `{"t":"` + strings.Repeat("x", 50_000) + `"}`, "the text grows longer than 64 kB",
		},
		"a number with a huge exponent": {`raw.n * raw.n * raw.n * raw.n > 5`, `{"n":1.5e999}`, "the numbers have too many digits"},
		"deep nesting":                  {`raw.a[0][0].b > 5`, strings.Repeat(`{"a":[`, 100_000), "raw.a is missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, faults := CompileCondition(tt.text)
			if len(faults) > 0 {
				t.Fatalf("compile: %+v", faults)
			}
			e := aCart(t)
			e.Payload = []byte(tt.payload)
			s := NewScope(e, noon, time.UTC)
			defer s.Free()
			// Without its bound each of the first four would run for minutes: the test would not end.
			got := c.Evaluate(s)
			if got.Held || got.Error != tt.want {
				t.Errorf("got %q (held %v), want %q", got.Error, got.Held, tt.want)
			}
		})
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		`Hi {{ customer.first_name | default: "there" }}!`, `{{ cart.total + 5 }}`, `{{ raw.a["}}"] }}`, `{{ "{{" }}`, `}}{{`,
		`{{ now - event.occurred_at > 2h ? "late" : 'early' }}`, "{{ `a` | default: b | default: \"c\" }}", `{{ any(cart.items, .price > 3d) }}`,
		`{{ -9223372036854775808 * -1 }}`, `{{ {a: {b: 1}} }}`, `{{ 1/0 }}`, `{{ raw.list[-9][:] }}`, `{{ not not true }}`, `{{ #.x }}`,
	} {
		f.Add(seed)
	}
	e := aCart(f)
	f.Fuzz(func(t *testing.T, text string) {
		tpl, faults := CompileTemplate(text)
		for _, one := range faults {
			if one.Offset < 0 || one.Offset > len(text) || one.Msg == "" {
				t.Fatalf("fault outside of the text: %+v", one)
			}
		}
		if len(faults) > 0 {
			return
		}
		if !strings.Contains(text, "{{") && len(tpl.parts) > 0 && tpl.parts[0].text != text {
			t.Fatalf("plain text became %q", tpl.parts[0].text)
		}
		s := NewScope(e, noon, time.UTC)
		defer s.Free()
		got, trouble := tpl.Variable(s)
		if (got == "") == (trouble == "") {
			t.Fatalf("value %q, trouble %q", got, trouble)
		}
		if got != plain.OneLine(got) || utf8.RuneCountInString(got) > MaxVariable {
			t.Fatalf("a variable that the network rejects: %q", got)
		}
	})
}

func FuzzDurationsKeepTheirPlaces(f *testing.F) {
	for _, seed := range []string{
		"now - event.occurred_at > 2h30m", `"2h" + '3d' + 4m`, "`5m`", "// 2h\n3h", "/* 2h */ 3h", "items[0].title", "a2h", "2x", "1.5h", "0x2d", "1e5", `"\"2h" 3h`,
		"ü2h 3h", "2h3", "1..2h", "99999999999999w",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		covered, found := hideDurations(text)
		if len(covered) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(covered))
		}
		restored := []byte(covered)
		for _, d := range found {
			if text[d.from:d.to] != d.word || strings.Trim(covered[d.from:d.to], "_") != "" {
				t.Fatalf("%+v does not stand there in %q", d, text)
			}
			copy(restored[d.from:], d.word)
		}
		if string(restored) != text {
			t.Fatalf("%q came back as %q", text, restored)
		}
		if again, more := hideDurations(covered); again != covered || len(more) != 0 {
			t.Fatalf("hidden twice: %q", again)
		}
	})
}
