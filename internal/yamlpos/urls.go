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

// reference is what stands for a value from elsewhere, with what counts where there is none, or a $ that stands for itself.
var reference = regexp.MustCompile(`\$\$|\$\{[^}]*\}`)

// stars is text as stars, as long as before. Of references the names stay, with the quotes around them, and not what counts otherwise.
func stars(text string) string {
	if !strings.Contains(text, "${") {
		return strings.Repeat("*", utf8.RuneCountInString(text))
	}
	hide := func(text string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\"'", r) {
				return r
			}
			return '*'
		}, text)
	}
	var out strings.Builder
	last := 0
	for _, at := range reference.FindAllStringIndex(text, -1) {
		out.WriteString(hide(text[last:at[0]]))
		one := text[at[0]:at[1]]
		last = at[1]
		if one == "$$" {
			out.WriteString("**")
			continue
		}
		name, other, has := strings.Cut(strings.TrimSuffix(one, "}"), ":-")
		out.WriteString(name)
		if has {
			out.WriteString(":-" + strings.Repeat("*", utf8.RuneCountInString(other)))
		}
		out.WriteString("}")
	}
	return out.String() + hide(text[last:])
}
