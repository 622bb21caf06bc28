package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes one line of a text: each run of white space, control and invisible characters
// becomes one space, and there is none at the ends. Bytes that are not UTF-8 go.
//
// The messaging network rejects variables with line breaks, tabs or more than four spaces in a
// row, and invisible characters are only ever an accident or a trick in a name.
func OneLine(text string) string {
	clean := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i+1 == len(text) || text[i+1] == ' ') {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for _, r := range text {
		switch {
		case r == utf8.RuneError:
		case blank(r):
			gap = b.Len() > 0
		default:
			if gap {
				b.WriteByte(' ')
				gap = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// blank reports whether r is white space, a control character, or invisible.
func blank(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u200b' || r == '\ufeff' || r == '\u2060' ||
		'\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' // these turn the direction of what follows
}

// Crop is at most n characters of a text, with "…" where it was longer.
func Crop(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "…"
}

// Cut is at most n bytes of a text, of whole characters.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
