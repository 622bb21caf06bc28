package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// lapse ends every claim by its lease.
func (l *ledger) lapse() {
	l.t.Helper()
	if _, err := l.RescueClaims(l.ctx, noon.Add(90*time.Minute), owner); err != nil {
		l.t.Fatal(err)
	}
}

func (s suite) aDefiniteLateAnswerSettlesWhatLapsed(t *testing.T) {
	for _, c := range []messaging.Category{messaging.Marketing, messaging.Authentication} {
		for _, state := range []messaging.State{messaging.StateAccepted, messaging.StateRejected} {
			t.Run(string(c)+" "+string(state), func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1", category(c))
				l.lapse()
				d.UpdatedAt = noon.Add(2 * time.Hour)
				l.mustFinish(d, state)
				if got := l.message(d.ID); got.State != state {
					t.Errorf("it is %s", got.State)
				}
				if got := l.mustClaim(noon.Add(9*time.Hour), 9); len(got) != 0 {
					t.Errorf("sent again: %+v", got)
				}
				attempts := l.attempts(d.ID)
				if len(attempts) != 2 || attempts[0].State != messaging.StateInDoubt || attempts[1].State != state {
					t.Errorf("attempts %+v", attempts)
				}
			})
		}
	}
}

func (s suite) aLateAnswerSettlesWhatAPersonSaidToSendAgain(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", category(messaging.Marketing))
	l.lapse()
	l.must(l.Resolve(l.ctx, d.ID, messaging.ResolveResend, "by hand"))
	d.UpdatedAt = noon.Add(2 * time.Hour)
	l.mustFinish(d, messaging.StateAccepted)
	if got := l.mustClaim(noon.Add(9*time.Hour), 9); len(got) != 0 {
		t.Errorf("sent again: %+v", got)
	}
}

func (s suite) whatSurelyWasNotTakenWaitsAgain(t *testing.T) {
	l := s.open(t)
	late := func(key string, changes ...change) (messaging.Message, messaging.Attempt) {
		d := l.claimed(key, append(changes, category(messaging.Marketing))...)
		a := attempt(d, messaging.StateWaiting)
		a.RetryAt, a.At = noon.Add(3*time.Hour), noon.Add(2*time.Hour)
		return d, a
	}
	back, backs := late("1")
	_, doubtful := late("2")
	dropped, drops := late("3")
	resolved, resolves := late("4")
	off, offs := late("5")
	blocked, blocks := late("6", phone("447700900106"))
	_, codes := late("7", func(p *messaging.Plan) { p.Proposals[0].Message.Send.Forget = true })
	l.lapse()
	doubtful.Doubtful = true
	l.must(l.Resolve(l.ctx, dropped.ID, messaging.ResolveDrop, "by hand"))
	l.must(l.Resolve(l.ctx, resolved.ID, messaging.ResolveResend, "by hand"))
	l.mustAccept(order("5"))
	if _, err := l.Block(l.ctx, []store.Block{{Phone: blocked.Phone, At: noon}}); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []messaging.Attempt{doubtful, drops, resolves, codes} {
		if err := l.Finish(l.ctx, lost); !errors.Is(err, messaging.ErrClaimLost) {
			t.Errorf("message %d: %v", lost.MessageID, err)
		}
	}
	for _, heard := range []messaging.Attempt{backs, offs, blocks} {
		if err := l.Finish(l.ctx, heard); err != nil {
			t.Errorf("message %d: %v", heard.MessageID, err)
		}
	}
	for d, want := range map[messaging.MessageID]messaging.State{
		back.ID: messaging.StateWaiting, off.ID: messaging.StateCancelled, blocked.ID: messaging.StateDropped,
		codes.MessageID: messaging.StateInDoubt, doubtful.MessageID: messaging.StateInDoubt,
	} {
		if got := l.message(d); got.State != want {
			t.Errorf("message %d is %s: %s", d, got.State, got.Reason)
		}
	}
	attempts := l.attempts(back.ID)
	if len(attempts) != 1 || attempts[0].State != messaging.StateWaiting {
		t.Errorf("attempts %+v: one in doubt would count as sent", attempts)
	}
	if got := l.message(back.ID); !got.DueAt.Equal(noon.Add(3 * time.Hour)) {
		t.Errorf("it is due %s", got.DueAt)
	}
}

func (s suite) aLateAnswerToAnAttemptBegunAnewIsNotHeard(t *testing.T) {
	l := s.open(t)
	first := l.claimed("1", category(messaging.Authentication))
	l.lapse()
	second := l.mustClaim(noon.Add(2*time.Hour), 1)[0]
	if err := l.Finish(l.ctx, attempt(first, messaging.StateAccepted)); !errors.Is(err, messaging.ErrClaimLost) {
		t.Errorf("error %v", err)
	}
	l.mustFinish(second, messaging.StateAccepted)
}

func (s suite) aLateAnswerToRenewedContentIsNotHeard(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", category(messaging.Authentication))
	l.lapse()
	l.settleBy(func(_ messaging.Proposal, f messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Restarted, Restart: f.Waiting[0].ID, DueAt: noon.Add(3 * time.Hour)}
	})
	l.mustAccept(cart("1", dedupe("again"), category(messaging.Authentication)))
	if err := l.Finish(l.ctx, attempt(d, messaging.StateAccepted)); !errors.Is(err, messaging.ErrClaimLost) {
		t.Errorf("error %v", err)
	}
}

// lateWords is what each late word of an attempt does to a message in doubt, called off before the doubt, after it, or
// not at all. Accepted and rejected are knowledge and end the doubt. "Surely not taken" ends it, too: the message waits
// again, or is cancelled where an order came. A second doubt and a word to drop it know nothing new, and are not heard.
func (s suite) lateWords(t *testing.T) {
	called := map[string]struct{ before, after bool }{
		"not called off": {}, "called off before the doubt": {before: true}, "called off in doubt": {after: true},
	}
	for when, off := range called {
		waits := messaging.StateCancelled
		if off == called["not called off"] {
			waits = messaging.StateWaiting
		}
		for _, c := range []struct{ word, becomes messaging.State }{
			{messaging.StateAccepted, messaging.StateAccepted},
			{messaging.StateRejected, messaging.StateRejected},
			{messaging.StateWaiting, waits},
			{messaging.StateInDoubt, ""},
			{messaging.StateDropped, ""},
		} {
			t.Run(string(c.word)+", "+when, func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1", category(messaging.Marketing))
				if off.before {
					l.mustAccept(order("1"))
				}
				l.lapse()
				same(t, "after the lapse", messaging.StateInDoubt, l.message(d.ID).State)
				if off.after {
					l.mustAccept(order("1"))
				}
				before := l.message(d.ID)
				d.UpdatedAt = noon.Add(2 * time.Hour)
				err := l.Finish(l.ctx, attempt(d, c.word))
				if c.becomes == "" {
					if !errors.Is(err, messaging.ErrClaimLost) {
						t.Errorf("error %v", err)
					}
					same(t, "message", before, l.message(d.ID))
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				same(t, "state", c.becomes, l.message(d.ID).State)
				l.recount()
			})
		}
	}
}
