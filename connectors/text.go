package connectors

import (
	"fmt"
	"strings"
)

// count is a number of things: "1 key", "2 keys".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// cutPrefixFold removes prefix, case aside: the names of HTTP's schemes of authorization are
// written in any case (RFC 9110, 11.1).
func cutPrefixFold(text, prefix string) (string, bool) {
	if !hasPrefixFold(text, prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// mostShort is how many characters of a sender's words a reason holds.
const mostShort = 60

// short is text as a reason may hold it: not long, and without control characters.
func short(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(clean); len(runes) > mostShort {
		return string(runes[:mostShort]) + "…"
	}
	return clean
}
