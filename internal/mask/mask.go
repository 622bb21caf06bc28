// Package mask makes the words of others fit to be shown and logged: without whole phones, on one line, and no longer than is
// read.
//
// A number of nine digits keeps its first four and its last two; a shorter one that may be a phone keeps none.
package mask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	head, tail  = 4, 2 // digits that are shown
	fewestShown = head + tail + 3
	fewestInRow = 7 // digits without anything between them that may be a phone

	mostRead = 4 << 10 // bytes of a text that are looked at
)

// Number is a phone as it may be shown: the first four digits and the last two. One of fewer than nine digits shows nothing but its
// length.
func Number(digits string) string {
	if len(digits) < fewestShown {
		return strings.Repeat("*", len(digits))
	}
	return digits[:head] + strings.Repeat("*", len(digits)-head-tail) + digits[len(digits)-tail:]
}

// Email is an e-mail address as it may be shown: its first letter and its domain.
func Email(address string) string {
	name, domain, found := strings.Cut(address, "@")
	if _, first := utf8.DecodeRuneInString(name); found {
		return name[:first] + "***@" + domain
	}
	return "***"
}

// Words are the words of others in one line of at most that many characters; the last is "…" where there were more. Phones are
// hidden before the line is cut: half a phone is not seen to be one. A text that was cut itself goes through Whole first.
func Words(text string, most int) string {
	if len(text) > mostRead {
		text = Whole(text[:mostRead])
	}
	text = Phones(oneLine(text))
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// oneLine drops control and invisible characters and folds white space.
func oneLine(text string) string {
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(visible), " ")
}

// borders are what no phone and no secret of an address goes across.
const borders = " \t\r\n\"'`<>"

// Whole is a text that was cut at its end without what the cut may have left of a phone or a secret.
func Whole(text string) string {
	text = text[:strings.LastIndexAny(text, borders)+1]
	return strings.TrimRightFunc(text, func(r rune) bool { return signOf(r) != other || unicode.IsSpace(r) })
}
