package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// lapse ends every claim by its lease.
func (l *ledger) lapse() {
	l.t.Helper()
	if _, err := l.RescueClaims(l.ctx, noon.Add(90*time.Minute), owner); err != nil {
		l.t.Fatal(err)
	}
}

func (s suite) aDefiniteLateAnswerSettlesWhatLapsed(t *testing.T) {
	for _, c := range []nudgewire.Category{nudgewire.Marketing, nudgewire.Authentication} {
		for _, state := range []nudgewire.State{nudgewire.StateAccepted, nudgewire.StateRejected} {
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
				attempts, err := l.Attempts(l.ctx, d.ID)
				if err != nil || len(attempts) != 2 || attempts[0].State != nudgewire.StateInDoubt || attempts[1].State != state {
					t.Errorf("attempts %+v (%v)", attempts, err)
				}
			})
		}
	}
}

func (s suite) aLateAnswerSettlesWhatAPersonSaidToSendAgain(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", category(nudgewire.Marketing))
	l.lapse()
	l.must(l.Resolve(l.ctx, d.ID, nudgewire.ResolveResend, "by hand"))
	d.UpdatedAt = noon.Add(2 * time.Hour)
	l.mustFinish(d, nudgewire.StateAccepted)
	if got := l.mustClaim(noon.Add(9*time.Hour), 9); len(got) != 0 {
		t.Errorf("sent again: %+v", got)
	}
}

func (s suite) whatSurelyWasNotTakenWaitsAgain(t *testing.T) {
	l := s.open(t)
	late := func(key string, changes ...change) (nudgewire.Message, nudgewire.Attempt) {
		d := l.claimed(key, append(changes, category(nudgewire.Marketing))...)
		a := attempt(d, nudgewire.StateWaiting)
		a.RetryAt, a.At = noon.Add(3*time.Hour), noon.Add(2*time.Hour)
		return d, a
	}
	back, backs := late("1")
	_, doubtful := late("2")
	dropped, drops := late("3")
	resolved, resolves := late("4")
	off, offs := late("5")
	blocked, blocks := late("6", phone("447700900106"))
	_, codes := late("7", func(p *nudgewire.Plan) { p.Proposals[0].Message.Send.Forget = true })
	l.lapse()
	doubtful.Doubtful = true
	l.must(l.Resolve(l.ctx, dropped.ID, nudgewire.ResolveDrop, "by hand"))
	l.must(l.Resolve(l.ctx, resolved.ID, nudgewire.ResolveResend, "by hand"))
	l.mustAccept(order("5"))
	if _, err := l.Block(l.ctx, []store.Block{{Phone: blocked.Phone, At: noon}}); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []nudgewire.Attempt{doubtful, drops, resolves, codes} {
		if err := l.Finish(l.ctx, lost); !errors.Is(err, nudgewire.ErrClaimLost) {
			t.Errorf("message %d: %v", lost.MessageID, err)
		}
	}
	for _, heard := range []nudgewire.Attempt{backs, offs, blocks} {
		if err := l.Finish(l.ctx, heard); err != nil {
			t.Errorf("message %d: %v", heard.MessageID, err)
		}
	}
	for d, want := range map[nudgewire.MessageID]nudgewire.State{
		back.ID: nudgewire.StateWaiting, off.ID: nudgewire.StateCancelled, blocked.ID: nudgewire.StateDropped,
		codes.MessageID: nudgewire.StateInDoubt, doubtful.MessageID: nudgewire.StateInDoubt,
	} {
		if got := l.message(d); got.State != want {
			t.Errorf("message %d is %s: %s", d, got.State, got.Reason)
		}
	}
	attempts, err := l.Attempts(l.ctx, back.ID)
	if err != nil || len(attempts) != 1 || attempts[0].State != nudgewire.StateWaiting {
		t.Errorf("attempts %+v (%v): one in doubt would count as sent", attempts, err)
	}
	if got := l.message(back.ID); !got.DueAt.Equal(noon.Add(3 * time.Hour)) {
		t.Errorf("it is due %s", got.DueAt)
	}
}

func (s suite) aLateAnswerToAnAttemptBegunAnewIsNotHeard(t *testing.T) {
	l := s.open(t)
	first := l.claimed("1", category(nudgewire.Authentication))
	l.lapse()
	second := l.mustClaim(noon.Add(2*time.Hour), 1)[0]
	if err := l.Finish(l.ctx, attempt(first, nudgewire.StateAccepted)); !errors.Is(err, nudgewire.ErrClaimLost) {
		t.Errorf("error %v", err)
	}
	l.mustFinish(second, nudgewire.StateAccepted)
}

func (s suite) aLateAnswerToRenewedContentIsNotHeard(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", category(nudgewire.Authentication))
	l.lapse()
	l.settleBy(func(_ nudgewire.Proposal, f nudgewire.Facts) nudgewire.Settlement {
		return nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: f.Waiting[0].ID, DueAt: noon.Add(3 * time.Hour)}
	})
	l.mustAccept(cart("1", dedupe("again"), category(nudgewire.Authentication)))
	if err := l.Finish(l.ctx, attempt(d, nudgewire.StateAccepted)); !errors.Is(err, nudgewire.ErrClaimLost) {
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
		waits := nudgewire.StateCancelled
		if off == called["not called off"] {
			waits = nudgewire.StateWaiting
		}
		for _, c := range []struct{ word, becomes nudgewire.State }{
			{nudgewire.StateAccepted, nudgewire.StateAccepted},
			{nudgewire.StateRejected, nudgewire.StateRejected},
			{nudgewire.StateWaiting, waits},
			{nudgewire.StateInDoubt, ""},
			{nudgewire.StateDropped, ""},
		} {
			t.Run(string(c.word)+", "+when, func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1", category(nudgewire.Marketing))
				if off.before {
					l.mustAccept(order("1"))
				}
				l.lapse()
				same(t, "after the lapse", nudgewire.StateInDoubt, l.message(d.ID).State)
				if off.after {
					l.mustAccept(order("1"))
				}
				before := l.message(d.ID)
				d.UpdatedAt = noon.Add(2 * time.Hour)
				err := l.Finish(l.ctx, attempt(d, c.word))
				if c.becomes == "" {
					if !errors.Is(err, nudgewire.ErrClaimLost) {
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
