package connectors

import (
	"fmt"
	"slices"
	"strings"
)

// mostUnread bounds what is said of values that cannot be read.
const mostUnread = 8

// unreadable notes a value that the expression at source led to and that its target cannot be.
func (v *view) unreadable(source, text, is string) {
	if v.unread == nil || len(*v.unread) >= mostUnread {
		return
	}
	words := fmt.Sprintf("%s is %q, which is %s", source, short(strings.Join(strings.Fields(masked(text)), " ")), is)
	if !slices.Contains(*v.unread, words) {
		*v.unread = append(*v.unread, words)
	}
}

// masked hides what may be a phone number that a mapping put into the wrong place: decisions are
// shown to people who should not see whole ones.
func masked(text string) string {
	const fewest, shown = 9, 2 // digits of a number with its country; digits that stay
	digits := 0
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			digits++
		}
	}
	if digits < fewest {
		return text
	}
	out := []byte(text)
	for i := range out {
		if out[i] < '0' || out[i] > '9' {
			continue
		}
		if digits > shown {
			out[i] = '*'
		}
		digits--
	}
	return string(out)
}

// isNo says what a text is not that a target could not take.
var isNo = map[targetKind]string{
	takesAmount: "no amount (| money reads currency signs and decimal commas)", takesTime: "no time", takesNumber: "no whole number",
	takesCountry: "no country's two letters", takesZone: "no time zone", takesLanguage: "no language code", takesCurrency: "no currency's three letters",
	takesConsent: "neither yes nor no", takesItems: "no list", takesAnswers: "no list", takesName: "no name",
}

// bare is the expression's text before its pipes: what a sender wrote where they left nothing.
func (e *expr) bare(v *view) string {
	if len(e.pipes) == 0 {
		return ""
	}
	plain := *e
	plain.pipes = nil
	return plain.text(v)
}

// isLanguage reports whether text is a language code, as in en, en-GB and zh_Hant_TW.
func isLanguage(text string) bool {
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == '@' }) {
		if i == 0 && (len(part) < 2 || len(part) > 3) || len(part) > 8 || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		}) {
			return false
		}
	}
	return text != "" && text[0] != '-' && text[0] != '_'
}

func isCurrency(text string) bool {
	return len(text) == 3 && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}
