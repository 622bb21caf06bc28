package yamlpos

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/nudgewire/nudgewire/internal/units"
)

const (
	indentation = "    "
	maxColumns  = 120 // of a source line; longer ones are cut around the caret

	red, green, yellow = "31", "32", "33" // for a terminal
)

// Render writes the problems for people, sorted: for each its position and words, the source
// line, a caret under the position and the hint; at the end how many there are. color marks
// errors red, warnings yellow and carets green.
//
//	config.yaml:4:5: triggers.remind.templat: unknown key
//	        templat: cart_reminder
//	        ^
//	  hint: did you mean "template"?
//
//	1 problem in config.yaml
func (ps Problems) Render(w io.Writer, color bool) error {
	sorted := append(Problems(nil), ps...)
	sorted.Sort()
	paint := func(code, text string) string {
		if !color {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	var b strings.Builder
	for _, p := range sorted {
		tone := red
		if p.Warning {
			tone = yellow
		}
		b.WriteString(paint(tone, printable(p.headline())) + "\n")
		if strings.TrimSpace(p.Source) != "" {
			line, caret := excerpt(p.Source, p.Col)
			fmt.Fprintf(&b, "%s%s\n%s%s\n", indentation, line, indentation, caret+paint(green, "^"))
		}
		if p.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", printable(p.Hint))
		}
		b.WriteByte('\n')
	}
	if len(sorted) > 0 {
		b.WriteString(sorted.Summary() + "\n")
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
		files = append(files, p.File)
	}
	files = slices.Compact(files)
	bad := ps.Errors()
	text := units.Count(bad, "problem")
	if n := len(ps) - bad; n > 0 && bad == 0 {
		text = units.Count(n, "warning")
	} else if n > 0 {
		text += " and " + units.Count(n, "warning")
	}
	switch len(files) {
	case 0:
		return text
	case 1:
		return text + " in " + files[0]
	default:
		return fmt.Sprintf("%s in %d files", text, len(files))
	}
}

// excerpt is the part of a source line around a column, and what goes before a caret under it.
func excerpt(text string, col int) (line, caret string) {
	runes := []rune(printable(strings.TrimRight(text, " \t")))
	col = max(1, min(col, len(runes)+1))
	from, to := 0, len(runes)
	if to > maxColumns {
		from = max(0, min(col-maxColumns/2, to-maxColumns))
		to = min(to, from+maxColumns)
	}
	var l, c strings.Builder
	if from > 0 {
		l.WriteString("…")
		c.WriteString(" ")
	}
	for i, r := range runes[from:to] {
		l.WriteRune(r)
		if from+i < col-1 {
			c.WriteString(under(r))
		}
	}
	if to < len(runes) {
		l.WriteString("…")
	}
	return l.String(), c.String()
}

// under is blank space as wide as r: the caret must be under its character, behind wide ones, too.
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
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '·'
	}, text)
}
