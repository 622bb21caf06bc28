package apiclient

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// maxWords is the most characters of the service's own words that go into an error.
const maxWords = 300

// words is what the service says about a refusal, fit to be shown and logged: one line,
// without the key and without a whole phone number, even where the service repeats them.
func (c *Client) words(resp *http.Response, page []byte) string {
	text := spoken(page)
	if len(page) >= maxAnswer {
		text = mask.Whole(text)
	}
	if text == "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		text = "redirects are not followed"
		if to, err := resp.Location(); err == nil {
			text += " (to " + to.Scheme + "://" + to.Host + to.EscapedPath() + ")"
		}
	}
	text = strings.ReplaceAll(text, c.key, "[key]")
	return mask.Words(text, maxWords)
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
