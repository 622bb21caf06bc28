package webhooks

import (
	"container/list"
	"net/netip"
	"sync"
	"sync/atomic"
)

// What the door holds for a request is charged before anything is verified, so it is charged by what has come and not by what
// was announced, and to the address that it came from. Where memory runs short, or an address has its share of it, the body that
// has been read longest without a proof makes room for the next: slow strangers then hold each other's memory, and an ordinary
// webhook, which needs its own for milliseconds, is read and verified long before it would be its turn.
const (
	// requestCharge is what a request weighs beside its body: connection buffers and a stack.
	requestCharge = 16 << 10
	// shareOf is the part of all memory that one address may hold: a quarter. As much is kept for small bodies, and for those
	// who proved themselves lately.
	shareOf = 4
	// smallest is what a request with a body of 64 kB weighs: most webhooks have less.
	smallest = requestCharge + 64<<10
)

// A standing is what is known of a sender before its request is verified. A body makes room for those of its own standing, and of
// those above.
type standing int

const (
	stranger  standing = iota
	neighbour          // from an address that brought a verified webhook lately
	partner            // on a connection that brought one
	standings
)

// standingOf is by what the connection proved itself, and what its sender proved lately by any.
func standingOf(itself, lately bool) standing {
	switch {
	case itself:
		return partner
	case lately:
		return neighbour
	default:
		return stranger
	}
}

// A budget is the memory of the door.
type budget struct {
	most    int64
	mu      sync.Mutex
	held    int64
	by      map[netip.Addr]*tenant
	reading [standings]list.List // of *holding whose body is being read, in the order in which they came
}

// A tenant is an address that holds memory.
type tenant struct {
	held    int64
	reading [standings]list.List // as in budget
}

// A holding is what one request holds of a budget. Its end gives it back.
type holding struct {
	of       *budget
	who      netip.Addr
	standing standing
	biggest  int64       // the most that one request of this sort may need: a share is never less, or it could not be taken at all
	cut      func()      // wakes whoever reads the body
	evicted  atomic.Bool // it made room: nothing is held any more

	// Guarded by of.mu. The elements are its places among those that are being read; nil once that is over.
	n               int64
	tenant          *tenant
	ofAll, ofTenant *list.Element

	cutting sync.Mutex // held while cut runs, so that it never meets the next request of the connection
	over    bool       // the body was read, or given up; guarded by cutting
}

// more charges n bytes. Others that are being read may have to make room for them.
func (h *holding) more(n int64) (why shedReason, ok bool) {
	why, ok, ended := h.of.take(h, n)
	for _, one := range ended {
		one.wake()
	}
	return why, ok
}

// wake tells whoever reads the body that it made room.
func (h *holding) wake() {
	h.cutting.Lock()
	defer h.cutting.Unlock()
	if !h.over && h.cut != nil {
		h.cut()
	}
}

// done says that the body was read, or given up: from now on it makes no room for others.
func (h *holding) done() {
	h.of.mu.Lock()
	h.settle()
	h.of.mu.Unlock()
	h.cutting.Lock()
	h.over = true
	h.cutting.Unlock()
}

// end gives back what is held.
func (h *holding) end() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.release(h)
}

// settle takes a holding out of those that make room.
func (h *holding) settle() {
	if h.ofAll != nil {
		h.of.reading[h.standing].Remove(h.ofAll)
		h.tenant.reading[h.standing].Remove(h.ofTenant)
		h.ofAll, h.ofTenant = nil, nil
	}
}

// take charges n bytes to a holding, and takes from others what they hold where it has to. ended are those.
func (b *budget) take(h *holding, n int64) (why shedReason, ok bool, ended []*holding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.evicted.Load() {
		return shedUnproven, false, nil
	}
	whole := requestCharge + h.biggest + 1 // one more, to see that it is longer
	for share := max(b.most/shareOf, whole); b.heldBy(h.who)+n > share; {
		var one *holding
		if own := b.by[h.who]; own != nil {
			one = oldest(&own.reading, h)
		}
		if one == nil {
			return shedShare, false, ended
		}
		b.evict(one)
		ended = append(ended, one)
	}
	most := b.most
	if h.standing == stranger && h.n+n > smallest {
		most = max(most-most/shareOf, min(most, whole))
	}
	for b.held+n > most {
		one := oldest(&b.reading, h)
		if one == nil {
			return shedMemory, false, ended
		}
		b.evict(one)
		ended = append(ended, one)
	}
	if h.n == 0 {
		if h.tenant = b.by[h.who]; h.tenant == nil {
			h.tenant = new(tenant)
			b.by[h.who] = h.tenant
		}
		h.ofAll, h.ofTenant = b.reading[h.standing].PushBack(h), h.tenant.reading[h.standing].PushBack(h)
	}
	b.held += n
	h.tenant.held += n
	h.n += n
	return 0, true, ended
}

func (b *budget) heldBy(who netip.Addr) int64 {
	if t := b.by[who]; t != nil {
		return t.held
	}
	return 0
}

// oldest is the holding that has been read longest, of those with the least standing and none above that of h; nil for none but h.
func oldest(reading *[standings]list.List, h *holding) *holding {
	for s := stranger; s <= h.standing; s++ {
		for at := reading[s].Front(); at != nil; at = at.Next() {
			if one := at.Value.(*holding); one != h { // the lists hold nothing else
				return one
			}
		}
	}
	return nil
}

// evict takes from a holding all that it holds. Whoever reads its body learns of it by the next read.
func (b *budget) evict(h *holding) {
	h.evicted.Store(true)
	b.release(h)
}

// release gives back all that a holding has.
func (b *budget) release(h *holding) {
	h.settle()
	if h.n == 0 {
		return
	}
	b.held -= h.n
	if h.tenant.held -= h.n; h.tenant.held == 0 {
		delete(b.by, h.who)
	}
	h.n = 0
}
