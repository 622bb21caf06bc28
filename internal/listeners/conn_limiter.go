package listeners

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// few is how many connections of an address make no room while another has more.
const few = 8

// Connections counts those that are open, by address. When all places are taken, or those of an address, or those for connections that have
// shown nothing yet, the connection that has waited longest without a verified webhook makes room for a new one: slow strangers then
// wait in each other's place, and an ordinary webhook, which needs its place for milliseconds, is through long before it would be
// its turn.
type Connections struct {
	most, each int
	strangers  int // how many may wait that have shown nothing yet
	open       atomic.Int64
	mu         sync.Mutex
	by         map[netip.Addr]*addressConns
	visits     map[net.Conn]*openConn   // of those that are counted
	waiting    list.List                // of *openConn that may have to make room, in the order in which they came
	lately     map[netip.Addr]time.Time // when an address brought its last verified webhook
}

// addressConns are the connections of one address.
type addressConns struct {
	open    int
	waiting list.List // as in Connections
}

// An openConn is a connection of Connections.
type openConn struct {
	conn             net.Conn
	who              netip.Addr
	ofAll, ofAddress *list.Element // where it waits; nil for who brought a verified webhook, and for proxies
	partner          bool          // it brought a verified webhook
}

// For how long, and of how many addresses, it is known that they brought a verified webhook.
const (
	knownFor  = time.Hour
	mostKnown = 4096
)

// NewConnections holds at most so many, so many of one address, and so many that have shown nothing yet.
func NewConnections(most, each, strangers int) *Connections {
	return &Connections{
		most: most, each: each, strangers: strangers,
		by: map[netip.Addr]*addressConns{}, visits: map[net.Conn]*openConn{}, lately: map[netip.Addr]time.Time{},
	}
}

// Opened counts a connection in, and closes the one that made room for it.
func (l *Connections) Opened(c net.Conn, proxies []netip.Prefix) (turned netip.Addr, welcome bool) {
	from := addrPort(c).Addr()
	ended, welcome := l.enter(c, from, trusted(from, proxies))
	switch {
	case !welcome:
		return from, false
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
// one that made room, and is counted no more; nil for none.
func (l *Connections) enter(c net.Conn, from netip.Addr, proxy bool) (ended net.Conn, welcome bool) {
	v := &openConn{conn: c, who: AddressBlock(from)}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.by[v.who]
	if own == nil {
		own = new(addressConns)
	}
	full := true
	var longest *openConn
	switch {
	case !proxy && own.open >= l.each:
		longest = first(&own.waiting)
	case int(l.open.Load()) >= l.most || (!proxy && l.waiting.Len() >= l.strangers):
		longest = l.longest()
	default:
		full = false
	}
	if full {
		if longest == nil {
			return nil, false
		}
		l.forget(longest)
		ended = longest.conn
	}
	l.by[v.who] = own // after what made room, which may have been its last
	l.visits[c] = v
	l.open.Add(1)
	own.open++
	if !proxy {
		v.ofAll, v.ofAddress = l.waiting.PushBack(v), own.waiting.PushBack(v)
	}
	return ended, true
}

// first is who has waited longest; nil for nobody.
func first(waiting *list.List) *openConn {
	if at := waiting.Front(); at != nil {
		return at.Value.(*openConn) // the lists hold nothing else
	}
	return nil
}

// longest is who has waited longest: of unknown addresses with more than a few open; else of all but known ones with a few; else
// of all.
func (l *Connections) longest() *openConn {
	var other *openConn
	for at := l.waiting.Front(); at != nil; at = at.Next() {
		v := at.Value.(*openConn) // the list holds nothing else
		many, known := l.by[v.who].open > few, l.known(v.who)
		if many && !known {
			return v
		}
		if other == nil && (many || !known) {
			other = v
		}
	}
	if other == nil {
		other = first(&l.waiting)
	}
	return other
}

func (l *Connections) known(who netip.Addr) bool {
	at, ok := l.lately[who]
	return ok && time.Since(at) < knownFor
}

// Proven reports whether a connection brought a verified webhook, and whether its sender brought one lately by any. who is whom a proxy
// asks for, else the connection's own neighbourhood.
func (l *Connections) Proven(c net.Conn, who netip.Addr) (itself, lately bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.visits[c]
	return v != nil && v.partner, l.known(who)
}

// NoteProven keeps the place of a connection that brought a verified webhook, and knows its sender from now on.
func (l *Connections) NoteProven(c net.Conn, who netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.visits[c]; v != nil && v.ofAll != nil { // a proxy has no place
		l.unwait(v)
		v.partner = true
	}
	if _, ok := l.lately[who]; !ok && len(l.lately) >= mostKnown {
		for one := range l.lately {
			delete(l.lately, one) // any
			break
		}
	}
	l.lately[who] = time.Now()
}

// unwait takes a connection out of those that make room.
func (l *Connections) unwait(v *openConn) {
	if v.ofAll != nil {
		l.waiting.Remove(v.ofAll)
		l.by[v.who].waiting.Remove(v.ofAddress)
		v.ofAll, v.ofAddress = nil, nil
	}
}

// forget counts a connection out.
func (l *Connections) forget(v *openConn) {
	l.unwait(v)
	delete(l.visits, v.conn)
	l.open.Add(-1)
	own := l.by[v.who]
	if own.open--; own.open == 0 {
		delete(l.by, v.who)
	}
}

// Closed is told of every connection that ended, also of those that were not welcome or made room.
func (l *Connections) Closed(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.visits[c]; v != nil {
		l.forget(v)
	}
}

// OverLimit reports that connections run short, so that none should be kept for later.
func (l *Connections) OverLimit() bool { return l.most > 0 && int(l.open.Load()) > l.most/4*3 }

// Counts are how many connections there are, of how many addresses, and how many of them may have to make room.
func (l *Connections) Counts() (connections, addresses, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.visits), len(l.by), l.waiting.Len()
}
