package tracker

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// work asks about a message. ctx done means begin nothing; calling bounds calls, and recording commits.
func (t *Tracker) work(ctx, calling, recording context.Context, m *messaging.Message, seat *claims.Seat) {
	if poll, asked := t.ask(ctx, calling, m, seat); asked {
		t.record(recording, m, poll)
	}
}

// ask makes the one look at m; asked is false when there was none, and then m is due again
// when its lease ends. A panic on the way is a look that brought nothing.
func (t *Tracker) ask(ctx, calling context.Context, m *messaging.Message, seat *claims.Seat) (poll messaging.Poll, asked bool) {
	defer func() {
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
		return messaging.Poll{}, false
	}
	if t.Budget.Wait(ctx, pace.Poll, t.Now().Add(holdMost)) != nil {
		return messaging.Poll{}, false
	}
	seat.Left()
	began := t.Now()
	if t.Asked != nil {
		defer func() {
			if asked {
				t.Asked(m, began, t.Now(), &poll)
			}
		}()
	}
	if _, halted := t.halt.State(); halted && !t.halt.Turn(began) || ctx.Err() != nil {
		return messaging.Poll{}, false
	}
	t.counts.polls.Add(1)
	status, err := (*t.api.Load()).MessageStatus(calling, string(m.ServiceID))
	if err == nil {
		t.learn(began, nil)
		return t.next(m, &status), true
	}
	if calling.Err() != nil { // cut by us, which says nothing
		return messaging.Poll{}, false
	}
	t.learn(began, err)
	t.counts.unreadable.Add(1)
	if entry := t.Log.Check(zap.DebugLevel, "a look at a message brought nothing"); entry != nil {
		entry.Write(t.about(m, zap.Error(err))...)
	}
	return t.next(m, nil), true
}

func (t *Tracker) next(m *messaging.Message, answer *apiclient.Status) messaging.Poll {
	poll := t.plan.Load().Next(m, t.Now(), answer, t.Jitter())
	if poll.Status == messaging.StatusFailed {
		poll.Class = t.Classify(poll.Error)
	}
	return poll
}

// keyRefused holds looks back while the service refuses the key.
var keyRefused = pace.Cause{Name: string(apiclient.TroubleKey), First: 5 * time.Second, Max: 5 * time.Minute}

// learn tells the budget and the halt switch what a look begun at began showed about the service.
func (t *Tracker) learn(began time.Time, err error) {
	call, _ := errors.AsType[*apiclient.CallError](err)
	switch trouble := apiclient.TroubleOf(err); {
	case err != nil && call == nil: // not of the service
	case trouble == apiclient.TroubleKey:
		t.Budget.Took(pace.Poll)
		if first, _ := t.halt.Strike(began, t.Now(), keyRefused, trouble.Words()+": "+err.Error()); first {
			halted, _ := t.halt.State()
			t.Log.Warn("the service refuses the API key; nothing is asked until it takes it",
				zap.Int("http_status", call.HTTPStatus), zap.String("words", call.Words), zap.Time("next_probe", halted.Until))
		}
		t.loop.Ring()
	case trouble == apiclient.TroubleBusy, trouble == apiclient.TroubleOutage:
		t.Budget.Slow(pace.Poll, began, call.RetryAfter)
		if !t.slowed.Swap(true) {
			t.Log.Warn("status questions are not answered well; they are slowed, sends are not", zap.Error(err))
		}
	case err == nil || call.HTTPStatus != 0:
		if t.Budget.Took(pace.Poll) && t.slowed.Swap(false) {
			t.Log.Info("status questions are at their full rate again")
		}
		if _, lifted := t.halt.Lift(began, t.Now()); lifted {
			t.Log.Info("the service takes the API key again")
			t.loop.Ring()
		}
	}
}

// record stores what a look brought. A store in trouble is offered it a few times, then the
// look is left to its lease.
func (t *Tracker) record(recording context.Context, m *messaging.Message, poll messaging.Poll) (stored bool) {
	if t.Reported != nil {
		t.Reported(m, &poll)
	}
	for try := 1; ; try++ {
		err := t.Store.FinishPoll(recording, poll)
		if err == nil {
			break
		}
		if try == recordTries || recording.Err() != nil {
			t.counts.lost.Add(1)
			t.Log.Error("storing what a look at a message brought; it is looked at again", t.about(m, zap.Error(err))...)
			return false
		}
		backoff.Sleep(recording, backoff.Next(try, 50*time.Millisecond, time.Second, t.Jitter()))
	}
	t.note(m, &poll)
	return true
}

// note counts and logs a recorded look.
func (t *Tracker) note(m *messaging.Message, poll *messaging.Poll) {
	if !poll.Final {
		if poll.Status != "" && poll.Status != m.Status {
			t.counts.moved.Add(1)
			if entry := t.Log.Check(zap.DebugLevel, "message "+string(poll.Status)); entry != nil {
				entry.Write(t.about(m, zap.String("before", string(m.Status)))...)
			}
		}
		return
	}
	level := zap.DebugLevel
	switch poll.Status {
	case messaging.StatusFailed:
		t.counts.failed.Add(1)
		level = zap.InfoLevel
	case messaging.StatusExpired:
		t.counts.expired.Add(1)
		level = zap.WarnLevel
	default:
		t.counts.arrived.Add(1)
	}
	if entry := t.Log.Check(level, "message "+string(poll.Status)); entry != nil {
		entry.Write(t.about(m, zap.String("before", string(m.Status)), zap.String("error", mask.Text(poll.Error)), zap.String("class", string(poll.Class)))...)
	}
}

func (t *Tracker) about(m *messaging.Message, more ...zap.Field) []zap.Field {
	fields := append([]zap.Field{
		zap.Int64("message", int64(m.ID)), zap.String("message_id", string(m.ServiceID)),
		zap.String("phone", m.Phone.Masked()),
	}, more...)
	if request := t.Request(m); request != "" {
		fields = append(fields, zap.String("request", request))
	}
	return fields
}
