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

// short is text as a reason may hold it: not long, and without control characters.
func short(text string) string {
	const most = 60
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return clean
}
