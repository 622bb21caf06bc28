package pace

import (
	"sync/atomic"
	"time"
)

// A meter remembers how many requests left in each of the last seconds, so that trouble under
// no configured rate knows which rate it was that met trouble. It costs one atomic addition
// a request; a count lost while a slot changes its second is accepted.
type meter struct {
	slots [8]atomic.Uint64 // second << 24 | count
}

const countBits = 24

func (m *meter) add(now time.Time) {
	second := uint64(now.Unix())
	slot := &m.slots[second%uint64(len(m.slots))]
	if was := slot.Load(); was>>countBits == second {
		slot.Add(1)
	} else {
		slot.CompareAndSwap(was, second<<countBits|1)
	}
}

// busiest is the most requests that left in any one of the last seconds, this one included.
func (m *meter) busiest(now time.Time) float64 {
	second, most := uint64(now.Unix()), uint64(0)
	for i := range m.slots {
		v := m.slots[i].Load()
		if second-v>>countBits < uint64(len(m.slots)) {
			most = max(most, v&(1<<countBits-1))
		}
	}
	return float64(most)
}
