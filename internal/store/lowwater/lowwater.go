// Package lowwater remembers for claims where a backlog of halted messages ends, so that it is walked once and not at each claim.
package lowwater

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// trustFor is how long a claim trusts what earlier ones left behind. It bounds how late an
// expired message that is halted is dropped.
const trustFor = int64(time.Minute / time.Microsecond)

// Marks are the low-water marks of claims: for each account and lane a due time before which every waiting message is
// halted, so that a backlog of them is walked once and not at each claim. They only save work: zero is right at any
// time, and nil is always zero. Times are microseconds.
type Marks struct {
	accounts atomic.Pointer[[]*accountMarks] // replaced whole by the one goroutine that claims
}

type accountMarks struct {
	name      string
	at, since [len(messaging.Lanes)]atomic.Int64 // since is by the claims' clock
}

func (w *Marks) of(account string) *accountMarks {
	if w == nil {
		return nil
	}
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

// Held is the mark of an account's lane, however old: whatever is left waiting before it, or let go, lowers it. It is for who asks when
// something may go. Only a claim has to look behind it now and then, for what expires there.
func (w *Marks) Held(account string, lane int) int64 {
	m := w.of(account)
	if m == nil {
		return 0
	}
	return m.at[lane].Load()
}

// From is the mark of an account's lane for a claim; 0 where it is old.
func (w *Marks) From(account string, lane int, now int64) int64 {
	m := w.of(account)
	if m == nil || m.old(lane, now) {
		return 0
	}
	return m.at[lane].Load()
}

func (m *accountMarks) old(lane int, now int64) bool {
	since := m.since[lane].Load()
	return now-since >= trustFor || now < since
}

// Raise takes in what a claim found from the mark on: when the earliest was due, or now where nothing is.
func (w *Marks) Raise(account string, lane int, now, due int64) {
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
	m.at[lane].Store(due)
}

// Lower is called for whatever is left waiting.
func (w *Marks) Lower(account string, at int64) {
	if w == nil || w.accounts.Load() == nil {
		return
	}
	for _, m := range *w.accounts.Load() {
		for lane := range m.at {
			if (account == messaging.EveryAccount || account == m.name) && m.at[lane].Load() > at {
				m.at[lane].Store(at)
			}
		}
	}
}
