package listeners

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// mostAtConsole is how many connections the console's listener holds. A browser has six at most.
const mostAtConsole = 512

// A ConsoleConnLimiter bounds the connections of the console's listener, so that slow strangers use up neither memory nor open files: an address has a quarter of them, and those that
// proved nothing half; in either the one that waited longest makes room for the next.
type ConsoleConnLimiter struct {
	conns   *Connections
	proxies func() []netip.Prefix
	quiet   LogLimiter
	log     *zap.Logger
}

// NewConsoleConnLimiter leaves most of the files that may be open to webhooks and to the data. most is how many connections there may be; 0 is the usual number.
func NewConsoleConnLimiter(most int, proxies func() []netip.Prefix, log *zap.Logger) *ConsoleConnLimiter {
	if most == 0 {
		most = mostAtConsole
		if files := disk.Files(); files > 0 {
			most = min(most, files/8)
		}
	}
	most = max(4, most)
	return &ConsoleConnLimiter{conns: NewConnections(most, most/4, most/2), proxies: proxies, log: log}
}

// Opened implements ConnLimiter.
func (l *ConsoleConnLimiter) Opened(c net.Conn) (welcome bool) {
	turned, welcome := l.conns.Opened(c, l.proxies())
	if turned.IsValid() {
		if others, ok := l.quiet.Line(time.Now()); ok {
			l.log.Warn("connections to console.listen were closed, because too many are open", zap.Stringer("from", turned), zap.Int64("more_within_a_minute", others))
		}
	}
	return welcome
}

// Closed implements ConnLimiter.
func (l *ConsoleConnLimiter) Closed(c net.Conn) { l.conns.Closed(c) }

// Known keeps the place of a connection by which somebody asked whom we know.
func (l *ConsoleConnLimiter) Known(r *http.Request) {
	if l == nil {
		return
	}
	l.conns.NoteProven(Connection(r.Context()), AddressBlock(peer(r)))
}

// OverLimit reports that connections run short, so that none should be kept for later.
func (l *ConsoleConnLimiter) OverLimit() bool { return l != nil && l.conns.OverLimit() }
