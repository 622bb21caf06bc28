package listeners

import (
	"crypto/rand"
	"net/http"
	"net/netip"
	"strings"
)

// RequestHeader is where a proxy's id of a request stands, and where every answer says by which id the request is
// found in the log and in the data.
const RequestHeader = "X-Request-Id"

// maxRequestID bounds an id that a proxy gave. nginx and Envoy give 32 and 36 characters.
const maxRequestID = 64

// RequestID is the id of a request: what a trusted proxy called it, else one of ours with 80 random bits. A
// stranger's is not taken: whoever chooses ids could have one request pass for another in the log.
func RequestID(r *http.Request, proxies []netip.Prefix) string {
	if given := r.Header.Get(RequestHeader); given != "" && cleanID(given) && trusted(peer(r), proxies) {
		return given
	}
	return NewRequestID()
}

// NewRequestID is an id of ours.
func NewRequestID() string { return strings.ToLower(rand.Text()[:16]) }

// cleanID reports whether an id is letters, digits and -._ only. One without a letter may be a phone, which has no place in a log.
func cleanID(id string) bool {
	if len(id) > maxRequestID {
		return false
	}
	letter := false
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			letter = true
		case '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return letter
}
