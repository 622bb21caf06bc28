package webhooks

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/listeners"
)

// Stages of the door itself, beside those of package connectors.
const (
	stageConnector   = "connector"   // nobody of that name
	stageCertificate = "certificate" // the caller showed none that is good
	stageOverload    = "overload"
	stageStore       = "store"
	stageMonitor     = "monitor"
	stageSlow        = "slow"
	stageCut         = "cut" // the connection ended before the body did
	stageRate        = "rate"
)

// How many traces are kept: of what a connector's own sender caused, of what nobody verified, and of
// the latter from one address. A flood of them is then no flood of writes, does not hide what went
// wrong with the real sender, and needs hours to push older traces out of the ring.
const (
	traceBurst   = 50
	traceRate    = 1 // a second
	strangeBurst = 20
	strangeRate  = 0.1
	mostStrange  = 4096 // addresses that are remembered
)

type traceKey struct {
	connector string
	verified  bool
}

type strangeKey struct {
	connector string
	from      netip.Addr
}

// traces decides which rejected requests are kept; all are counted.
type traces struct {
	mu      sync.Mutex
	kinds   map[traceKey]*rate.Limiter
	strange map[strangeKey]*rate.Limiter
	counted atomic.Int64 // that were not kept, and are not in the store's count yet
}

// keeps reports whether to keep a rejected request. connector is a name of the config or "(unknown)", so
// there are few of them.
func (t *traces) keeps(connector string, verified bool, from netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !verified {
		if len(t.strange) >= mostStrange {
			clear(t.strange)
		}
		if !limiterOf(t.strange, strangeKey{connector, listeners.AddressBlock(from)}, strangeRate, strangeBurst).Allow() {
			return false
		}
	}
	return limiterOf(t.kinds, traceKey{connector, verified}, traceRate, traceBurst).Allow()
}

func limiterOf[K comparable](all map[K]*rate.Limiter, key K, perSecond rate.Limit, burst int) *rate.Limiter {
	l := all[key]
	if l == nil {
		l = rate.NewLimiter(perSecond, burst)
		all[key] = l
	}
	return l
}

// wasVerified reports whether a request that ended at stage was verified before, so that its sender is
// the connector's own.
func wasVerified(stage string) bool {
	return stage == connectors.StageBody || stage == connectors.StageMap || stage == connectors.StageContent
}
