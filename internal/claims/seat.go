package claims

import "sync/atomic"

// A Seat is a worker's place in the loop, with the item that it works on. The zero value belongs to no
// loop: it is for work that was not claimed.
type Seat struct {
	Number int // of the worker, from 0

	holding        *holding
	lane           int
	queued, called bool
}

func (s *Seat) takeLane(lane int) { s.lane, s.queued, s.called = lane, true, false }

// Left notes that the item does not wait for the rate any more. Saying it twice does no harm.
func (s *Seat) Left() {
	if !s.queued {
		return
	}
	s.queued = false
	if h := s.holding; h.queued[s.lane].Add(-1) == 0 && h.cramped.Load() {
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
	s.holding.storing[s.lane].Add(1)
	s.holding.taken[s.lane].Add(-1)
	s.holding.offer()
}

// free ends the work on the item.
func (s *Seat) free() {
	s.Called()
	if s.holding.storing[s.lane].Add(-1); s.holding.probing.Load() {
		s.holding.ring()
	}
	s.holding.offer()
}

// counts are numbers of items by lane that change at any time.
type counts [MaxLanes]atomic.Int32

func (c *counts) now() (n Lanes) {
	for lane := range c {
		n[lane] = int(c[lane].Load())
	}
	return n
}

// holding counts what is in hand, and remembers what the loop waits for.
type holding struct {
	seats   Lanes
	workers int
	ring    func()

	taken   counts // claimed, and not called yet
	queued  counts // claimed, and not let go by the rate yet
	storing counts // called, and the outcome is not stored yet

	// Ring the loop when a lane may fill so many seats that are idle; 0 is never. cramped: ring when nothing of a
	// lane is queued any more. probing: ring when an item was worked off.
	wantIdle counts
	cramped  atomic.Bool
	probing  atomic.Bool
}

func (h *holding) begin(lane int) {
	h.taken[lane].Add(1)
	h.queued[lane].Add(1)
}

// hands is how many items of those lanes are in hand.
func (h *holding) hands(of [MaxLanes]bool) (n int) {
	for lane := range of {
		if of[lane] {
			n += int(h.taken[lane].Load()) + int(h.storing[lane].Load())
		}
	}
	return n
}

// idle is how many more items of each lane could be taken in hand.
func (h *holding) idle() (n Lanes) {
	held := h.taken.now()
	all := min(h.seats[0]-held.from(0), h.workers-held.from(0)-h.storing.now().from(0))
	for lane := range n {
		n[lane] = min(all, h.seats[lane]-held.from(lane))
	}
	return n
}

// room is what is left of the room in the rate by what is queued for it. What a lane has queued is not in the
// way of those before it, which the rate lets go first.
func (h *holding) room(rate int) (n Lanes) {
	for lane, queued := range h.queued.now() {
		rate -= queued
		n[lane] = rate
	}
	return n
}

// expect sets what the loop waits for; zeros and false are nothing.
func (h *holding) expect(idle Lanes, cramped, probing bool) {
	for lane := range idle {
		h.wantIdle[lane].Store(int32(idle[lane]))
	}
	h.cramped.Store(cramped)
	h.probing.Store(probing)
}

// offer rings the loop when a seat given back is what it waits for.
func (h *holding) offer() {
	want := h.wantIdle.now()
	if want == (Lanes{}) {
		return
	}
	idle := h.idle()
	for lane := range want {
		if want[lane] > 0 && idle[lane] >= want[lane] {
			h.ring()
			return
		}
	}
}
