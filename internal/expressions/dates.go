package expressions

import (
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// zones remembers the locations that were found, because time.LoadLocation reads a file for
// each. Names that are none are not remembered: they come from payloads and have no bound.
var zones sync.Map // name → *time.Location

// zoneOf is the IANA zone called name, else home. Names come from payloads.
func zoneOf(name string, home *time.Location) *time.Location {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	if name == "" || name == "Local" || len(name) > 64 || strings.Contains(name, "//") || strings.Contains(name, ".") {
		return home // the last two spell one zone in endless ways
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return home
	}
	zones.Store(name, zone)
	return zone
}

// dateWords are the parts of a date pattern, longest first among those that share a start.
// They are the ones of spreadsheets and calendars. Names of months and days are English.
var dateWords = []struct{ pattern, layout string }{
	{"YYYY", "2006"},
	{"YY", "06"},
	{"MMMM", "January"},
	{"MMM", "Jan"},
	{"MM", "01"},
	{"M", "1"},
	{"dddd", "Monday"},
	{"ddd", "Mon"},
	{"DD", "02"},
	{"D", "2"},
	{"HH", "15"},
	{"hh", "03"},
	{"h", "3"},
	{"mm", "04"},
	{"ss", "05"},
	{"A", "PM"},
	{"a", "pm"},
}

const defaultDate = "D MMM YYYY"

// formatDate writes t by a pattern such as "dddd D MMMM, HH:mm". A word that is not made of
// those parts is written as it is ("at", "Uhr"), and so does text in [brackets].
func formatDate(t time.Time, pattern string) string {
	var b strings.Builder
	for pattern != "" {
		if rest, ok := strings.CutPrefix(pattern, "["); ok {
			if text, after, ok := strings.Cut(rest, "]"); ok {
				b.WriteString(text)
				pattern = after
				continue
			}
		}
		word := pattern[:len(pattern)-len(strings.TrimLeftFunc(pattern, unicode.IsLetter))]
		if word == "" {
			_, size := utf8.DecodeRuneInString(pattern)
			b.WriteString(pattern[:size])
			pattern = pattern[size:]
			continue
		}
		b.WriteString(dateWord(t, word))
		pattern = pattern[len(word):]
	}
	return b.String()
}

// dateWord is one word of a pattern filled in; the word itself where it is none.
func dateWord(t time.Time, word string) string {
	var b strings.Builder
next:
	for rest := word; rest != ""; {
		for _, w := range dateWords {
			if after, ok := strings.CutPrefix(rest, w.pattern); ok {
				b.WriteString(t.Format(w.layout))
				rest = after
				continue next
			}
		}
		return word
	}
	return b.String()
}

// checkDate finds patterns of other languages: they would be printed unchanged.
func checkDate(c *compiler, args []ast.Node) {
	if len(args) < 2 {
		return
	}
	pattern, ok := args[1].(*ast.StringNode)
	if !ok {
		return
	}
	wrong := func(part string) {
		c.report(pattern, `write "DD.MM.YYYY": D day, M month, Y year, HH:mm time; other text goes into [brackets]`, "%q is no part of a date", part)
	}
	if i := strings.IndexByte(pattern.Value, '%'); i >= 0 && i+1 < len(pattern.Value) && unicode.IsLetter(rune(pattern.Value[i+1])) {
		wrong(pattern.Value[i : i+2])
		return
	}
	plain := bracketed.ReplaceAllString(pattern.Value, " ")
	for _, word := range strings.FieldsFunc(plain, func(r rune) bool { return !unicode.IsLetter(r) }) {
		// A word of these letters alone that is no pattern was meant as one: "yyyy", "dd".
		if strings.Trim(word, "dDmMyYhHsS") == "" && dateWord(time.Time{}, word) == word {
			wrong(word)
			return
		}
	}
}

var bracketed = regexp.MustCompile(`\[[^\]]*\]`)

func runDate(s *Scope, a []any) any {
	pattern := defaultDate
	if len(a) > 1 {
		pattern = a[1].(string)
	}
	if len(pattern) > 100 {
		return s.fail("the pattern of a date is longer than 100 bytes")
	}
	return formatDate(a[0].(time.Time).In(s.Zone()), pattern)
}
