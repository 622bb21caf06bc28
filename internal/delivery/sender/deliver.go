package sender

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// work takes a claim to its recorded end. ctx done means give back what was not sent; calling bounds
// calls, recording commits.
func (s *Sender) work(ctx, calling, recording context.Context, c *claim, seat *claims.Seat) {
	outcome := s.deliver(ctx, calling, c, seat)
	seat.Called()
	s.record(recording, &c.Message, outcome)
}

// deliver makes the one call of a claim, or says why it was not made. A panic on the way
// leaves the message in doubt: nobody knows whether the call had begun.
func (s *Sender) deliver(ctx, calling context.Context, c *claim, seat *claims.Seat) (a messaging.Attempt) {
	lane := c.Category.Lane()
	class := classes[lane]
	defer func() {
		if broken := recover(); broken != nil {
			s.Log.Error("a panic while sending", s.about(&c.Message,
				zap.Any("panic", broken), zap.ByteString("stack", debug.Stack()))...)
			a = c.attempt(s.Now(), messaging.StateInDoubt, "may have been taken: the sender broke while sending, and its log says how")
		}
	}()
	place := s.slots.waitForSlot(ctx, lane, s.health.strikes(lane))
	now := s.Now()
	if halted, _, is := s.health.holds(lane); place == nil && is && ctx.Err() == nil {
		return s.releaseClaim(c, c.DueAt, "not sent: "+halted.Why)
	} else if place == nil {
		return s.releaseClaim(c, now, "stopping before it was sent")
	}
	defer func() { <-place }()
	by := now.Add(holdMost)
	if latest := c.ends.Add(-s.Timeout); latest.Before(by) {
		by = latest
	}
	if err := s.Budget.Wait(ctx, class, by); errors.Is(err, pace.ErrTooLate) {
		_, again := s.Budget.Room(pace.Send, window)
		why := "not sent yet: the rate of calls (api.rate) is used up, and it is its turn again as soon as there is room"
		if halted, _, is := s.health.holds(lane); is {
			again, why = c.DueAt, "not sent: "+halted.Why
		}
		return s.releaseClaim(c, again, why)
	} else if err != nil {
		return s.releaseClaim(c, s.Now(), "stopping before it was sent")
	}
	seat.Left()
	decided, a, goes := s.mayGo(calling, c)
	if !goes {
		return a
	}
	if decided != nil {
		// Where the claim goes back to wait it is decided anew, with the facts of then.
		defer func() {
			if a.State != messaging.StateWaiting {
				a.Decision = decided
			}
		}()
	}
	now = s.Now()
	if now.Add(s.Timeout).After(c.ends) {
		return s.releaseClaim(c, now, "not sent: the claim would have ended before the call")
	}
	// Without the note a crash would take the call for one that had not begun.
	if err := s.Store.BeginCall(seat.Number, c.ID, c.Attempt); err != nil {
		return s.releaseClaim(c, now.Add(time.Second), "not sent: "+err.Error())
	}
	answer, err := s.call(calling, &c.Message)
	means := s.meaningOf(err) // of the whole words: what is taken out below may be part of what a rule looks for
	if c.Send.Forget {
		answer.Raw = ""
		if refusal, ok := errors.AsType[*apiclient.CallError](err); ok {
			refusal.Words = redact(&c.Send, refusal.Words)
		}
		means.words = redact(&c.Send, means.words)
		defer func() { a.Reason = redact(&c.Send, a.Reason) }()
	}
	told := s.learn(calling, now, c, answer, err, means)
	ended := s.Now()
	a = s.judge(c, ended, answer, err, means, told)
	if s.Called != nil {
		s.Called(&c.Message, now, ended, &a)
	}
	return a
}

// mayGo is the last look before the call: what keeps the claim back by now. decided is what was decided of a step that goes.
func (s *Sender) mayGo(ctx context.Context, c *claim) (decided *messaging.Decision, a messaging.Attempt, goes bool) {
	now, service := s.Now(), ""
	if halted, scope, is := s.health.holds(c.Category.Lane()); is && (!c.probe || !s.health.halts[scope].Turn(now)) {
		service = halted.Why
	}
	v, err := s.MayGo(ctx, &c.Message, service, now)
	switch {
	case err != nil: // not to know is no leave to send: the claim goes back and is looked at again
		return nil, s.releaseClaim(c, now.Add(time.Second), "not sent: "+err.Error()), false
	case v.Action == messaging.AllowSend:
		return v.Decision, a, true
	case v.Action == messaging.DropSend:
		a = c.attempt(now, messaging.StateDropped, v.Reason)
		a.Decision, a.DroppedBy = v.Decision, v.Rule
		return nil, a, false
	case v.Action == messaging.DeferSend && v.Rule == messaging.RuleStep:
		a = s.releaseClaim(c, v.Until, v.Reason)
		a.PutOff = true
		return nil, a, false
	}
	// With the due time that it had: a hold delays and puts nothing in another order, and what a rule says now it says to the next claim.
	return nil, s.releaseClaim(c, c.DueAt, "not sent: "+v.Reason), false
}

// call asks the service for what the message says.
func (s *Sender) call(ctx context.Context, d *messaging.Message) (apiclient.Answer, error) {
	s.counts.calls.Add(1)
	s.counts.underWay.Add(1)
	defer s.counts.underWay.Add(-1)
	api := *s.api.Load()
	switch {
	case d.Send.Template != "":
		return api.SendTemplate(ctx, apiclient.TemplateMessage{
			Phone: d.To(), Template: d.Send.Template, Language: d.Send.Language, Variables: d.Send.Variables,
			Header: (*apiclient.Header)(d.Send.Header),
		})
	case d.Send.Campaign != "":
		return api.SendCampaign(ctx, d.To(), d.Send.Campaign)
	case d.Send.Text != "":
		return api.SendText(ctx, d.To(), d.Send.Text)
	default:
		return apiclient.Answer{}, &apiclient.CallError{Call: "send", Outcome: apiclient.Rejected, Words: "it names neither a template nor a campaign nor a text"}
	}
}

func (s *Sender) about(d *messaging.Message, more ...zap.Field) []zap.Field {
	fields := append([]zap.Field{
		zap.Int64("message", int64(d.ID)), zap.String("trigger", d.Trigger), zap.String("phone", d.Phone.Masked()),
		zap.String("what", mask.Text(d.Send.What())), zap.Int("attempt", d.Attempt),
	}, more...)
	if request := s.Request(d); request != "" {
		fields = append(fields, zap.String("request", request))
	}
	return fields
}
