package mask

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	mostShown  = 200 // characters of an answer
	secretPart = 6   // characters that a part of an address has, from which on it may be a secret
)

// Answer is what somebody answered in one line of at most 200 characters, without phones and without what it repeats of the address
// that was asked, which may be a secret. What cannot be read is left out.
func Answer(res *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(res.Body, mostRead+1)) // what can be read is enough
	text := string(body)
	if len(body) > mostRead {
		text = Whole(text[:mostRead])
	}
	return Words(withoutAddress(text, res.Request.URL), mostShown)
}

// Error is why nothing was answered, fit to be shown like an Answer: it may repeat what a stranger sent in place of HTTP.
func Error(err error, asked *url.URL) string {
	return Words(withoutAddress(err.Error(), asked), mostShown)
}

// withoutAddress takes out of a text what it repeats of an address. Many servers name the path that they do not know, which is
// all the secret there is.
func withoutAddress(text string, u *url.URL) string {
	parts := []string{u.String(), u.RequestURI(), u.Path}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.Username(), password)
	}
	parts = append(parts, strings.Split(u.Path, "/")...)
	parts = append(parts, strings.Split(u.EscapedPath(), "/")...)
	for _, part := range parts { // the whole ones are first
		if len(part) >= secretPart {
			text = strings.ReplaceAll(text, part, "[secret]")
		}
	}
	return text
}
