package store

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// lowWaterFor is how long a claim trusts what earlier ones left behind. It bounds how late an
// expired message that is halted is dropped.
const lowWaterFor = int64(time.Minute / time.Microsecond)

// lowWater is the low-water mark of claims: for each account and lane a due time before which every waiting message is
// halted, so that a backlog of them is walked once and not at each claim. It only saves work: zero is right at any
// time, and nil is always zero. Times are microseconds.
type lowWater struct {
	accounts atomic.Pointer[[]*accountMarks] // replaced whole by the one goroutine that claims
}

type accountMarks struct {
	name      string
	at, since [len(messaging.Lanes)]atomic.Int64 // since is by the claims' clock
}

func (w *lowWater) of(account string) *accountMarks {
	all := w.accounts.Load()
	if all == nil {
		return nil
	}
	for _, m := range *all {
		if m.name == account {
			return m
		}
	}
	return nil
}

// from is the mark of an account's lane.
func (w *lowWater) from(account string, lane int, now int64) int64 {
	if w == nil {
		return 0
	}
	m := w.of(account)
	if m == nil || m.old(lane, now) {
		return 0
	}
	return m.at[lane].Load()
}

func (m *accountMarks) old(lane int, now int64) bool {
	since := m.since[lane].Load()
	return now-since >= lowWaterFor || now < since
}

// raise takes in what a claim found from the mark on: the earliest, or nothing that is due.
func (w *lowWater) raise(account string, lane int, now int64, found []claimed) {
	if w == nil {
		return
	}
	m := w.of(account)
	if m == nil {
		m = &accountMarks{name: account}
		more := []*accountMarks{m}
		if all := w.accounts.Load(); all != nil {
			more = append(slices.Clone(*all), m)
		}
		w.accounts.Store(&more)
	}
	if m.old(lane, now) {
		m.since[lane].Store(now)
	}
	if len(found) > 0 {
		now = engine.Micro(found[0].DueAt)
	}
	m.at[lane].Store(now)
}

// lower is called for whatever is left waiting.
func (w *lowWater) lower(account string, at int64) {
	if w == nil || w.accounts.Load() == nil {
		return
	}
	for _, m := range *w.accounts.Load() {
		for lane := range m.at {
			if (account == EveryAccount || account == m.name) && m.at[lane].Load() > at {
				m.at[lane].Store(at)
			}
		}
	}
}
