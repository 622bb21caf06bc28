package sender

import (
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/units"
)

// maxTries is how many calls the service may surely not take before a message is
// dropped: with the pauses below that is some ten hours, four minutes for a code.
const maxTries = 20

// pauses are the shortest and the longest wait before another attempt. A login code is worth
// nothing an hour later.
func pauses(c messaging.Category) (base, most time.Duration) {
	if c == messaging.Authentication {
		return time.Second, 15 * time.Second
	}
	return 5 * time.Second, time.Hour
}

// judge turns the end of a call into what is recorded of it. It is the table "outcome of a
// call" of the rules of sending, and docs/internals/states.md repeats it. told is what the answer showed about the service.
func (s *Sender) judge(c *claim, now time.Time, answer apiclient.Answer, err error, means meaning, told verdict) messaging.Attempt {
	refusal, _ := errors.AsType[*apiclient.CallError](err)
	var a messaging.Attempt
	switch outcome := apiclient.OutcomeOf(err); {
	case err == nil:
		a = c.attempt(now, messaging.StateAccepted, "")
		a.Message = s.message(c, now, answer)
	case told.waits, told.held && outcome == apiclient.NotAccepted, means.class == messaging.ErrorTemplate && c.Send.Template != "":
		held := told.held || means.class == messaging.ErrorTemplate // by the pause of its template
		a = c.attempt(now, messaging.StateWaiting, notTaken(refusal))
		if a.RetryAt = c.DueAt; !held { // what holds it says when it is due
			a.RetryAt = now.Add(s.pause(c))
		}
		a.Refused = told.refused
	case means.class == messaging.ErrorRecipientLimit:
		rest, _ := means.class.GoesAgain()
		a = c.retry(now, now.Add(rest), fmt.Sprintf("not taken, because this contact has got enough: %v", refusal))
		if s.OwnExpiry != nil && !s.OwnExpiry(&c.Message) {
			a = c.attempt(now, messaging.StateWaiting, fmt.Sprintf("not taken, because this contact has got enough: %v", refusal))
			a.RetryAt, a.PutOff = now.Add(rest), true
		}
	case means.trouble == apiclient.TroubleBusy: // as long as the account waits, and it is not dropped for that
		a = c.attempt(now, messaging.StateWaiting, notTaken(refusal))
		if a.RetryAt = now.Add(s.pause(c)); refusal.RetryAfter > 0 {
			base, _ := pauses(c.Category)
			a.RetryAt = now.Add(max(base, min(refusal.RetryAfter, pace.MaxPause)))
		}
	case outcome == apiclient.NotAccepted, means.class == messaging.ErrorRetry, means.class == messaging.ErrorTemplate:
		if c.Tries+1 >= maxTries {
			a = c.attempt(now, messaging.StateDropped, fmt.Sprintf("given up after %d tries: %v", c.Tries+1, err))
			a.DroppedBy = messaging.EndedByTries
			break
		}
		a = c.retry(now, now.Add(s.pause(c)), notTaken(refusal))
	case outcome == apiclient.Rejected:
		a = c.attempt(now, messaging.StateRejected, refused(refusal))
	default:
		a = s.doubt(c, now, err)
	}
	a.Answer, a.Words, a.Class, a.Called = answer.Raw, means.words, means.class, true
	return a
}

// notTaken is why a message waits again that the service surely did not take.
func notTaken(refusal *apiclient.CallError) string {
	return fmt.Sprintf("not taken by the service: %v", refusal)
}

// pause is how long a message rests after its call, by how many it has had.
func (s *Sender) pause(c *claim) time.Duration {
	base, most := pauses(c.Category)
	return backoff.Next(c.Tries+1, base, most, s.Jitter())
}

// message is what the service accepted.
func (s *Sender) message(c *claim, now time.Time, answer apiclient.Answer) *messaging.Message {
	m := c.Message
	m.ServiceID, m.Status, m.AcceptedAt, m.StatusAt = messaging.ServiceID(answer.MessageID), messaging.StatusAccepted, now, now
	if m.Tracked() {
		m.NextPollAt = s.FirstPoll(now)
	} else {
		m.Status, m.Final = messaging.StatusUntracked, true
	}
	return &m
}

// doubt is for a call that may have been taken.
func (s *Sender) doubt(c *claim, now time.Time, err error) messaging.Attempt {
	at := now.Add(s.pause(c))
	rule := s.OnDoubt(&c.Message)
	if !c.ResendsInDoubt(rule, at) {
		if c.InDoubt(rule) == messaging.DoubtDrop {
			a := c.attempt(now, messaging.StateDropped, fmt.Sprintf("may have been taken, and is let be, as on_doubt says: %v", err))
			a.Doubtful, a.DroppedBy = true, messaging.EndedByDoubt
			return a
		}
		words := "may have been taken"
		if c.ResendsInDoubt(rule, now) {
			words += ", and expires before it could be sent again"
		}
		return c.attempt(now, messaging.StateInDoubt, fmt.Sprintf("%s: %v", words, err))
	}
	a := c.retry(now, at, fmt.Sprintf("may have been taken; sent again, as %s says: %v", c.SaysResend(rule), err))
	a.Doubtful = true
	return a
}

// releaseClaim returns a claim that was surely not sent to the waiting ones, due at at. A halt delays, and puts nothing in another order, so
// what it gives back has the due time that it had.
func (s *Sender) releaseClaim(c *claim, at time.Time, why string) messaging.Attempt {
	s.counts.givenBack.Add(1)
	a := c.attempt(s.Now(), messaging.StateWaiting, why)
	a.RetryAt = at
	return a
}

// retry is the attempt of a claim that waits again until at, or is dropped when it expires
// before.
func (c *claim) retry(now, at time.Time, why string) messaging.Attempt {
	if expired(c.ExpiresAt, at) {
		a := c.attempt(now, messaging.StateDropped, "expires at "+units.Stamp(c.ExpiresAt)+", before it may be tried again: "+why)
		a.DroppedBy = messaging.RuleExpires
		return a
	}
	a := c.attempt(now, messaging.StateWaiting, why)
	a.RetryAt = at
	return a
}

func (c *claim) attempt(now time.Time, state messaging.State, reason string) messaging.Attempt {
	return messaging.Attempt{
		MessageID: c.ID, Owner: c.Owner, Number: c.Attempt, State: state, Reason: reason, At: now,
	}
}

// refused is a rejection in words.
func refused(r *apiclient.CallError) string {
	switch {
	case r.Words != "" && r.HTTPStatus != 0:
		return fmt.Sprintf("refused by the service (%d): %s", r.HTTPStatus, r.Words)
	case r.Words != "":
		return "refused: " + r.Words
	default:
		return "refused: " + r.Error()
	}
}

// expired reports whether something that expires at the first time is too late at the second.
func expired(at, now time.Time) bool { return !at.IsZero() && now.After(at) }
