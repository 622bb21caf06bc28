package apiclient

import (
	"bytes"
	"net/http"
	"regexp"
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
		if found := pageTitle.FindSubmatch(trimmed); found != nil {
			return string(found[1])
		}
		return ""
	}
	return string(trimmed)
}

// pageTitle finds the title of an HTML page. Proxies answer so.
var pageTitle = regexp.MustCompile(`(?is)<title>(.*?)</title>`)

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

// shorten cuts text to maxWords characters and shows that it did.
func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxWords {
		return text
	}
	return string([]rune(text)[:maxWords-1]) + "…"
}

// digitRuns are digits with a separator here and there, or two before a bracket and after one.
var digitRuns = regexp.MustCompile(`\d(?:(?:[ .()/-][ ()]?)?\d)*`)

// maskPhones hides what may be a phone number: seven or more digits in a row, or nine or
// more with separators ("+44 7700 900123"). The first four and the last two digits stay where
// there are nine or more, as everywhere in logs.
func maskPhones(text string) string {
	return digitRuns.ReplaceAllStringFunc(text, func(run string) string {
		count, row, longest := 0, 0, 0
		for i := range len(run) {
			if row++; !isDigit(run[i]) {
				row = 0
				continue
			}
			count++
			longest = max(longest, row)
		}
		if count < 9 && longest < 7 {
			return run
		}
		masked, nth := []byte(run), 0
		for i := range masked {
			if !isDigit(masked[i]) {
				continue
			}
			if nth++; count < 9 || nth > 4 && nth <= count-2 {
				masked[i] = '*'
			}
		}
		return string(masked)
	})
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
