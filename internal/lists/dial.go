package lists

import (
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/netguard"
)

// dialTimeout bounds one connection to a source.
const dialTimeout = 30 * time.Second

// transport is for one reading. It goes by no proxy: behind one, nobody could tell where the
// address leads.
func transport(allowPrivate bool) *http.Transport {
	return &http.Transport{
		DialContext:            netguard.Dialer(dialTimeout, allowPrivate).DialContext,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 1 << 20,
		MaxIdleConns:           4,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		ResponseHeaderTimeout:  2 * time.Minute,
		ExpectContinueTimeout:  time.Second,
	}
}
