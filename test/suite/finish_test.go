package suite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// attempt is how a claimed message ended, a second after the claim.
func attempt(d messaging.Message, state messaging.State) messaging.Attempt {
	a := messaging.Attempt{MessageID: d.ID, Owner: d.Owner, Number: d.Attempt, State: state, At: d.UpdatedAt.Add(time.Second)}
	switch state {
	case messaging.StateAccepted:
		a.Message = &messaging.Message{ServiceID: "90071992547409931", Phone: d.Phone, Category: d.Category, NextPollAt: a.At.Add(5 * time.Second)}
	case messaging.StateWaiting:
		a.Reason, a.RetryAt = "429 slow down", a.At.Add(time.Minute)
	case messaging.StateDropped:
		a.Reason, a.DroppedBy = "as the test says", messaging.EndedByTries
	default:
		a.Reason = "as the test says"
	}
	return a
}

func (l *ledger) mustFinish(d messaging.Message, state messaging.State) messaging.Attempt {
	l.t.Helper()
	a := attempt(d, state)
	l.must(l.Finish(l.ctx, a))
	return a
}

// claimed stores a message and claims it.
func (l *ledger) claimed(key string, changes ...change) messaging.Message {
	l.t.Helper()
	return l.claimedAt(noon.Add(time.Hour), key, changes...)
}

func (l *ledger) claimedAt(at time.Time, key string, changes ...change) messaging.Message {
	l.t.Helper()
	id := l.enqueue(key, changes...)
	got := l.mustClaim(at, 1)
	if len(got) != 1 || got[0].ID != id {
		l.t.Fatalf("claimed %+v, not message %d: %+v", got, id, l.message(id))
	}
	return got[0]
}

func (s suite) finish(t *testing.T) {
	t.Run("acceptance stores the message in the same commit", s.acceptanceStoresTheMessageInTheSameCommit)
	t.Run("acceptance without a message id is kept with the answer and cannot be followed", s.acceptanceWithoutAnIDCannotBeFollowed)
	t.Run("each other end is kept with its words", s.eachOtherEndIsKeptWithItsWords)
	t.Run("an end without words gets some", s.anEndWithoutWordsGetsSome)
	t.Run("put off, it is claimed again later as the next attempt", s.whatIsPutOffIsClaimedAgainAsTheNextAttempt)
	t.Run("only the holder of the claim is heard", s.onlyTheHolderOfTheClaimIsHeard)
	t.Run("a definite late answer settles what lapsed", s.aDefiniteLateAnswerSettlesWhatLapsed)
	t.Run("a late answer settles what a person said to send again", s.aLateAnswerSettlesWhatAPersonSaidToSendAgain)
	t.Run("what surely was not taken waits again, although its claim had lapsed", s.whatSurelyWasNotTakenWaitsAgain)
	t.Run("late words on a doubt", s.lateWords)
	t.Run("a late answer to an attempt that was begun anew is not heard", s.aLateAnswerToAnAttemptBegunAnewIsNotHeard)
	t.Run("a late answer to content that was renewed is not heard", s.aLateAnswerToRenewedContentIsNotHeard)
	t.Run("what no sender may say is refused", s.whatNoSenderMaySayIsRefused)
}

func (s suite) acceptanceStoresTheMessageInTheSameCommit(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	a := l.mustFinish(d, messaging.StateAccepted)
	got := l.message(d.ID)
	if got.State != messaging.StateAccepted || got.Reason != "" || got.Owner != "" || !got.LeaseEnds.IsZero() || !got.UpdatedAt.Equal(a.At) {
		t.Errorf("message %+v", got)
	}
	want := got
	want.ServiceID, want.Status, want.Final = "90071992547409931", messaging.StatusAccepted, false
	want.AcceptedAt, want.StatusAt, want.NextPollAt = a.At, a.At, a.At.Add(5*time.Second)
	same(t, "message", want, got)
	same(t, "OnPoll", want.NextPollAt, l.lastCall(&l.poll))
	attempts := l.attempts(d.ID)
	same(t, "attempts", []messaging.Attempt{{MessageID: d.ID, Number: 1, State: messaging.StateAccepted, At: a.At}}, attempts)
}

func (s suite) acceptanceWithoutAnIDCannotBeFollowed(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	a := attempt(d, messaging.StateAccepted)
	a.Message, a.Answer = nil, `{"ok": true}`+strings.Repeat(" ", 5000)
	l.must(l.Finish(l.ctx, a))
	m := l.message(d.ID)
	want := m
	want.ServiceID, want.Status, want.Final = "", messaging.StatusUntracked, true
	want.AcceptedAt, want.StatusAt, want.NextPollAt = a.At, a.At, time.Time{}
	same(t, "message", want, m)
	l.totals(map[string]int64{"messages_untracked": 1})
	got := l.attempts(d.ID)
	if len(got) != 1 || len(got[0].Answer) != 4096 || !strings.HasPrefix(got[0].Answer, `{"ok": true}`) {
		t.Errorf("attempts %+v", got)
	}
}

func (s suite) eachOtherEndIsKeptWithItsWords(t *testing.T) {
	for _, state := range []messaging.State{messaging.StateRejected, messaging.StateInDoubt, messaging.StateDropped} {
		t.Run(string(state), func(t *testing.T) {
			l := s.open(t)
			d := l.claimed("1")
			a := l.mustFinish(d, state)
			got := l.message(d.ID)
			if got.State != state || got.Reason != a.Reason {
				t.Errorf("%s: %s", got.State, got.Reason)
			}
			attempts := l.attempts(d.ID)
			a.DroppedBy = "" // it is counted, and not kept
			same(t, "attempts", []messaging.Attempt{a}, attempts)
			if got := l.message(d.ID); got.Status != "" {
				t.Errorf("it has a status: %s", got.Status)
			}
		})
	}
}

func (s suite) anEndWithoutWordsGetsSome(t *testing.T) {
	tests := map[messaging.State]string{
		messaging.StateRejected: "the service gave no reason",
		messaging.StateInDoubt:  "the answer did not come; it may have been sent",
		messaging.StateDropped:  "given up by the sender",
	}
	for state, words := range tests {
		l := s.open(t)
		d := l.claimed("1")
		a := attempt(d, state)
		a.Reason = ""
		l.must(l.Finish(l.ctx, a))
		same(t, string(state), words, l.message(d.ID).Reason)
	}
}

func (s suite) whatIsPutOffIsClaimedAgainAsTheNextAttempt(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	a := l.mustFinish(d, messaging.StateWaiting)
	same(t, "OnDue", a.RetryAt, l.woken(a.RetryAt))
	if got := l.mustClaim(a.RetryAt.Add(-time.Microsecond), 1); len(got) != 0 {
		t.Error("claimed too early")
	}
	got := l.mustClaim(a.RetryAt, 1)
	if len(got) != 1 || got[0].Attempt != 2 {
		t.Fatalf("claimed %+v", got)
	}
	l.mustFinish(got[0], messaging.StateAccepted)
	attempts := l.attempts(d.ID)
	if len(attempts) != 2 || attempts[0].State != messaging.StateWaiting || attempts[1].State != messaging.StateAccepted {
		t.Errorf("attempts %+v", attempts)
	}
}

func (s suite) onlyTheHolderOfTheClaimIsHeard(t *testing.T) {
	tests := map[string]func(*ledger, *messaging.Attempt){
		"another owner":       func(_ *ledger, a *messaging.Attempt) { a.Owner = "somebody else" },
		"another attempt":     func(_ *ledger, a *messaging.Attempt) { a.Number = 2 },
		"no such message":     func(_ *ledger, a *messaging.Attempt) { a.MessageID = 99 },
		"it said so before":   func(l *ledger, a *messaging.Attempt) { l.mustFinish(l.message(a.MessageID), messaging.StateRejected) },
		"put off by itself":   func(l *ledger, a *messaging.Attempt) { l.mustFinish(l.message(a.MessageID), messaging.StateWaiting) },
		"doubtful, and again": func(l *ledger, a *messaging.Attempt) { l.lapse(); a.State, a.Message = messaging.StateInDoubt, nil },
		"late, and not definite": func(l *ledger, a *messaging.Attempt) {
			l.lapse()
			a.State, a.Message, a.Doubtful = messaging.StateWaiting, nil, true
		},
		"resolved by a person": func(l *ledger, a *messaging.Attempt) {
			l.lapse()
			l.must(l.Resolve(l.ctx, a.MessageID, messaging.ResolveDrop, "enough"))
		},
	}
	for name, meanwhile := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			d := l.claimed("1")
			a := attempt(d, messaging.StateAccepted)
			meanwhile(l, &a)
			before := l.message(d.ID)
			err := l.Finish(l.ctx, a)
			if !errors.Is(err, messaging.ErrClaimLost) {
				t.Errorf("error %v", err)
			}
			same(t, "message", before, l.message(d.ID))
			if got := l.message(d.ID); got.Status != "" {
				t.Errorf("it has a status: %s", got.Status)
			}
		})
	}
}

func (s suite) whatNoSenderMaySayIsRefused(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	tests := map[string]func(*messaging.Attempt){
		`finish message 1: no attempt ends as "cancelled"`:                   func(a *messaging.Attempt) { a.State = messaging.StateCancelled },
		`finish message 1: needs the claim's owner and number, and the time`: func(a *messaging.Attempt) { a.Owner = "" },
		`finish: only an accepted attempt has what the service took`:         func(a *messaging.Attempt) { a.State = messaging.StateRejected },
	}
	for words, change := range tests {
		a := attempt(d, messaging.StateAccepted)
		change(&a)
		wantErr(t, l.Finish(l.ctx, a), words)
	}
}

// refused ends a claimed message with the service's words.
func (l *ledger) refused(d messaging.Message, state messaging.State, class messaging.ErrorClass, words string, at time.Time) {
	l.t.Helper()
	a := messaging.Attempt{MessageID: d.ID, Owner: owner, Number: d.Attempt, State: state, Reason: "refused: " + words, Words: words, Class: class, At: at}
	if state == messaging.StateWaiting {
		a.RetryAt = d.DueAt
	}
	if state == messaging.StateAccepted {
		a.Reason = ""
		a.Message = &messaging.Message{ID: d.ID, ServiceID: messaging.ServiceID(fmt.Sprint(1000 + d.ID)), Status: messaging.StatusAccepted, NextPollAt: at}
	}
	l.must(l.Finish(l.ctx, a))
}

// attempts are how the attempts at one message ended, in their order.
func (l *ledger) attempts(id messaging.MessageID) []messaging.Attempt {
	l.t.Helper()
	d, err := l.MessageStory(l.ctx, id)
	l.must(err)
	return d.Attempts
}
