package webhooks

import (
	"net/url"
	"strings"
)

// unknown is the name that rejected requests are kept under when the path names no connector: a name that a
// stranger made up would be the stranger's to choose.
const unknown = "(unknown)"

// hookPath is the connector that a path names, and the path that its connector sees:
// /hooks/NAME or /hooks/NAME/TOKEN, with or without a slash at the end.
func hookPath(u *url.URL) (name, path string, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/hooks/")
	if !ok {
		return "", "", false
	}
	name, token, more := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if name == "" || (more && token == "") || strings.Contains(token, "/") {
		return "", "", false
	}
	if name, err := url.PathUnescape(name); err == nil {
		return name, strings.TrimSuffix(u.Path, "/"), true
	}
	return "", "", false
}
