package yamlpos

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// anyURL is an address as it may stand in any text.
var anyURL = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// HideURLs stars out what addresses in text may hold of secrets: user and password, and the values of
// the query. References such as ${NAME} stay, and so does the length, so that positions still fit.
func HideURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return anyURL.ReplaceAllStringFunc(text, hideURL)
}

func hideURL(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	out := scheme + "://"
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		user, password, both := strings.Cut(rest[:at], ":")
		out += stars(user)
		if both {
			out += ":" + stars(password)
		}
		rest = rest[at:]
	}
	before, query, asked := strings.Cut(rest, "?")
	out += before
	if !asked {
		return out
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, named := strings.Cut(pair, "="); named {
			pairs[i] = name + "=" + stars(value)
		} else {
			pairs[i] = stars(pair)
		}
	}
	return out + "?" + strings.Join(pairs, "&")
}

// stars is text as stars, unless it is a reference.
func stars(text string) string {
	if strings.Contains(text, "${") {
		return text
	}
	return strings.Repeat("*", utf8.RuneCountInString(text))
}
