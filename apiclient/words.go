package apiclient

import (
	"bytes"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// maxWords is the most characters of the service's own words that go into an error.
const maxWords = 300

// words is what the service says about a refusal, fit to be shown and logged: one line,
// without the key and without a whole phone number, even where the service repeats them.
func (c *Client) words(resp *http.Response, page []byte) string {
	text := spoken(page)
	if text == "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		text = "redirects are not followed"
		if to, err := resp.Location(); err == nil {
			text += " (to " + to.Scheme + "://" + to.Host + to.EscapedPath() + ")"
		}
	}
	text = strings.ReplaceAll(text, c.key, "[key]")
	return shorten(maskPhones(oneLine(text)))
}

// spoken finds the sentence in an answer: a field that is commonly used for it, the title
// of a page, or the plain text itself.
func spoken(page []byte) string {
	trimmed := bytes.TrimSpace(page)
	if gjson.ValidBytes(trimmed) {
		all := gjson.ParseBytes(trimmed)
		if all.Type == gjson.String {
			return all.Str
		}
		for _, path := range []string{
			"error.message", "error.detail", "error", "message", "detail", "reason", "title", "msg",
			"errors.0.message", "errors.0.detail", "errors.0", "data.error", "data.message",
		} {
			if r := all.Get(path); r.Type == gjson.String && strings.TrimSpace(r.Str) != "" {
				return r.Str
			}
		}
		return string(trimmed)
	}
	if len(trimmed) > 0 && trimmed[0] == '<' {
		return titleOf(trimmed)
	}
	return string(trimmed)
}

// titleOf is the title of an HTML page, "" when it has none. Proxies answer so.
func titleOf(page []byte) string {
	low := bytes.ToLower(page)
	from := bytes.Index(low, []byte("<title>"))
	if from < 0 {
		return ""
	}
	from += len("<title>")
	to := bytes.Index(low[from:], []byte("</title>"))
	if to < 0 || from+to > len(page) {
		return ""
	}
	return string(page[from : from+to])
}

// oneLine drops control and invisible characters and folds white space.
func oneLine(text string) string {
	var s strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(text, "") {
		switch {
		case unicode.IsSpace(r):
			space = s.Len() > 0
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		default:
			if space {
				s.WriteByte(' ')
				space = false
			}
			s.WriteRune(r)
		}
		if s.Len() > 8*maxWords {
			break
		}
	}
	return s.String()
}

// shorten cuts text to maxWords characters and shows that it did.
func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxWords {
		return text
	}
	return string([]rune(text)[:maxWords-1]) + "…"
}

// maskPhones hides what may be a phone number: seven or more digits in a row, or nine or
// more with a single separator here and there ("+44 7700 900123"). The first four and the
// last two digits stay where there are nine or more, as everywhere in logs.
func maskPhones(text string) string {
	var out []byte
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		end, count, row, longest := i, 0, 0, 0
		for end < len(text) {
			if isDigit(text[end]) {
				count++
				row++
				longest = max(longest, row)
				end++
				continue
			}
			if end+1 < len(text) && strings.IndexByte(" -.()/", text[end]) >= 0 && (isDigit(text[end+1]) || opens(text, end+1)) {
				row = 0
				end++
				continue
			}
			break
		}
		if count >= 9 || longest >= 7 {
			if out == nil {
				out = []byte(text)
			}
			seen := 0
			for j := i; j < end; j++ {
				if !isDigit(text[j]) {
					continue
				}
				if seen++; count < 9 || (seen > 4 && seen <= count-2) {
					out[j] = '*'
				}
			}
		}
		i = end
	}
	if out == nil {
		return text
	}
	return string(out)
}

// opens reports a second separator before a digit, as in ") 7700" or " (0)".
func opens(text string, i int) bool {
	return strings.IndexByte(" ()", text[i]) >= 0 && i+1 < len(text) && isDigit(text[i+1])
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
