package listeners

import (
	"net/url"
	"strings"
)

// Of a path that was wrong, this much is told. What follows may be a token.
const (
	shownParts  = 2
	shownLength = 24 // characters of a part
	shownDigits = 4
)

// ShownPath is a path for the operator, without what could be a token in it.
func ShownPath(u *url.URL) string {
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, part := range parts {
		digits := 0
		for _, c := range []byte(part) {
			if c >= '0' && c <= '9' {
				digits++
			}
		}
		if i >= shownParts && part != "" || len(part) > shownLength || digits > shownDigits {
			parts[i] = "…"
		}
	}
	if len(parts) > shownParts+2 {
		parts = append(parts[:shownParts+1], "…")
	}
	return "/" + strings.Join(parts, "/")
}
