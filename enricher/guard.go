package enricher

import (
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/netguard"
)

// transport dials by the rule. It uses no proxy: that would be asked by name, and the guard
// would look at the proxy's address.
func transport(timeout time.Duration, private bool) *http.Transport {
	return &http.Transport{
		DialContext: netguard.Dialer(timeout, private).DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 32, MaxIdleConnsPerHost: 8,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
	}
}
