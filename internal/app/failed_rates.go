package app

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// The share of messages that failed is counted over windows, and the store counts since the data began. So the daemon
// notes the totals at each look: what ended in a window is the difference of two notes. After a start a window
// begins empty.

// A failedWindow is a window, and which share in it is too many.
type failedWindow struct {
	subject string // as server.FailedRateView has it
	above   float64
	over    time.Duration
}

// usualRate is looked at where nobody names another.
var usualRate = failedWindow{above: 10, over: 15 * time.Minute}

// A note is the totals at a time.
type note struct {
	at            time.Time
	failed, ended int64
}

// failedRates are the windows. The zero value looks at the usual one.
type failedRates struct {
	mu    sync.Mutex
	of    []failedWindow
	notes []note // the oldest first
	above map[failedWindow]time.Time
}

// use has it look at these, and at the usual one where there are none.
func (f *failedRates) use(of []failedWindow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of = of
}

// windows are those that are looked at. f.mu is held.
func (f *failedRates) windows() []failedWindow {
	if len(f.of) == 0 {
		return []failedWindow{usualRate}
	}
	return f.of
}

// noteTotals notes the totals of the store. A clock that was set back makes it begin anew.
func (f *failedRates) noteTotals(totals map[string]int64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := totals["messages_rejected"] + totals["messages_failed"]
	one := note{now, failed, failed + totals["messages_delivered"]}
	if n := len(f.notes); n > 0 && (now.Before(f.notes[n-1].at) || one.ended < f.notes[n-1].ended) {
		f.notes = nil
	}
	longest := slices.MaxFunc(f.windows(), func(a, b failedWindow) int { return cmp.Compare(a.over, b.over) }).over
	for len(f.notes) > 1 && !f.notes[1].at.After(now.Add(-longest)) {
		f.notes = f.notes[1:] // one that is as old as the longest window stays
	}
	f.notes = append(f.notes, one)
	for _, r := range f.windows() {
		switch v := f.view(r); {
		case !v.TooMany():
			delete(f.above, r)
		case f.above[r].IsZero():
			if f.above == nil {
				f.above = map[failedWindow]time.Time{}
			}
			f.above[r] = now
		}
	}
}

// view is a window as it ends with the newest note. f.mu is held.
func (f *failedRates) view(r failedWindow) server.FailedRateView {
	v := server.FailedRateView{Subject: r.subject, Above: r.above, Over: r.over, Since: f.above[r]}
	if len(f.notes) == 0 {
		return v
	}
	last := f.notes[len(f.notes)-1]
	first := f.notes[0]
	for _, one := range f.notes {
		if one.at.After(last.at.Add(-r.over)) {
			break
		}
		first = one
	}
	v.Failed, v.Ended = last.failed-first.failed, last.ended-first.ended
	return v
}

// views are all windows, in which something ended.
func (f *failedRates) views() (out []server.FailedRateView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.windows() {
		if v := f.view(r); v.Ended > 0 {
			out = append(out, v)
		}
	}
	return out
}

// rateLook is how often the totals are noted.
const rateLook = 15 * time.Second

// watchFailedRates notes the totals, again and again.
func (a *App) watchFailedRates(ctx context.Context) error {
	tick := time.NewTicker(rateLook)
	defer tick.Stop()
	for {
		if totals, err := (report.Records{Store: a.store}).Totals(ctx); err == nil {
			a.rates.noteTotals(totals, a.store.Now())
		} else if ctx.Err() == nil {
			a.log.Warn("count what failed", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// whole reports whether the notes go back over the whole window of that subject, so that what they do not show is
// not there.
func (f *failedRates) whole(subject string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.windows() {
		if r.subject == subject {
			return len(f.notes) > 0 && f.notes[len(f.notes)-1].at.Sub(f.notes[0].at) >= r.over
		}
	}
	return true
}
