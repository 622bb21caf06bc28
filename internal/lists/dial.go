package lists

import (
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/netguard"
)

const (
	dialTimeout = 30 * time.Second // of one connection
	headTimeout = 2 * time.Minute  // until an answer begins
)

// transport is for one reading.
func transport(allowPrivate bool) *http.Transport {
	t := netguard.Transport(dialTimeout, allowPrivate)
	t.ResponseHeaderTimeout = headTimeout
	return t
}
