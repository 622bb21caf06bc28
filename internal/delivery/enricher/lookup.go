package enricher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// lookUp takes one pending event to its plan, or puts it off. ctx done means that we are
// stopping; asking bounds the GETs, recording the commits.
func (n *Enricher) lookUp(ctx, asking, recording context.Context, l messaging.PendingLookup) {
	defer func() {
		if broken := recover(); broken != nil {
			// The lease ends by itself and the attempts are counted, so this ends, too.
			n.Log.Error("a panic while looking up", zap.String("request", l.Event.Request), zap.Int64("event", int64(l.EventID)), zap.Any("panic", broken), zap.ByteString("stack", debug.Stack()))
		}
	}()
	rules := n.Rules()
	event := l.Event
	err := n.fill(asking, &rules, &event)
	now := n.Now()
	if err == nil {
		n.plan(recording, l, match(rules.Receivers[l.Connector], rules.Triggers, &event, now))
		return
	}
	var again time.Time
	free := false
	if failed, ok := errors.AsType[*FetchError](err); ok && !failed.Final {
		free = failed.Free
		pause := backoff.Next(l.Attempt, firstPause, maxPause, n.Jitter())
		if free {
			pause = 0
		}
		again = now.Add(max(pause, failed.RetryAfter))
	}
	if asking.Err() != nil { // it was us who cut it
		again, free, err = now, true, errors.New("was not looked up: the daemon stopped meanwhile")
	}
	switch {
	case again.IsZero():
		n.giveUp(recording, &rules, l, &event, err.Error())
	case !free && l.Attempt >= n.Attempts:
		n.giveUp(recording, &rules, l, &event, fmt.Sprintf("%v; given up after %d attempts", err, l.Attempt))
	case again.Sub(l.Since) > n.GiveUp && asking.Err() == nil:
		n.giveUp(recording, &rules, l, &event, fmt.Sprintf("%v; given up %s after the webhook", err, now.Sub(l.Since).Round(time.Second)))
	default:
		n.putOff(ctx, recording, messaging.LookupRetry{EventID: l.EventID, Attempt: l.Attempt, At: again, Reason: err.Error(), Free: free})
	}
}

// fill fetches and joins until the event needs nothing more. What joined before an error
// stays in the event.
func (n *Enricher) fill(asking context.Context, rules *Rules, event *messaging.Event) error {
	c := rules.Receivers[event.Connector]
	if c == nil {
		return fmt.Errorf("was not looked up: the config has no connector %q any more", event.Connector)
	}
	for range maxSteps {
		next, needed, err := c.Lookup(*event)
		if err != nil || !needed {
			return err
		}
		answer, err := n.Fetcher.Fetch(asking, next)
		if err != nil {
			return err
		}
		joined, err := c.Join(*event, next.Into, answer)
		if err != nil {
			return fmt.Errorf("could not be looked up at %s: %w", next.Host, err)
		}
		*event = joined
	}
	return fmt.Errorf("was not found in %d look-ups", maxSteps)
}

// giveUp plans the event without what was to be looked up.
func (n *Enricher) giveUp(recording context.Context, rules *Rules, l messaging.PendingLookup, event *messaging.Event, reason string) {
	n.Log.Warn("look-up given up", zap.String("request", l.Event.Request), zap.Int64("event", int64(l.EventID)), zap.String("connector", l.Connector),
		zap.Int("attempt", l.Attempt), zap.String("reason", mask.Text(reason)))
	n.plan(recording, l, without(rules.Receivers[l.Connector], rules.Triggers, event, reason, n.Now()))
}

// plan hands a plan to the store, again and again while that is in trouble: until the lease
// has ended, what was fetched need not be fetched again.
func (n *Enricher) plan(recording context.Context, l messaging.PendingLookup, plan messaging.Plan) {
	n.record(recording, l.EventID, func(ctx context.Context) error {
		receipt, err := n.Store.Complete(ctx, l, plan)
		if err == nil {
			TellDecisions(n.Log, plan.Event.Request, &receipt)
		}
		return err
	})
}

func (n *Enricher) putOff(ctx, recording context.Context, r messaging.LookupRetry) {
	if ctx.Err() == nil {
		n.Log.Info("look-up put off", zap.Int64("event", int64(r.EventID)), zap.Int("attempt", r.Attempt),
			zap.Time("again_at", r.At), zap.String("reason", mask.Text(r.Reason)))
	}
	n.record(recording, r.EventID, func(ctx context.Context) error { return n.Store.RetryLookup(ctx, r) })
}

// recordTries is how often an end is offered to a store in trouble.
const recordTries = 6

func (n *Enricher) record(ctx context.Context, id messaging.EventID, commit func(context.Context) error) {
	for failures := 1; ; failures++ {
		err := commit(ctx)
		if err == nil {
			return
		}
		if errors.Is(err, messaging.ErrClaimLost) || ctx.Err() != nil || failures == recordTries {
			n.Log.Error("the end of a look-up was not stored; it is due again when its lease ends",
				zap.Int64("event", int64(id)), zap.Error(err))
			return
		}
		backoff.Sleep(ctx, backoff.Next(failures, 50*time.Millisecond, 5*time.Second, n.Jitter()))
	}
}
