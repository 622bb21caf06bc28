package problems

import (
	"fmt"
	"strings"
)

// Count is a number of things: "1 key", "2 keys".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func HasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// CutPrefixFold removes prefix, case aside: the names of HTTP's schemes of authorization are
// written in any case (RFC 9110, 11.1).
func CutPrefixFold(text, prefix string) (string, bool) {
	if !HasPrefixFold(text, prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// MostShort is how many characters of a sender's words a reason holds.
const MostShort = 60

// Short is text as a reason may hold it: not long, and without control characters.
func Short(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(clean); len(runes) > MostShort {
		return string(runes[:MostShort]) + "…"
	}
	return clean
}
