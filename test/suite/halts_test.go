package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (l *ledger) mustHalt(h messaging.Hold) {
	l.t.Helper()
	l.must(l.Hold(l.ctx, h))
}

// halts are orders of people to send nothing of a name, or nothing at all.
func (s suite) halts(t *testing.T) {
	t.Run("everything waits with its due time, over a restart, until it is resumed", s.everythingWaitsUntilItIsResumed)
	for _, c := range []struct {
		name string
		halt messaging.Hold
		want string // key of what is still claimed
	}{
		{"a trigger alone", messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"}, ""},
		{"another trigger stops nothing", messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remin"}, "ab"},
		{"a template alone, by its whole name", messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "offer"}, "b"},
		{"a job of the trigger's name stops no trigger", messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "remind"}, "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.open(t)
			l.enqueue("a", due(noon), template("offer"))
			l.enqueue("b", due(noon), template("offer2"))
			l.must(l.Hold(l.ctx, c.halt))
			got := ""
			for _, d := range l.mustClaim(noon.Add(time.Minute), 9) {
				got += d.Key
				if h, halted := l.Held(&d); halted {
					t.Errorf("%s was claimed, and %s is halted", d.Key, h.What())
				}
			}
			same(t, "claimed", c.want, got)
		})
	}
	t.Run("what expires while it is halted is dropped", s.whatExpiresWhileHaltedIsDropped)
	t.Run("a name is known while something of it is unsent", s.unsent)
	t.Run("a run is kept back by its job, its template, or everything", s.aRunIsKeptBackByItsJobItsTemplateOrEverything)
	t.Run("what is halted and what is not are claimed apart, after the last halt as before the first", s.whatIsHaltedAndWhatIsNotAreClaimedApart)
	t.Run("a backlog that is halted hides nothing", s.aBacklogThatIsHaltedHidesNothing)
	t.Run("a scope without a name is refused", s.aScopeWithoutANameIsRefused)
}

func (s suite) everythingWaitsUntilItIsResumed(t *testing.T) {
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	id := l.enqueue("a", due(noon))
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, Reason: "wrong price", At: noon}))
	l.close()
	l = reopen(t, dsn)
	if got := l.mustClaim(noon.Add(time.Minute), 9); len(got) != 0 {
		t.Fatalf("claimed %d while everything is halted", len(got))
	}
	if _, ok, err := l.NextDue(l.ctx); ok || err != nil {
		t.Errorf("next due: %v, %v; want nothing", ok, err)
	}
	if _, held := l.Held(&messaging.Message{Trigger: "winback"}); !held {
		t.Error("a job is not halted with everything")
	}
	list, err := l.Holds(l.ctx)
	l.must(err)
	same(t, "halts", []messaging.Hold{{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, Reason: "wrong price", At: noon}}, list)
	l.at(noon.Add(2 * time.Minute))
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}))
	same(t, "the sender is woken for", noon.Add(2*time.Minute), l.woken(noon.Add(2*time.Minute)))
	got := l.mustClaim(noon.Add(2*time.Minute), 9)
	if len(got) != 1 || got[0].ID != id || !got[0].DueAt.Equal(noon) {
		t.Errorf("claimed after resume: %+v", got)
	}
	if err := l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a second resume: %v", err)
	}
}

func (s suite) whatExpiresWhileHaltedIsDropped(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("a", due(noon), expires(noon.Add(time.Minute)))
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"}))
	l.mustClaim(noon.Add(time.Hour), 9)
	same(t, "state", messaging.StateDropped, l.message(id).State)
}

func (s suite) aRunIsKeptBackByItsJobItsTemplateOrEverything(t *testing.T) {
	l := s.open(t)
	run := &messaging.Run{Job: "winback", Send: messaging.Send{Template: "offer"}}
	for _, c := range []struct {
		halt messaging.Hold
		want bool
	}{
		{messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}, true},
		{messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "winback"}, true},
		{messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "offer"}, true},
		{messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "offer2"}, false},
		{messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "winback"}, false},
		{messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "spring"}, false},
	} {
		l.must(l.Hold(l.ctx, c.halt))
		h, halted, err := l.RunHeld(l.ctx, run)
		if err != nil || halted != c.want || (halted && h.What() != c.halt.What()) {
			t.Errorf("%s: halted %v by %s, %v", c.halt.What(), halted, h.What(), err)
		}
		l.must(l.EndHold(l.ctx, c.halt))
	}
}

func (s suite) whatIsHaltedAndWhatIsNotAreClaimedApart(t *testing.T) {
	l := s.open(t)
	l.enqueue("a", due(noon), template("offer"))
	l.enqueue("b", due(noon))
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "offer"}))
	same(t, "while halted", 1, len(l.mustClaim(noon.Add(time.Minute), 9)))
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTemplate, Name: "offer", Kind: messaging.HoldHalt}))
	same(t, "resumed", 1, len(l.mustClaim(noon.Add(time.Minute), 9)))
	l.enqueue("c", due(noon), template("offer"))
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "offer"}))
	same(t, "halted again", 0, len(l.mustClaim(noon.Add(time.Minute), 9)))
}

func (s suite) aBacklogThatIsHaltedHidesNothing(t *testing.T) {
	l := s.open(t)
	keys := func(at time.Time) (got string) {
		for _, d := range l.mustClaim(at, 99) {
			got += d.Key
		}
		return got
	}
	for i, key := range []string{"a", "b", "c", "d"} {
		l.enqueue(key, due(noon.Add(time.Duration(i)*time.Second)), template("offer"))
	}
	id := l.enqueue("e", due(noon), template("offer"), expires(noon.Add(10*time.Minute)))
	l.enqueue("f", due(noon.Add(time.Minute)))
	l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "offer"}))
	same(t, "what stands behind the backlog", "f", keys(noon.Add(2*time.Minute)))
	same(t, "nothing more", "", keys(noon.Add(2*time.Minute)))
	l.enqueue("g", due(noon.Add(time.Second)))
	same(t, "what falls due in front of it, later", "g", keys(noon.Add(3*time.Minute)))
	l.enqueue("h", due(noon.Add(-time.Hour)), template("offer"))
	same(t, "what is halted and falls due in front of it", "", keys(noon.Add(3*time.Minute)))
	d := l.claimed("i", due(noon.Add(2*time.Second)))
	l.mustFinish(d, messaging.StateWaiting)
	same(t, "what is tried again", "i", keys(noon.Add(2*time.Hour)))
	same(t, "what has expired in its midst", messaging.StateDropped, l.message(id).State)
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTemplate, Name: "offer", Kind: messaging.HoldHalt}))
	same(t, "resumed, all of it by due time", "habcd", keys(noon.Add(2*time.Hour)))
}

func (s suite) aScopeWithoutANameIsRefused(t *testing.T) {
	l := s.open(t)
	wantErr(t, l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt}), `halt: "job" "" is nothing that can be halted`)
}
