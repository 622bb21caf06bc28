package yamlpos

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
)

func TestRenderShowsLineCaretAndHint(t *testing.T) {
	var v outer
	src := "mode: live\n日本: x\nkey: hunter2hunter2\nlist: [{url: a, retires: 1}]\n"
	_, ps := Decode("f.yaml", []byte(src), &v)
	var b strings.Builder
	if err := ps.Render(&b, false); err != nil {
		t.Fatal(err)
	}
	want := `f.yaml:2:1: 日本: unknown key
    日本: x
    ^
  hint: known here: name, mode, on, flag, share, count, inner, maybe, labels, rules, list, waits, rate, key, raw, any

f.yaml:3:6: warning: key: is a secret written into the file
    key: **************
         ^
  hint: write ${NAME} and set the variable NAME for the daemon, or ${file:/path/to/it}

f.yaml:4:17: list[0].retires: unknown key
    list: [{url: a, retires: 1}]
                    ^
  hint: did you mean "retries"?

2 problems and 1 warning in f.yaml
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("Render (-want +got):\n%s", diff)
	}
}

func TestRenderMeetsThePlaceUnderTabsWideLettersAndLongLines(t *testing.T) {
	tests := map[string]struct {
		line string
		col  int
		want string
	}{
		"behind wide letters": {"日本: [x", 5, "    日本: [x\n          ^\n"},
		"behind a tab":        {"a:\tX", 4, "    a:\tX\n      \t^\n"},
		"a combining mark":    {"e\u0301: X", 5, "    e\u0301: X\n       ^\n"},
		"past the end":        {"a: b", 99, "    a: b\n        ^\n"},
		"an escape sequence":  {"a: \x1b[31mX", 9, "    a: ·[31mX\n            ^\n"},
		"a long line is cut": {
			strings.Repeat("a", 200) + "X" + strings.Repeat("b", 200), 201,
			"    …" + strings.Repeat("a", 59) + "X" + strings.Repeat("b", 60) + "…\n" + strings.Repeat(" ", 64) + "^\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			ps := Problems{{File: "f", Line: 1, Col: tt.col, Msg: "m", Source: tt.line}}
			if err := ps.Render(&b, false); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace("f:1:C: m\n", "C", itoa(tt.col), 1) + tt.want + "\n1 problem in f\n"
			if diff := cmp.Diff(want, b.String()); diff != "" {
				t.Errorf("Render (-want +got):\n%s", diff)
			}
		})
	}
}

func itoa(n int) string { return strings.TrimSuffix(strings.TrimPrefix(index("", n), "["), "]") }

func TestProblemsSortAndCount(t *testing.T) {
	ps := Problems{
		{File: "b", Line: 1, Col: 1, Msg: "4"},
		{File: "a", Line: 2, Col: 1, Msg: "3"},
		{File: "a", Line: 1, Col: 9, Msg: "2"},
		{File: "a", Line: 1, Col: 2, Msg: "1w", Warning: true},
		{File: "a", Line: 1, Col: 2, Msg: "1"},
	}
	ps.Sort()
	order := ""
	for _, p := range ps {
		order += p.Msg + " "
	}
	if order != "1 1w 2 3 4 " {
		t.Errorf("order %q", order)
	}
	if got := ps.Summary(); got != "4 problems and 1 warning in 2 files" {
		t.Errorf("Summary is %q", got)
	}
	if ps.Warnings().Err() != nil {
		t.Error("warnings alone are an error")
	}
	if got := ps.Faults()[:1].Err().Error(); got != "a:1:2: 1" {
		t.Errorf("Err is %q", got)
	}
}

func TestALineThatDidNotParseShowsNoSecret(t *testing.T) {
	tests := map[string]string{
		"  key: sk_live_0123 : x":            "  key: ****************",
		"  - {secret: abc, url: x: y}":       "  - {secret: ***, url: x: y}",
		"  secrets: [abc def":                "  secrets: ********",
		"  api_key: 'abc":                    "  api_key: ****",
		`  "password": "abc", token: def: x`: `  "password": *****, token: ******`,
		"  key: cart.id":                     "  key: cart.id",
		"  secret: ${SHOP_SECRET} : x":       "  secret: ${SHOP_SECRET} : x",
		"  template: reminder : x":           "  template: reminder : x",
		"  text: the monkey: eats":           "  text: the monkey: eats",
	}
	for line, want := range tests {
		if got := guessSecrets(line); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
	_, ps := Decode("f.yaml", []byte("secret: hunter2hunter2: x\n"), &struct{}{})
	if len(ps) != 1 || strings.Contains(ps[0].Source, "hunter2") {
		t.Errorf("problems %+v", ps)
	}
}

func TestASecretIsHiddenAndWhatStandsBesideItIsNot(t *testing.T) {
	for src, want := range map[string]string{
		"{secret: \"abc\", n: x}\n":            "{secret: *****, n: x}",
		"{secret: 'a''b', n: x}\n":             "{secret: ******, n: x}",
		"{secret: \"a\\\"b\", n: x}\n":         "{secret: ******, n: x}",
		"{secret: abc, n: x}\n":                "{secret: ***, n: x}",
		"{secret: &a \"abc\", n: x}\n":         "{secret: ********, n: x}",
		"{secret: \"ab\n  cd\", n: x}\n":       "{secret: ***\n*****, n: x}",
		"secret: \"abc\"\nn: x\n":              "secret: *****\nn: x",
		"secret: abc\n  def\nn: x\n":           "secret: ***\n*****\nn: x",
		"secret: |\n  abc\n  def\nn: x\n":      "secret: *\n*****\n*****\nn: x",
		"secret: |-\n  abc\n\n  def\nn: x\n":   "secret: **\n*****\n\n*****\nn: x",
		"secret: >\n  abc\n  def\n\nn: x\n":    "secret: *\n*****\n*****\n\nn: x",
		"secret: |\n  abc\n":                   "secret: *\n*****",
		"secret: \"\\x41bc\" # abc\nn: \"\"\n": "secret: ******** # abc\nn: \"\"",
	} {
		doc, ps := Decode("f.yaml", []byte(src), &struct {
			Secret secret.Secret `yaml:"secret"`
			N      string        `yaml:"n"`
		}{})
		if len(ps) > 1 {
			t.Errorf("%q: %v", src, ps)
		}
		var lines []string
		for i := range strings.Count(src, "\n") {
			lines = append(lines, doc.line(i+1))
		}
		if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", src, diff)
		}
	}
}
