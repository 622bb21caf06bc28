package server

import (
	"container/list"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What the door holds for a request is charged before anything is verified, so it is
// charged by what has come and not by what was announced, and to the address that it came from: one
// address can use up its own share and no other's.
const (
	// requestCharge is what a request weighs beside its body: connection buffers and a stack.
	requestCharge = 16 << 10
	// shareOf is the part of all memory that one address may hold: a quarter.
	shareOf = 4
	// mostConnections is how many connections one address may have open.
	mostConnections = 512
	// mostWaiting is how many connections without a verified webhook are held: net/http needs some 40 kB for each.
	mostWaiting = 1200
	// few is how many connections of an address make no room while another has more.
	few = 8
)

// A turning is why the door turns a request away that did nothing wrong.
type turning int

const (
	turnedMemory      turning = iota // all memory for webhooks is used
	turnedShare                      // the address uses its share of it
	turnedConnections                // all connections are taken, or the address has its share of them
	turnedSlow                       // its head or body came too slowly
	turnedRate                       // its connector takes no more for now
	turnedDisk                       // it verifies nothing, and the disk is short
	turnedStore                      // more waits to be written than can be
	turnings
)

// turnedWords are the reasons in the words of status, doctor and log.
var turnedWords = [turnings]string{
	turnedMemory:      "webhooks under way used all of server.max_in_flight",
	turnedShare:       "one address used its share of server.max_in_flight",
	turnedConnections: "too many connections were open",
	turnedSlow:        "the body came too slowly: it has to begin within 2s, then keep up 1,000 bytes a second, and be whole after 15s",
	turnedRate:        "more came than the connector's rate",
	turnedDisk:        "the disk is short, and nothing verifies the request",
	turnedStore:       "more waited to be written than could be",
}

// A TurnedView counts webhooks that were turned away before they could be verified.
type TurnedView struct {
	Why   string    `json:"why"`
	Count int64     `json:"count"` // since the daemon started
	Last  time.Time `json:"last"`
	From  string    `json:"from,omitempty"` // the last address
}

// Words say it in a line.
func (v TurnedView) Words(now time.Time) string {
	words := fmt.Sprintf("%s turned away since the start, the last %s ago", units.Count(v.Count, "webhook"), ForText(now.Sub(v.Last)))
	if v.From != "" {
		words += " from " + v.From
	}
	return words + ": " + v.Why
}

// A tally counts what was turned away.
type tally struct {
	mu  sync.Mutex
	all [turnings]TurnedView
}

func (t *tally) add(why turning, from netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := &t.all[why]
	v.Count++
	v.Last = now.UTC()
	if from.IsValid() {
		v.From = from.String()
	}
}

// views are the reasons that occurred.
func (t *tally) views() (out []TurnedView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for why, v := range t.all {
		if v.Count > 0 {
			v.Why = turnedWords[why]
			out = append(out, v)
		}
	}
	return out
}

// A turnedAway is the error for what is turned away.
type turnedAway struct{ why turning }

func (t turnedAway) Error() string { return turnedWords[t.why] }

// rejected is how it is answered. Slow bodies and too many of a connector leave a trace, too: these
// have a sender who should know.
func (t turnedAway) rejected() *connectors.Rejected {
	no := &connectors.Rejected{Status: http.StatusServiceUnavailable, Stage: stageOverload, Public: "busy, try again", Reason: t.Error()}
	switch t.why {
	case turnedSlow:
		no.Status, no.Stage, no.Public = http.StatusRequestTimeout, stageSlow, "body too slow"
	case turnedRate:
		no.Status, no.Stage, no.Public = http.StatusTooManyRequests, stageRate, "too many, try again later"
	default:
	}
	return no
}

// neighbourhood is who shares a share with an address: of IPv6 the whole /64, which any one machine
// may have to itself.
func neighbourhood(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// A budget is the memory of the door.
type budget struct {
	most int64
	mu   sync.Mutex
	held int64
	by   map[netip.Addr]int64
}

// take charges n bytes to who. biggest is the most that one request of this sort may need: a share
// is never less, or it could not be taken at all.
func (b *budget) take(who netip.Addr, n, biggest int64) (why turning, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.held+n > b.most:
		return turnedMemory, false
	case b.by[who]+n > max(b.most/shareOf, requestCharge+biggest):
		return turnedShare, false
	}
	b.held += n
	b.by[who] += n
	return 0, true
}

func (b *budget) give(who netip.Addr, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.by[who] -= n; b.by[who] <= 0 {
		delete(b.by, who)
	}
}

// A holding is what one request holds of a budget. Its end gives it back.
type holding struct {
	of      *budget
	who     netip.Addr
	n       int64
	biggest int64
}

func (h *holding) more(n int64) (turning, bool) {
	why, ok := h.of.take(h.who, n, h.biggest)
	if ok {
		h.n += n
	}
	return why, ok
}

func (h *holding) end() { h.of.give(h.who, h.n) }

// A lobby counts open connections, by address. When all places are taken, or those for connections that have shown nothing yet, the connection that has waited longest
// without a verified webhook makes room for a new one: slow strangers then wait in each other's place, and an ordinary webhook, which
// needs its place for milliseconds, is through long before it would be its turn.
type lobby struct {
	most, each int
	strangers  int // how many may wait that have shown nothing yet
	open       atomic.Int64
	mu         sync.Mutex
	by         map[netip.Addr]int
	turned     map[netip.AddrPort]struct{}      // counted by nobody: they are being closed
	waiting    list.List                        // of net.Conn, in the order in which they came
	places     map[netip.AddrPort]*list.Element // theirs in waiting
}

func newLobby(most, each, strangers int) *lobby {
	return &lobby{
		most: most, each: each, strangers: strangers,
		by: map[netip.Addr]int{}, turned: map[netip.AddrPort]struct{}{}, places: map[netip.AddrPort]*list.Element{},
	}
}

// opened counts a connection in, and closes the one that made room for it.
func (l *lobby) opened(c net.Conn, proxies []netip.Prefix) (turned netip.Addr, welcome bool) {
	from := addrPort(c)
	ended, welcome := l.enter(c, from, trusted(from.Addr(), proxies))
	switch {
	case !welcome:
		return from.Addr(), false
	case ended != nil:
		turned = addrPort(ended).Addr()
		if t, ok := ended.(*tls.Conn); ok {
			ended = t.NetConn() // a goodbye by TLS may take its time
		}
		_ = ended.Close()
	}
	return turned, true
}

// enter counts a connection in. Known proxies bring many people's requests, so they have no share and make no room. ended is the
// one that made room; nil for none.
func (l *lobby) enter(c net.Conn, from netip.AddrPort, proxy bool) (ended net.Conn, welcome bool) {
	who := neighbourhood(from.Addr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if !proxy && l.by[who] >= l.each {
		l.turned[from] = struct{}{}
		return nil, false
	}
	if int(l.open.Load()) >= l.most || (!proxy && l.waiting.Len() >= l.strangers) {
		longest := l.longest()
		if longest == nil {
			l.turned[from] = struct{}{}
			return nil, false
		}
		ended = l.waiting.Remove(longest).(net.Conn) // the list holds nothing else
		delete(l.places, addrPort(ended))
	}
	l.open.Add(1)
	l.by[who]++
	if !proxy {
		l.places[from] = l.waiting.PushBack(c)
	}
	return ended, true
}

// longest is the connection that has waited longest, of the addresses with more than a few open; where all have few, of all.
func (l *lobby) longest() *list.Element {
	for at := l.waiting.Front(); at != nil; at = at.Next() {
		if l.by[neighbourhood(addrPort(at.Value.(net.Conn)).Addr())] > few { // the list holds nothing else
			return at
		}
	}
	return l.waiting.Front()
}

// proven keeps the place of a connection that brought a verified webhook.
func (l *lobby) proven(from netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.places[from]; at != nil {
		l.waiting.Remove(at)
		delete(l.places, from)
	}
}

func (l *lobby) leave(from netip.AddrPort) {
	l.proven(from) // it waits no more
	who := neighbourhood(from.Addr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, never := l.turned[from]; never {
		delete(l.turned, from)
		return
	}
	l.open.Add(-1)
	if l.by[who]--; l.by[who] <= 0 {
		delete(l.by, who)
	}
}

// crowded reports that connections run short, so that none should be kept for later.
func (l *lobby) crowded() bool { return l.most > 0 && int(l.open.Load()) > l.most/4*3 }
