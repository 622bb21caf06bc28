package yamlpos

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

const (
	indentation = "    "
	widest      = 120 // columns of a source line; longer ones are cut around the caret
)

// Render writes the problems for people, sorted: for each its place and words, the source
// line, a caret under the place and the hint; at the end how many there are. source gives the
// bytes of a file for problems that do not carry their line; it may be nil. color marks
// errors red, warnings yellow and carets green.
//
//	config.yaml:4:5: triggers.remind.templat: unknown key
//	        templat: cart_reminder
//	        ^
//	  hint: did you mean "template"?
//
//	1 problem in config.yaml
func (ps Problems) Render(w io.Writer, source func(file string) []byte, color bool) error {
	sorted := append(Problems(nil), ps...)
	sorted.Sort()
	paint := painter(color)
	lines := map[string][]string{}
	var b strings.Builder
	for _, p := range sorted {
		b.WriteString(paint.headline(p))
		b.WriteByte('\n')
		text := p.Source
		if text == "" && source != nil && p.Line > 0 {
			if _, read := lines[p.File]; !read {
				lines[p.File] = splitLines(source(p.File))
			}
			if all := lines[p.File]; p.Line <= len(all) {
				text = HideURLs(guessSecrets(all[p.Line-1]))
			}
		}
		if strings.TrimSpace(text) != "" {
			line, caret := excerpt(text, p.Col)
			fmt.Fprintf(&b, "%s%s\n%s%s\n", indentation, line, indentation, paint.caret(caret))
		}
		if p.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", printable(p.Hint))
		}
		b.WriteByte('\n')
	}
	if len(sorted) > 0 {
		b.WriteString(sorted.Summary())
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write problems: %w", err)
	}
	return nil
}

// Summary is how many problems there are and where: "15 problems in config.yaml",
// "2 problems and 1 warning in config.yaml".
func (ps Problems) Summary() string {
	var files []string
	for _, p := range ps {
		if len(files) == 0 || files[len(files)-1] != p.File {
			files = append(files, p.File)
		}
	}
	bad := ps.Errors()
	counts := []string{}
	if bad > 0 || len(ps) == 0 {
		counts = append(counts, count(bad, "problem"))
	}
	if n := len(ps) - bad; n > 0 {
		counts = append(counts, count(n, "warning"))
	}
	text := strings.Join(counts, " and ")
	switch len(files) {
	case 0:
		return text
	case 1:
		return text + " in " + files[0]
	default:
		return fmt.Sprintf("%s in %d files", text, len(files))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A painter says whether to colour.
type painter bool

func (c painter) headline(p Problem) string {
	text := printable(p.headline())
	switch {
	case !bool(c):
		return text
	case p.Warning:
		return "\x1b[33m" + text + "\x1b[0m"
	default:
		return "\x1b[31m" + text + "\x1b[0m"
	}
}

func (c painter) caret(text string) string {
	if !bool(c) {
		return text
	}
	return strings.Replace(text, "^", "\x1b[32m^\x1b[0m", 1)
}

// excerpt is the part of a source line around a column, and a line with a caret under it.
func excerpt(text string, col int) (line, caret string) {
	runes := []rune(strings.TrimRight(text, " \t"))
	col = max(1, min(col, len(runes)+1))
	from, to := 0, len(runes)
	if to > widest {
		from = max(0, min(col-widest/2, to-widest))
		to = min(to, from+widest)
	}
	var l, c strings.Builder
	if from > 0 {
		l.WriteString("…")
		c.WriteString(" ")
	}
	for i, r := range runes[from:to] {
		if !unicode.IsPrint(r) && r != '\t' {
			r = '·'
		}
		l.WriteRune(r)
		if from+i < col-1 {
			c.WriteString(under(r))
		}
	}
	if to < len(runes) {
		l.WriteString("…")
	}
	return l.String(), c.String() + "^"
}

// under is blank space as wide as r: the caret must meet its place under wide letters, too.
func under(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return ""
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return "  "
	default:
		return " "
	}
}

// printable takes out what could steer a terminal: parts of messages come from the file.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return '·'
	}, text)
}
