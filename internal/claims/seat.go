package claims

import "sync/atomic"

// A Seat is a worker's place in the loop, with the item that it works on. The zero value belongs to no
// loop: it is for work that was not claimed.
type Seat struct {
	Number int // of the worker, from 0

	holding        *holding
	urgent         bool
	queued, called bool
}

func (s *Seat) take(urgent bool) { s.urgent, s.queued, s.called = urgent, true, false }

// Left notes that the item does not wait for the rate any more. Saying it twice does no harm.
func (s *Seat) Left() {
	if !s.queued {
		return
	}
	s.queued = false
	if h := s.holding; h.lane(&h.queued, s.urgent).Add(-1) == 0 && h.cramped.Load() {
		h.ring()
	}
}

// Called notes that only the outcome remains to be stored: another item may be claimed. Saying it
// twice does no harm.
func (s *Seat) Called() {
	if s.Left(); s.called || s.holding == nil {
		return
	}
	s.called = true
	s.holding.storing.Add(1)
	s.holding.lane(&s.holding.taken, s.urgent).Add(-1)
	s.holding.offer()
}

// free ends the work on the item.
func (s *Seat) free() {
	s.Called()
	s.holding.storing.Add(-1)
	s.holding.offer()
}

// pair counts by lane.
type pair struct{ urgent, marketing atomic.Int32 }

// holding counts what is in hand, and remembers what the loop waits for.
type holding struct {
	seats   Lanes
	workers int
	ring    func()

	taken   pair         // claimed, and not called yet
	queued  pair         // claimed, and not let go by the rate yet
	storing atomic.Int32 // called, and the outcome is not stored yet

	// Ring the loop when so many seats are idle, or those of them that marketing may fill; 0 is
	// never. cramped: ring when nothing of a lane is queued any more.
	wantIdle, wantMarketing atomic.Int32
	cramped                 atomic.Bool
}

func (h *holding) lane(p *pair, urgent bool) *atomic.Int32 {
	if urgent {
		return &p.urgent
	}
	return &p.marketing
}

func (h *holding) begin(urgent bool) {
	h.lane(&h.taken, urgent).Add(1)
	h.lane(&h.queued, urgent).Add(1)
}

// now is how many seats are taken.
func (h *holding) now() Lanes {
	return Lanes{int(h.taken.urgent.Load()), int(h.taken.marketing.Load())}
}

// hands is how many items are in hand altogether.
func (h *holding) hands() int {
	held := h.now()
	return held.Urgent + held.Marketing + int(h.storing.Load())
}

// idle is how many more items could be taken in hand, and how many of them of marketing.
func (h *holding) idle() Lanes {
	held := h.now()
	taken := held.Urgent + held.Marketing
	all := min(h.seats.Urgent-taken, h.workers-taken-int(h.storing.Load()))
	return Lanes{all, min(all, h.seats.Marketing-held.Marketing)}
}

// room is what is left of the room in the rate by what is queued for it. What marketing has queued is
// not in the way of urgent items, which the rate lets go first.
func (h *holding) room(rate int) Lanes {
	urgent := rate - int(h.queued.urgent.Load())
	return Lanes{urgent, urgent - int(h.queued.marketing.Load())}
}

// expect sets what the loop waits for; zeros and false are nothing.
func (h *holding) expect(idle Lanes, cramped bool) {
	h.wantIdle.Store(int32(idle.Urgent))
	h.wantMarketing.Store(int32(idle.Marketing))
	h.cramped.Store(cramped)
}

// offer rings the loop when a seat given back is what it waits for.
func (h *holding) offer() {
	all, marketing := int(h.wantIdle.Load()), int(h.wantMarketing.Load())
	if all == 0 && marketing == 0 {
		return
	}
	if idle := h.idle(); all > 0 && idle.Urgent >= all || marketing > 0 && idle.Marketing >= marketing {
		h.ring()
	}
}
