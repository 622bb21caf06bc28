package tracker

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// work asks about messages one by one. ctx done means begin nothing; working bounds calls and
// commits.
func (t *Tracker) work(ctx, working context.Context) {
	for m := range t.hands {
		if poll, asked := t.ask(ctx, working, &m); asked {
			t.record(working, &m, poll)
		}
		t.done()
	}
}

// ask makes the one look at m; asked is false when there was none, and then m is due again
// when its lease ends. A panic on the way is a look that brought nothing.
func (t *Tracker) ask(ctx, working context.Context, m *nudgewire.Message) (poll nudgewire.Poll, asked bool) {
	queued := true
	leave := func() {
		if queued {
			queued = false
			t.left()
		}
	}
	defer func() {
		leave()
		if broken := recover(); broken != nil {
			t.counts.unreadable.Add(1)
			t.Log.Error("a panic while asking about a message", t.about(m,
				zap.Any("panic", broken), zap.ByteString("stack", debug.Stack()))...)
			poll, asked = t.next(m, nil), true
		}
	}()
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nudgewire.Poll{}, false
	}
	if t.Budget.Wait(ctx, pace.Poll, time.Now().Add(holdMost)) != nil {
		return nudgewire.Poll{}, false
	}
	leave()
	began := time.Now()
	if until, _ := t.halt.State(began); until.After(began) || ctx.Err() != nil {
		return nudgewire.Poll{}, false
	}
	t.counts.polls.Add(1)
	status, err := (*t.api.Load()).MessageStatus(working, string(m.ID))
	if err == nil {
		t.Budget.Took(pace.Poll)
		t.recovered()
		return t.next(m, &status), true
	}
	if working.Err() != nil { // cut by us, which says nothing
		return nudgewire.Poll{}, false
	}
	t.learn(began, err)
	t.counts.unreadable.Add(1)
	if entry := t.Log.Check(zap.DebugLevel, "a look at a message brought nothing"); entry != nil {
		entry.Write(t.about(m, zap.Error(err))...)
	}
	return t.next(m, nil), true
}

func (t *Tracker) next(m *nudgewire.Message, answer *apiclient.Status) nudgewire.Poll {
	return t.plan.Load().Next(m, time.Now(), answer, t.Jitter())
}

// learn tells the budget and the halt switch what a failed look begun at began showed about
// the service as a whole.
func (t *Tracker) learn(began time.Time, err error) {
	refusal, ok := errors.AsType[*apiclient.CallError](err)
	switch {
	case !ok: // not of the service
	case refusal.HTTPStatus == http.StatusUnauthorized, refusal.HTTPStatus == http.StatusForbidden:
		t.Budget.Took(pace.Poll)
		if until, first := t.halt.Strike(began, time.Now(), "the service refuses the API key: "+err.Error()); first {
			t.Log.Error("the service refuses the API key; nothing is asked until it takes it",
				zap.Int("http_status", refusal.HTTPStatus), zap.String("words", refusal.Words), zap.Time("again_at", until))
		}
	case refusal.HTTPStatus == http.StatusTooManyRequests, refusal.HTTPStatus == http.StatusRequestTimeout, refusal.HTTPStatus >= 500,
		refusal.HTTPStatus == 0 && refusal.Outcome != apiclient.Rejected:
		t.Budget.Slow(pace.Poll, began, refusal.RetryAfter)
	case refusal.HTTPStatus != 0:
		t.Budget.Took(pace.Poll)
		t.recovered()
	}
}

func (t *Tracker) recovered() {
	if t.halt.Lift() {
		t.Log.Info("the service takes the API key again")
		t.alarm.Ring()
	}
}

// record stores what a look brought. A ledger in trouble is offered it a few times, then the
// look is left to its lease.
func (t *Tracker) record(working context.Context, m *nudgewire.Message, poll nudgewire.Poll) {
	for try := 1; ; try++ {
		err := t.Ledger.FinishPoll(working, poll)
		if err == nil {
			break
		}
		if try == recordTries || working.Err() != nil {
			t.counts.lost.Add(1)
			t.Log.Error("storing what a look at a message brought; it is looked at again", t.about(m, zap.Error(err))...)
			return
		}
		sleep(working, backoff.Next(try, 50*time.Millisecond, time.Second, t.Jitter()))
	}
	t.note(m, &poll)
}

// note counts and logs a recorded look.
func (t *Tracker) note(m *nudgewire.Message, poll *nudgewire.Poll) {
	if !poll.Final {
		if poll.Status != "" && poll.Status != m.Status {
			t.counts.moved.Add(1)
		}
		return
	}
	level := zap.DebugLevel
	switch poll.Status {
	case nudgewire.StatusFailed:
		t.counts.failed.Add(1)
		level = zap.InfoLevel
	case nudgewire.StatusExpired:
		t.counts.expired.Add(1)
		level = zap.WarnLevel
	default:
		t.counts.arrived.Add(1)
	}
	if entry := t.Log.Check(level, "message "+string(poll.Status)); entry != nil {
		entry.Write(t.about(m, zap.String("error", poll.Error))...)
	}
}

func (t *Tracker) about(m *nudgewire.Message, more ...zap.Field) []zap.Field {
	return append([]zap.Field{
		zap.Int64("dispatch", int64(m.DispatchID)), zap.String("message_id", string(m.ID)),
		zap.String("phone", m.Phone.Masked()), zap.String("status", string(m.Status)),
	}, more...)
}
