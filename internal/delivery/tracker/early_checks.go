package tracker

import (
	"context"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Trouble of the account may be told by statuses alone: the service takes a message and says later
// that there were no points for it. Until the first look of the schedule a thousand more may be
// taken. So now and then one message is looked at early, and again at doubling ages
// until it is sent, ends, or its first look of the schedule comes.
//
// Its row knows nothing of that, and only an end is recorded. The rejected design gave it an earlier
// first look in the store: that would have stood behind all that is due, which at full
// rate is a minute's worth, and each look would have cost a commit.

const (
	firstAge   = 250 * time.Millisecond // of a message at its first look
	earlyEvery = 250 * time.Millisecond // between two such messages, at the least
	earlyLooks = 5                      // requests for one message, at the most
	earlyShare = 10                     // one request in so many is such a look
	maxEarly   = 32                     // at a time
)

// CheckEarly takes a message that was just accepted for an early check, if it is time for one. It never blocks.
func (t *Tracker) CheckEarly(m *messaging.Message) {
	if !m.Tracked() || m.Final {
		return
	}
	every := earlyEvery
	if rate := t.Budget.Configured(); rate > 0 {
		every = max(every, time.Duration(earlyLooks*earlyShare/rate*float64(time.Second)))
	}
	last, at := t.earlyAt.Load(), m.AcceptedAt.UnixNano()
	if at >= last && at-last < int64(every) || !t.earlyAt.CompareAndSwap(last, at) {
		return
	}
	select {
	case t.early <- *m:
	default: // the looks are slow; those under way will tell
	}
}

// checkAllEarly makes early checks until ctx is done.
func (t *Tracker) checkAllEarly(ctx, calling, recording context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	places := make(chan struct{}, maxEarly)
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-t.early:
			select {
			case places <- struct{}{}:
				under.Go(func() {
					defer func() { <-places }()
					t.checkEarly(ctx, calling, recording, &m)
				})
			case <-ctx.Done():
				return
			}
		}
	}
}

// checkEarly looks at one message until its schedule begins.
func (t *Tracker) checkEarly(ctx, calling, recording context.Context, m *messaging.Message) {
	age := firstAge
	for range earlyLooks {
		if age >= t.plan.Load().Schedule[0] {
			return
		}
		if backoff.Sleep(ctx, m.AcceptedAt.Add(age).Sub(t.Now())); ctx.Err() != nil {
			return
		}
		age *= 2
		poll, asked := t.ask(ctx, calling, m, &claims.Seat{})
		switch {
		case !asked:
			return
		case poll.Final:
			t.record(recording, m, poll)
			return
		case t.Reported != nil:
			t.Reported(m, &poll)
		}
		if s := poll.Status; s == messaging.StatusSent || s == messaging.StatusDelivered {
			return // there were points for it
		}
	}
}
