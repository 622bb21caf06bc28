package tracker

import (
	"context"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
)

// Trouble of the account may be told by statuses alone: the service takes a message and says later
// that there were no points for it. Until the first look of the schedule a thousand more may be
// taken. So now and then one message, the scout, is looked at early, and again at doubling ages
// until it is sent, ends, or its first look of the schedule comes.
//
// Its row knows nothing of that, and only an end is recorded. The rejected design gave it an earlier
// first look in the store: that would have stood behind all that is due, which at full
// rate is a minute's worth, and each look would have cost a commit.

const (
	scoutAge   = 250 * time.Millisecond // of a scout at its first look
	scoutEvery = 250 * time.Millisecond // between two scouts, at the least
	scoutLooks = 5                      // requests that a scout costs at the most
	scoutShare = 10                     // one request in so many is a scout's look
	mostScouts = 32                     // at a time
)

// Scout takes a message that was just accepted for a scout, if it is time for one. It never blocks.
func (t *Tracker) Scout(m *nudgewire.Message) {
	if !m.Tracked() || m.Final {
		return
	}
	every := scoutEvery
	if rate := t.Budget.Configured(); rate > 0 {
		every = max(every, time.Duration(scoutLooks*scoutShare/rate*float64(time.Second)))
	}
	last, at := t.scouted.Load(), m.AcceptedAt.UnixNano()
	if at >= last && at-last < int64(every) || !t.scouted.CompareAndSwap(last, at) {
		return
	}
	select {
	case t.scouts <- *m:
	default: // the looks are slow; those under way will tell
	}
}

// scoutAll follows scouts until ctx is done.
func (t *Tracker) scoutAll(ctx, working context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	places := make(chan struct{}, mostScouts)
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-t.scouts:
			select {
			case places <- struct{}{}:
				under.Go(func() {
					defer func() { <-places }()
					t.scout(ctx, working, &m)
				})
			case <-ctx.Done():
				return
			}
		}
	}
}

// scout looks at one message until its schedule begins.
func (t *Tracker) scout(ctx, working context.Context, m *nudgewire.Message) {
	age := scoutAge
	for range scoutLooks {
		if age >= t.plan.Load().Schedule[0] {
			return
		}
		if backoff.Sleep(ctx, m.AcceptedAt.Add(age).Sub(t.now())); ctx.Err() != nil {
			return
		}
		age *= 2
		poll, asked := t.ask(ctx, working, m, &claims.Seat{})
		switch {
		case !asked:
			return
		case poll.Final:
			t.record(working, m, poll)
			return
		case t.Reported != nil:
			t.Reported(m, &poll)
		}
		if s := poll.Status; s == nudgewire.StatusSent || s == nudgewire.StatusDelivered {
			return // there were points for it
		}
	}
}
