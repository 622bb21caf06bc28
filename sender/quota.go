package sender

import "sync/atomic"

// lanes are two numbers of dispatches.
type lanes struct{ urgent, marketing int }

// quota is how many dispatches of each lane to claim: never more than there are seats for, nor
// than there is room for in the rate; room.marketing is what both lanes may take together
// when marketing takes any. seats.urgent is all seats, seats.marketing those that marketing may
// fill; held is what is in hand; want says which lanes may have something due, and full that
// urgent had more than was asked for last time.
//
// The two answers together never pass the free seats. As long as urgent is not known to be
// full it is asked for with the seats that are its own, and marketing with the rest; when it
// is full it may fill all but a quarter.
func quota(seats, held lanes, wantUrgent, wantMarketing, full bool, room lanes) lanes {
	idle := max(0, seats.urgent-held.urgent-held.marketing)
	marketing := 0
	if wantMarketing {
		marketing = max(0, min(idle, seats.marketing-held.marketing, room.marketing))
	}
	urgent := 0
	if wantUrgent {
		switch {
		case full || marketing == 0:
			marketing = min(marketing, max(0, seats.urgent/4-held.marketing))
			urgent = idle - marketing
		default:
			urgent = idle - marketing
			if urgent == 0 && idle > 1 {
				urgent, marketing = 1, marketing-1 // urgent overflowed into the shared seats before
			}
		}
	}
	urgent = max(0, min(urgent, room.urgent))
	return lanes{urgent, max(0, min(marketing, room.marketing-urgent))}
}

// holding counts what is in hand, and remembers what the dispatching loop waits for.
type holding struct {
	seats   lanes // for claims up to the end of their call
	workers int   // for those and for claims whose outcome is being stored

	urgent, marketing atomic.Int32 // claimed, and the call has not ended
	storing           atomic.Int32 // the call has ended, its outcome is not stored yet

	queuedUrgent, queuedMarketing atomic.Int32 // claimed, and not let go by the budget yet

	// Ring the loop when so many seats are idle, or those of them that marketing may fill;
	// 0 is never. cramped: ring when nothing of a lane is queued any more.
	wantIdle, wantMarketing atomic.Int32
	cramped                 atomic.Bool
}

// now is how many seats are taken.
func (h *holding) now() lanes {
	return lanes{int(h.urgent.Load()), int(h.marketing.Load())}
}

// hands is how many claims are in hand altogether.
func (h *holding) hands() int {
	held := h.now()
	return held.urgent + held.marketing + int(h.storing.Load())
}

// idle is how many more claims could be taken in hand, and how many of them of marketing.
func (h *holding) idle() lanes {
	held := h.now()
	taken := held.urgent + held.marketing
	all := min(h.seats.urgent-taken, h.workers-taken-int(h.storing.Load()))
	return lanes{all, min(all, h.seats.marketing-held.marketing)}
}

func (h *holding) lane(urgent bool) *atomic.Int32 {
	if urgent {
		return &h.urgent
	}
	return &h.marketing
}

func (h *holding) queue(urgent bool) *atomic.Int32 {
	if urgent {
		return &h.queuedUrgent
	}
	return &h.queuedMarketing
}

// room is what is left of the room in the rate by what is queued for it. What marketing has
// queued is not in the way of urgent ones, which the budget lets go first.
func (h *holding) room(rate int) lanes {
	urgent := rate - int(h.queuedUrgent.Load())
	return lanes{urgent, urgent - int(h.queuedMarketing.Load())}
}

// expect sets what the loop waits for; zeros and false are nothing.
func (h *holding) expect(all, marketing int, cramped bool) {
	h.wantIdle.Store(int32(all))
	h.wantMarketing.Store(int32(marketing))
	h.cramped.Store(cramped)
}

// met reports whether a seat given back is what the loop waits for.
func (h *holding) met() bool {
	all, marketing := int(h.wantIdle.Load()), int(h.wantMarketing.Load())
	if all == 0 && marketing == 0 {
		return false
	}
	idle := h.idle()
	return all > 0 && idle.urgent >= all || marketing > 0 && idle.marketing >= marketing
}
