package tracker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// knowledge is what the following loop knows about the store without asking.
type knowledge struct {
	due     bool      // something may be due
	backlog bool      // the last claim got all that it asked for: there is more
	next    time.Time // nothing else is due before; zero when that is not known
}

// follow claims messages that are due for a look and hands them to the workers until ctx is
// done.
func (t *Tracker) follow(ctx, working context.Context) {
	k := knowledge{due: true}
	failures := 0
	for ctx.Err() == nil {
		now := time.Now()
		t.look(&k, now)
		n, until := t.quota(&k, now)
		var err error
		switch {
		case n > 0:
			err = t.claim(working, &k, n)
		case !k.due && k.next.IsZero():
			err = t.foresee(working, &k)
		default:
			t.alarm.Sleep(ctx, until)
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		pause := backoff.Next(failures, 50*time.Millisecond, 10*time.Second, t.Jitter())
		t.Log.Error("claiming messages to ask about", zap.Error(err), zap.Duration("again_in", pause))
		sleep(ctx, pause)
	}
}

// look takes in what the alarm and the clock say.
func (t *Tracker) look(k *knowledge, now time.Time) {
	due, planned := t.alarm.Take(now)
	reached := !k.next.IsZero() && !now.Before(k.next)
	if due || planned || reached {
		k.due = true
	}
	if planned || reached {
		// The alarm keeps only the earliest time: those told behind it are in the store alone.
		k.next = time.Time{}
	}
}

// quota is how many messages to claim now; when that is none, until is when to look again at
// the latest. What it waits for is named to the workers before it is counted: a seat that
// comes free in between rings in vain, which is better than unheard.
func (t *Tracker) quota(k *knowledge, now time.Time) (n int, until time.Time) {
	t.wantIdle.Store(0)
	t.cramped.Store(false)
	until = now.Add(lookAgain)
	if !k.due {
		if !k.next.IsZero() && k.next.Before(until) {
			return 0, k.next
		}
		return 0, until
	}
	seats := cap(t.hands)
	if halted, is := t.halt.State(); is && halted.Until.After(now) {
		return 0, halted.Until
	} else if is {
		t.wantIdle.Store(int32(seats))
		if t.held.Load() > 0 {
			return 0, until
		}
		return 1, until
	}
	room, again := t.Budget.Room(pace.Poll, window)
	if room == 0 {
		return 0, again
	}
	if queued := int(t.queued.Load()); queued >= room {
		t.cramped.Store(true)
		if t.queued.Load() > 0 {
			return 0, until
		}
	} else {
		room -= queued
	}
	// With a backlog and most seats taken, a claim can wait until it is worth its commit.
	enough := 1
	if k.backlog {
		enough = max(1, seats/8)
	}
	t.wantIdle.Store(int32(enough))
	idle := seats - int(t.held.Load())
	if idle < enough {
		return 0, until
	}
	t.wantIdle.Store(0)
	return min(idle, room), until
}

// claim takes messages from the store and hands them to the workers.
func (t *Tracker) claim(ctx context.Context, k *knowledge, n int) error {
	rows, err := t.Store.ClaimPolls(ctx, time.Now(), t.Lease, n)
	if err != nil {
		return err
	}
	for i := range rows {
		t.held.Add(1)
		t.queued.Add(1)
		t.hands <- rows[i]
	}
	k.due = len(rows) >= n
	k.backlog = k.due
	return nil
}

// foresee asks the store when the next look is due.
func (t *Tracker) foresee(ctx context.Context, k *knowledge) error {
	next := time.Now().Add(lookAgain)
	at, ok, err := t.Store.NextPoll(ctx)
	if err != nil {
		return err
	}
	if ok && at.Before(next) {
		next = at
	}
	k.next = next
	return nil
}

// done gives a seat back.
func (t *Tracker) done() {
	held := t.held.Add(-1)
	if want := t.wantIdle.Load(); want > 0 && int32(cap(t.hands))-held >= want {
		t.alarm.Ring()
	}
}

// left notes that a message does not wait for the budget any more.
func (t *Tracker) left() {
	if t.queued.Add(-1) == 0 && t.cramped.Load() {
		t.alarm.Ring()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
