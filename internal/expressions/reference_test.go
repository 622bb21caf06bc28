package expressions

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const reference = "../../docs/expressions.md"

var (
	shown    = regexp.MustCompile("`([^`]+)` → `([^`]+)`")
	textRow  = regexp.MustCompile("(?m)^\\| `([^`]*\\{\\{[^`]*)` \\| `([^`]+)` \\|$")
	inQuotes = regexp.MustCompile("`([^`]+)`")
)

func referenceText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `\|`, "|")
}

// Every example of the reference gives what it says.
func TestTheReferenceIsTrue(t *testing.T) {
	text := referenceText(t)
	examples := shown.FindAllStringSubmatch(text, -1)
	for _, e := range examples {
		t.Run(e[1], func(t *testing.T) {
			tpl, faults := CompileTemplate("{{ " + e[1] + " }}")
			if len(faults) > 0 {
				t.Fatalf("%+v", faults)
			}
			s := NewScope(aCart(t), noon, time.UTC)
			defer s.Free()
			if got, empty := tpl.Render(s); got != e[2] || empty != "" {
				t.Errorf("gives %q (%s), the page says %q", got, empty, e[2])
			}
		})
	}
	texts := textRow.FindAllStringSubmatch(text, -1)
	for _, e := range texts {
		t.Run(e[1], func(t *testing.T) {
			tpl, faults := CompileTemplate(e[1])
			if len(faults) > 0 {
				t.Fatalf("%+v", faults)
			}
			s := NewScope(aCart(t), noon, time.UTC)
			defer s.Free()
			if got, trouble := tpl.Variable(s); got != e[2] || trouble != "" {
				t.Errorf("gives %q (%s), the page says %q", got, trouble, e[2])
			}
		})
	}
	if len(examples) < 40 || len(texts) < 4 {
		t.Errorf("only %d examples and %d texts were found", len(examples), len(texts))
	}
}

// The reference has every name, operator, function and part of a date.
func TestTheReferenceIsComplete(t *testing.T) {
	text := referenceText(t)
	var words []string
	for _, m := range inQuotes.FindAllStringSubmatch(text, -1) {
		words = append(words, m[1])
	}
	want := functionNames()
	for name, r := range roots {
		want = append(want, name)
		for _, field := range r.shape.names() {
			if name != "contact" { // the same as customer
				want = append(want, name+"."+field)
			}
		}
	}
	want = append(want, "id", "sku", "title", "quantity", "price", "url", "image")
	for _, w := range dateWords {
		want = append(want, w.pattern)
	}
	want = append(want, "==", "!=", "<", ">", "<=", ">=", "and", "or", "not", "contains", "in", "startsWith", "endsWith", "matches", "+", "-", "*", "/", "%", "??")
	for _, word := range want {
		named := func(s string) bool { return s == word || strings.HasPrefix(s, word+".") }
		if !slices.ContainsFunc(words, named) {
			t.Errorf("%s does not say what %s is", reference, word)
		}
	}
}
