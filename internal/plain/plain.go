// Package plain makes what strangers wrote safe to show: a webhook's path, a cell of a list or
// the error of somebody else's server may hold what makes a terminal change its colours, its
// title or the order of its words, and a line break forges a line.
//
// It looks only at characters that steer. What a text means, and whether it is a secret, is not
// its matter.
package plain

import (
	"strings"
	"unicode/utf8"
)

// mark stands where a character was that must not be shown.
const mark = '·'

// steers reports whether r steers a terminal or the direction of a text instead of being seen.
func steers(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // bidi
		return true
	case r == 0x2028, r == 0x2029, r == 0xfeff: // line and paragraph separator, byte order mark
		return true
	default:
		return false
	}
}

// Text is text on one line: what steers, line breaks and tabs too, is shown as "·", and bytes
// that are not UTF-8 as U+FFFD.
func Text(text string) string { return clean(text, false) }

// Lines is Text with its line breaks and tabs kept, for what is meant to have several lines.
func Lines(text string) string { return clean(text, true) }

func clean(text string, lines bool) string {
	if isPlain(text) {
		return text
	}
	if lines {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return strings.Map(func(r rune) rune {
		if steers(r) && (!lines || (r != '\n' && r != '\t')) {
			return mark
		}
		return r // bytes that are not UTF-8 come as U+FFFD
	}, text)
}

// isPlain is the quick answer for nearly every text.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// JSON is JSON text that means the same, with every character that steers and is allowed to stand
// raw in a JSON string written as \u. Line breaks between values stay.
func JSON(text []byte) []byte {
	i := 0
	for i < len(text) && (text[i] < 0x7f) {
		i++
	}
	if i == len(text) {
		return text
	}
	const digits = "0123456789abcdef"
	out := append(make([]byte, 0, len(text)+16), text[:i]...)
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		if r >= 0x7f && steers(r) {
			out = append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		} else {
			out = utf8.AppendRune(out, r)
		}
		i += size
	}
	return out
}
