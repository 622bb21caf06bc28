package tracker

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

const (
	// expireAtOnce is how many messages end at a time, so that others get their turn.
	expireAtOnce = 200

	// expireHands is how many of them share a commit at the most.
	expireHands = 32
)

// expire ends messages whose time has run out by the clock, whether the service answers questions or not: while it does not, their turn to be
// asked about once more may never come. A message that nobody has asked about yet waits for its turn, unless nobody can ask. ctx ends it.
func (t *Tracker) expire(ctx, recording context.Context) {
	for ctx.Err() == nil {
		every := min(max(t.plan.Load().GiveUp/10, time.Second), time.Minute)
		backoff.Sleep(ctx, every)
		for ctx.Err() == nil && t.expireSome(ctx, recording) {
		}
	}
}

// expireSome ends some messages, and reports whether there may be more.
func (t *Tracker) expireSome(ctx, recording context.Context) (more bool) {
	now := t.Now()
	late, err := t.Store.OverduePolls(ctx, now, now.Add(-t.plan.Load().GiveUp), expireAtOnce)
	if err != nil {
		if ctx.Err() == nil {
			t.Log.Error("looking for messages whose time ran out", zap.Error(err))
		}
		return false
	}
	var hands sync.WaitGroup
	places := make(chan struct{}, expireHands)
	ended := true
	var mu sync.Mutex
	for i := range late {
		places <- struct{}{}
		hands.Go(func() {
			defer func() { <-places }()
			if !t.expireOne(recording, &late[i], now) {
				mu.Lock()
				ended = false
				mu.Unlock()
			}
		})
	}
	hands.Wait()
	return ended && len(late) == expireAtOnce
}

func (t *Tracker) expireOne(recording context.Context, m *messaging.Message, now time.Time) (ended bool) {
	poll := t.plan.Load().Next(m, now, nil, t.Jitter())
	if poll.Unasked = true; !poll.Final { // a reload has just made the time longer
		return false
	}
	if m.Polls == 0 {
		poll.Status, poll.Error = messaging.StatusUntracked, "its account left the config before anybody asked about it"
	}
	return t.record(recording, m, poll)
}
