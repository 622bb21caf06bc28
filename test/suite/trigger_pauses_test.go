package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// mustPause has these triggers, and no others, be paused, as a reload does.
func (l *ledger) mustPause(why map[string]string) {
	l.t.Helper()
	l.must(l.PauseTriggers(l.ctx, why, noon))
}

// pauses is what becomes of what waits of a trigger that the config does not send by any more.
func (s suite) pauses(t *testing.T) {
	t.Run("it waits over a restart, and goes on with its due time", s.aPauseLastsOverARestart)
	t.Run("another trigger, and a job of its name, go on", s.anotherTriggerAndAJobOfItsNameGoOn)
	t.Run("what was being sent comes back and stays", s.whatWasBeingSentComesBackAndStays)
	t.Run("what is sent again after a doubt stays", s.whatIsSentAgainAfterADoubtStays)
	t.Run("its order cancels it, and its expiry drops it", s.whatIsPausedIsCancelledAndExpires)
	t.Run("a person releases it until the trigger sends again", s.aPersonReleasesItUntilTheTriggerSendsAgain)
	t.Run("a person's halt and the pause end apart", s.aPersonsHaltAndThePauseEndApart)
	t.Run("many are counted and cancelled at once", s.manyAreCountedAndCancelledAtOnce)
}

func (s suite) aPauseLastsOverARestart(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	later := noon.Add(time.Minute)
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	id := l.enqueue("a", due(noon))
	l.mustPause(off)
	l.close()
	l = reopen(t, dsn)
	same(t, "claimed while paused", 0, len(l.mustClaim(later, 9)))
	names, err := l.UnsentTriggers(l.ctx)
	l.must(err)
	same(t, "triggers of which something waits", []string{"remind"}, names)
	l.at(later)
	l.mustPause(nil)
	same(t, "the sender is woken for", later, l.woken(later))
	got := l.mustClaim(later, 9)
	if len(got) != 1 || got[0].ID != id || !got[0].DueAt.Equal(noon) {
		t.Errorf("claimed afterwards: %+v", got)
	}
	halts, err := l.Holds(l.ctx)
	l.must(err)
	same(t, "halts", []messaging.Hold(nil), halts)
}

func (s suite) anotherTriggerAndAJobOfItsNameGoOn(t *testing.T) {
	later := noon.Add(time.Minute)
	off := map[string]string{"remind": "is off"}
	l := s.open(t)
	l.enqueue("a", due(noon))
	l.mustPause(map[string]string{"remin": "is off"})
	same(t, "another trigger", 1, len(l.mustClaim(later, 9)))
	l.mustPause(off)
	row := messaging.Message{Trigger: "remind"}
	if h, halted := l.Held(&row); halted {
		t.Errorf("a row of a job is held by %s", h.What())
	}
}

func (s suite) whatWasBeingSentComesBackAndStays(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	later := noon.Add(time.Minute)
	l := s.open(t)
	d := l.claimed("a", due(noon))
	l.mustPause(off)
	if h, halted := l.Held(&d); !halted || h.Why() != `trigger "remind" is off` {
		t.Errorf("the last look: %v, %q", halted, h.Why())
	}
	l.mustFinish(d, messaging.StateWaiting)
	same(t, "claimed", 0, len(l.mustClaim(later.Add(time.Hour), 9)))
}

func (s suite) whatIsSentAgainAfterADoubtStays(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	later := noon.Add(time.Minute)
	l := s.open(t)
	d := l.claimed("a", due(noon))
	l.mustFinish(d, messaging.StateInDoubt)
	l.mustPause(off)
	l.must(l.Resolve(l.ctx, d.ID, messaging.ResolveResend, "not there"))
	same(t, "claimed", 0, len(l.mustClaim(later.Add(time.Hour), 9)))
}

func (s suite) whatIsPausedIsCancelledAndExpires(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	l := s.open(t)
	a := l.enqueue("a", due(noon))
	b := l.enqueue("b", due(noon), expires(noon.Add(time.Minute)))
	l.mustPause(off)
	l.mustAccept(order("a"))
	l.mustClaim(noon.Add(time.Hour), 9)
	same(t, "ordered", messaging.StateCancelled, l.message(a).State)
	same(t, "expired", messaging.StateDropped, l.message(b).State)
}

func (s suite) aPersonReleasesItUntilTheTriggerSendsAgain(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	later := noon.Add(time.Minute)
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	l.enqueue("a", due(noon))
	if err := l.Release(l.ctx, "remind", "Ann", noon); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("release of what is not paused: %v", err)
	}
	l.mustPause(off)
	l.must(l.Release(l.ctx, "remind", "Ann", noon))
	l.close()
	l = reopen(t, dsn)
	l.mustPause(off) // as a start does
	same(t, "claimed once released", 1, len(l.mustClaim(later, 9)))
	l.enqueue("b", due(noon))
	l.mustPause(nil)
	l.mustPause(off)
	same(t, "claimed once paused anew", 0, len(l.mustClaim(later, 9)))
}

func (s suite) aPersonsHaltAndThePauseEndApart(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	later := noon.Add(time.Minute)
	l := s.open(t)
	l.enqueue("a", due(noon))
	halt := messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"}
	l.must(l.Hold(l.ctx, halt))
	l.mustPause(off)
	l.must(l.EndHold(l.ctx, halt))
	same(t, "resumed and paused", 0, len(l.mustClaim(later, 9)))
	l.must(l.Hold(l.ctx, halt))
	l.mustPause(nil)
	same(t, "back in the config and halted", 0, len(l.mustClaim(later, 9)))
	l.must(l.EndHold(l.ctx, halt))
	same(t, "resumed", 1, len(l.mustClaim(later, 9)))
}

func (s suite) manyAreCountedAndCancelledAtOnce(t *testing.T) {
	off := map[string]string{"remind": "is off"}
	l := s.open(t)
	for _, key := range []string{"a", "b", "c"} {
		l.enqueue(key, due(noon), template("offer"))
	}
	l.enqueue("d", due(noon.Add(time.Hour)), template("offer"))
	l.enqueue("e", due(noon), template("other"))
	sending := l.mustClaim(noon, 1)[0]
	l.mustPause(off)
	f := store.MessageFilter{State: messaging.StateWaiting, Trigger: "remind", Template: "offer", DueBefore: noon.Add(time.Minute)}
	found, err := l.TallyByTrigger(l.ctx, f)
	l.must(err)
	same(t, "counted", []store.Tally{{Words: "remind", N: 2}}, found)
	for _, want := range []int64{2, 0} {
		if n, err := l.CancelAll(l.ctx, f, "cancelled by Ann"); n != want || err != nil {
			t.Errorf("cancelled %d, %v; want %d", n, err, want)
		}
	}
	same(t, "what was being sent", messaging.StateSending, l.message(sending.ID).State)
	if n, err := l.WaitingOf(l.ctx, "remind"); n != 2 || err != nil {
		t.Errorf("%d still wait, %v; want the one due later and that of another template", n, err)
	}
	l.totals(map[string]int64{"messages_cancelled": 2})
}
