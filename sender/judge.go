package sender

import (
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/units"
)

const (
	// maxAttempts is how many calls the service may surely not take before a dispatch is
	// dropped: with the pauses below that is some ten hours, four minutes for a code.
	maxAttempts = 20

	// maxRowRetry bounds a Retry-After for the dispatch it was answered to.
	maxRowRetry = 24 * time.Hour
)

// pauses are the shortest and the longest wait before another attempt. A login code is worth
// nothing an hour later.
func pauses(c nudgewire.Category) (base, most time.Duration) {
	if c == nudgewire.Authentication {
		return time.Second, 15 * time.Second
	}
	return 5 * time.Second, time.Hour
}

// judge turns the end of a call into what is recorded of it. It is the table "outcome of a
// call" of the rules of sending, and docs/states.md repeats it. waits says that what was refused
// waits for the service to be well again.
func (s *Sender) judge(c *claim, now time.Time, answer apiclient.Answer, err error, means meaning, waits bool) nudgewire.Attempt {
	refusal, _ := errors.AsType[*apiclient.CallError](err)
	var a nudgewire.Attempt
	switch outcome := apiclient.OutcomeOf(err); {
	case err == nil:
		a = c.attempt(now, nudgewire.StateAccepted, "")
		a.Message = s.message(c, now, answer)
	case waits:
		a = s.again(c, now, refusal)
	case means.class == nudgewire.ErrorRecipientLimit:
		rest, _ := means.class.GoesAgain()
		a = c.retry(now, now.Add(rest), fmt.Sprintf("not taken, because this contact has got enough: %v", refusal))
	case means.class == nudgewire.ErrorTemplate && c.Send.Template != "":
		a = s.again(c, now, refusal) // and the pause of its template holds it
	case outcome == apiclient.NotAccepted, means.class == nudgewire.ErrorRetry, means.class == nudgewire.ErrorTemplate:
		if c.Attempt >= maxAttempts {
			a = c.attempt(now, nudgewire.StateDropped, fmt.Sprintf("given up after %d attempts: %v", c.Attempt, err))
			break
		}
		a = s.again(c, now, refusal)
	case outcome == apiclient.Rejected:
		a = c.attempt(now, nudgewire.StateRejected, refused(refusal))
	default:
		a = s.doubt(c, now, err)
	}
	a.Answer, a.Words, a.Class = answer.Raw, means.words, means.class
	return a
}

// message is what the service accepted.
func (s *Sender) message(c *claim, now time.Time, answer apiclient.Answer) *nudgewire.Message {
	m := &nudgewire.Message{
		DispatchID: c.ID, ID: nudgewire.MessageID(answer.MessageID), Phone: c.Phone, Category: c.Category, Account: c.Account,
		Status: nudgewire.StatusAccepted, AcceptedAt: now, StatusAt: now,
	}
	if m.Tracked() {
		m.NextPollAt = s.FirstPoll(now)
	} else {
		m.Status, m.Final = nudgewire.StatusUntracked, true
	}
	return m
}

// again sends a dispatch back to wait that the service surely did not take.
func (s *Sender) again(c *claim, now time.Time, refusal *apiclient.CallError) nudgewire.Attempt {
	base, most := pauses(c.Category)
	pause := backoff.Next(c.Attempt, base, most, s.Jitter())
	if wait := min(refusal.RetryAfter, maxRowRetry); wait > pause {
		pause = wait
	}
	return c.retry(now, now.Add(pause), fmt.Sprintf("not taken by the service: %v", refusal))
}

// doubt is for a call that may have been taken.
func (s *Sender) doubt(c *claim, now time.Time, err error) nudgewire.Attempt {
	base, most := pauses(c.Category)
	at := now.Add(backoff.Next(c.Attempt, base, most, s.Jitter()))
	rule := s.OnDoubt(&c.Dispatch)
	if !c.ResendsInDoubt(rule, at) {
		if c.InDoubt(rule) == nudgewire.DoubtDrop {
			a := c.attempt(now, nudgewire.StateDropped, fmt.Sprintf("may have been taken, and is let be, as on_doubt says: %v", err))
			a.Doubtful = true
			return a
		}
		words := "may have been taken"
		if c.ResendsInDoubt(rule, now) {
			words += ", and expires before it could be sent again"
		}
		return c.attempt(now, nudgewire.StateInDoubt, fmt.Sprintf("%s: %v", words, err))
	}
	a := c.retry(now, at, fmt.Sprintf("may have been taken; sent again, as %s says: %v", c.SaysResend(rule), err))
	a.Doubtful = true
	return a
}

// giveBack returns a claim that was surely not sent to the waiting ones.
func (s *Sender) giveBack(c *claim, at time.Time, why string) nudgewire.Attempt {
	s.counts.givenBack.Add(1)
	now := time.Now()
	if at.Before(now) {
		at = now
	}
	return c.retry(now, at, why)
}

// retry is the attempt of a claim that waits again until at, or is dropped when it expires
// before.
func (c *claim) retry(now, at time.Time, why string) nudgewire.Attempt {
	if expired(c.ExpiresAt, at) {
		return c.attempt(now, nudgewire.StateDropped, "expires at "+units.Stamp(c.ExpiresAt)+", before it may be tried again: "+why)
	}
	a := c.attempt(now, nudgewire.StateWaiting, why)
	a.RetryAt = at
	return a
}

func (c *claim) attempt(now time.Time, state nudgewire.State, reason string) nudgewire.Attempt {
	return nudgewire.Attempt{
		DispatchID: c.ID, Owner: c.Owner, Number: c.Attempt, State: state, Reason: reason, At: now,
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
