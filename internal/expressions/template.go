package expressions

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// MaxVariable is how many characters of one variable are sent. The messaging network cuts or rejects
// longer ones.
const MaxVariable = 1024

// A Template is text with {{ expressions }} in it. What an expression gives is put in as it
// is and never read again, so a name that contains {{ }} stays those characters.
type Template struct {
	source string
	parts  []part
}

// A part is text, or a value with its default.
type part struct {
	text     string
	value    eval // nil for text
	fallback eval // nil for none
	source   string
	paths    []*path // what both read
}

// CompileTemplate reads a template; the faults count bytes of text.
func CompileTemplate(text string) (*Template, []Fault) { return readTemplate(text, nil) }

// readTemplate reads a template over an event, or over a row where its columns are given.
func readTemplate(text string, row *rowNames) (*Template, []Fault) {
	t := &Template{source: text}
	var faults []Fault
	for at := 0; at < len(text); {
		open := strings.Index(text[at:], "{{")
		literal := text[at:]
		if open >= 0 {
			literal = text[at : at+open]
		}
		if i := strings.Index(literal, "}}"); i >= 0 {
			faults = append(faults, Fault{at + i, `"}}" closes nothing`, `a value is written {{ … }}, with both brackets twice`})
		}
		if literal != "" {
			t.parts = append(t.parts, part{text: literal})
		}
		if open < 0 {
			break
		}
		begin := at + open
		end := closing(text, begin+2)
		if end < 0 {
			faults = append(faults, Fault{begin, `"{{" is not closed`, `write }} after the value; quotes inside have to be closed, too`})
			break
		}
		p, bad := compileValue(text[begin+2:end], row)
		if endsBlock(text[begin+2:end]) && len(faults) > 0 {
			bad = nil // the beginning of the block was reported
		}
		p.source = text[begin : end+2]
		for _, f := range bad {
			f.Offset += begin + 2
			faults = append(faults, f)
		}
		t.parts = append(t.parts, p)
		at = end + 2
	}
	return t, faults
}

// closing is where "}}" ends the expression that begins at from; -1 for nowhere.
func closing(text string, from int) int {
	return outside(text, from, "{", "}", func(at, depth int) bool { return depth == 0 && strings.HasPrefix(text[at:], "}}") })
}

// pipe is where a single | is outside quotes and brackets, at from or behind it; -1 for nowhere.
func pipe(text string, from int) int {
	return outside(text, 0, "([{", ")]}", func(at, depth int) bool {
		double := strings.HasPrefix(text[at:], "||") || at > 0 && text[at-1] == '|'
		return depth == 0 && at >= from && text[at] == '|' && !double
	})
}

// outside is the first index from from on, outside quotes, that is wanted; -1 for none. depth is
// how many brackets are open there.
func outside(text string, from int, open, shut string, wanted func(at, depth int) bool) int {
	depth := 0
	for i := from; i < len(text); {
		if strings.IndexByte("'\"`", text[i]) >= 0 {
			i = skipQuoted(text, i)
			continue
		}
		if wanted(i, depth) {
			return i
		}
		if strings.IndexByte(open, text[i]) >= 0 {
			depth++
		} else if strings.IndexByte(shut, text[i]) >= 0 {
			depth = max(0, depth-1)
		}
		i++
	}
	return -1
}

// compileValue reads what is between the brackets: expression | default: expression.
func compileValue(text string, row *rowNames) (part, []Fault) {
	var p part
	main, rest, found := cutDefault(text)
	if strings.TrimSpace(main) == "" {
		hint := "write a value: {{ customer.first_name }}"
		if row != nil {
			hint = "write the name of a column: {{ first_name }}"
		}
		return p, []Fault{{0, "there is nothing between {{ and }}", hint}}
	}
	if bad := foreign(main); bad != nil {
		return p, []Fault{*bad}
	}
	value, c := compileText(main, row)
	faults := c.faults
	if c.textAsFlag && (strings.Contains(main, " or ") || strings.Contains(main, "||")) {
		faults = []Fault{{0, `"or" joins conditions, not texts`, `for a text in its place write | default: "there"`}}
	}
	faults = append(faults, printable(main, value)...)
	p.value, p.paths = value.eval, c.paths
	if !found {
		return p, faults
	}
	if strings.TrimSpace(rest) == "" {
		return p, append(faults, Fault{len(text) - len(rest), "there is nothing after default:", `write a text in quotes: | default: "there"`})
	}
	fallback, c := compileText(rest, row)
	for _, f := range append(c.faults, printable(rest, fallback)...) {
		f.Offset += len(text) - len(rest)
		faults = append(faults, f)
	}
	p.fallback, p.paths = fallback.eval, append(p.paths, c.paths...)
	return p, faults
}

// cutDefault splits at the "| default:" that is outside quotes and brackets.
func cutDefault(text string) (main, fallback string, found bool) {
	for at := pipe(text, 0); at >= 0; at = pipe(text, at+1) {
		word := strings.TrimLeft(text[at+1:], " \t\r\n")
		if after, ok := strings.CutPrefix(word, "default"); ok {
			if after, ok = strings.CutPrefix(strings.TrimLeft(after, " \t\r\n"), ":"); ok {
				return text[:at], after, true
			}
		}
	}
	return text, "", false
}

// foreign reports what belongs to another template language: a block, or a filter.
func foreign(text string) *Fault {
	word, _, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n%#/"), " ")
	switch word = strings.TrimSpace(word); word {
	case "if", "unless", "else", "elsif", "endif", "end", "for", "range", "each", "with":
		if !strings.ContainsAny(text, "()[]=") || word == "if" || word == "unless" {
			return &Fault{strings.Index(text, word), fmt.Sprintf("there is no %q", word), `write one value for each case: {{ customer.language == "de" ? "Hallo" : "Hello" }}`}
		}
	}
	at := pipe(text, 0)
	if at < 0 {
		return nil
	}
	name := strings.TrimSpace(text[at+1:])
	if name != "" {
		word := name[:wordLength(name)]
		if strings.HasPrefix(strings.TrimLeft(name[len(word):], " "), "(") {
			return nil // a function may follow with its brackets: | lower()
		}
		name = word
	}
	hint := "after | comes default: or a function with its brackets, such as | lower()"
	if name == "default" {
		hint = `write a colon: | default: "there"`
	} else if form := filters[name]; form != "" {
		hint += "; write " + strings.ReplaceAll(form, "x", strings.TrimSpace(text[:at]))
	}
	return &Fault{at, fmt.Sprintf("| %s is not understood here", name), hint}
}

// filters are what other template languages write behind |, and how it is said here.
var filters = map[string]string{
	"capitalize": "upper(x) or lower(x)", "title": "upper(x) or lower(x)", "titlecase": "upper(x) or lower(x)",
	"upcase": "upper(x)", "upper": "upper(x)", "downcase": "lower(x)", "lower": "lower(x)", "strip": "trim(x)", "trim": "trim(x)",
	"size": "len(x)", "length": "len(x)", "money": "money(x)", "round": "round(x, 2)", "date": `date(x, "D MMM YYYY")`,
	"join": `join(x, ", ")`, "replace": `replace(x, "old", "new")`, "split": `split(x, ",")`,
}

// endsBlock reports whether an expression is the end of a block that another language has.
func endsBlock(text string) bool {
	switch strings.Trim(text, " \t\r\n%/-") {
	case "end", "endif", "else", "if", "unless", "each", "endfor":
		return true
	default:
		return false
	}
}

// printable reports a value that is no text for a message.
func printable(text string, t typed) []Fault {
	text = strings.TrimSpace(text)
	switch t.shape.kind {
	case KindList:
		if t.shape.elem.kind == KindObject {
			return []Fault{{0, text + " is a list and cannot be printed", fmt.Sprintf(`print one entry, %s[0].title, or all: join(map(%s, .title), ", ")`, text, text)}}
		}
		return []Fault{{0, text + " is a list and cannot be printed", fmt.Sprintf(`join(%s, ", ") makes a text of it`, text)}}
	case KindObject, KindTable:
		hint := "name one of its entries"
		if len(t.shape.fields) > 0 {
			hint = "name one of its fields: " + strings.Join(t.shape.names(), ", ")
		}
		return []Fault{{0, fmt.Sprintf("%s is %s and cannot be printed", text, t.shape.words()), hint}}
	case KindNil:
		return []Fault{{0, "nil prints nothing", ""}}
	default:
		return nil
	}
}

// Constant reports whether the template holds no expression at all.
func (t *Template) Constant() bool {
	for _, p := range t.parts {
		if p.value != nil {
			return false
		}
	}
	return true
}

// Render fills the template in. empty names the first value that came out empty and has no
// default, with the reason where there is one.
func (t *Template) Render(s *Scope) (text, empty string) {
	if len(t.parts) == 1 {
		return t.parts[0].render(s)
	}
	var b strings.Builder
	for i := range t.parts {
		one, gap := t.parts[i].render(s)
		if gap != "" && empty == "" {
			empty = gap
		}
		b.WriteString(one)
	}
	return b.String(), empty
}

func (p *part) render(s *Scope) (text, empty string) {
	if p.value == nil {
		return p.text, ""
	}
	s.begin()
	s.prints = true
	defer func() { s.prints = false }()
	if text = s.print(p.value(s)); strings.TrimSpace(text) != "" && s.unread == "" {
		return text, ""
	}
	if p.fallback != nil && s.unread == "" { // a default is for what is missing
		why := s.why()
		s.begin()
		text = s.print(p.fallback(s))
		if s.fault == "" && s.lost == nil && s.unread == "" {
			return text, ""
		}
		return text, p.source + because(why)
	}
	return "", p.source + because(s.why())
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// Variable is the template as one variable of a message: one line, not empty, not too long.
// trouble is why it cannot be one.
func (t *Template) Variable(s *Scope) (text, trouble string) {
	text, empty := t.Render(s)
	if empty != "" {
		return "", "is empty: " + empty + "; give it a default"
	}
	text = plain.OneLine(text)
	if text == "" {
		return "", "is empty: " + t.source + "; give it a default"
	}
	if n := utf8.RuneCountInString(text); n > MaxVariable {
		if strings.Contains(text, "://") {
			return "", fmt.Sprintf("is %d characters long: at most %d are sent, and a link cannot be cut", n, MaxVariable)
		}
		text = plain.Crop(text, MaxVariable-1)
	}
	return text, ""
}
