package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// renamed has the trigger remind be called nudge.
func (l *ledger) recalledOnce() {
	l.t.Helper()
	for range 2 { // again it changes nothing
		l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}))
	}
}

// calledOnce has a plan be of a trigger that sends once.
func calledOnce(name string) change {
	return func(p *messaging.Plan) {
		trigger(name)(p)
		p.Proposals[0].Cooldown.Mode = messaging.CooldownOnce
		p.Proposals[0].Message.Trigger = name
	}
}

// A trigger or job that has another name keeps what it had under the old one.
func (s suite) renames(t *testing.T) {
	const other = messaging.Phone("447700900999")
	after := noon.Add(2 * time.Hour)
	for _, keyed := range []bool{true, false} {
		key := map[bool]string{true: "1", false: ""}[keyed]
		t.Run(fmt.Sprintf("what was sent once is remembered, also after a restart, keyed %v", keyed), func(t *testing.T) {
			l := s.open(t)
			sent := l.enqueue(key)
			l.mustFinish(l.mustClaim(noon.Add(time.Hour), 1)[0], messaging.StateAccepted)
			l.recalledOnce()
			for i := range 2 {
				l.at(after)
				l.mustAccept(cart(key, calledOnce("nudge"), dedupe(fmt.Sprint("again", i))))
				if last := l.lastFacts().Last; last == nil || last.ID != sent {
					t.Errorf("last: %+v", last)
				}
				l.mustAccept(cart(key, calledOnce("remind"), dedupe(fmt.Sprint("old", i))))
				if last := l.lastFacts().Last; last != nil {
					t.Errorf("another trigger that has the old name now finds %+v", last)
				}
				l = reopenAfter(t, l)
			}
		})
		t.Run(fmt.Sprintf("what waits is found, cancelled, and held by the halt, keyed %v", keyed), func(t *testing.T) {
			l := s.open(t)
			id := l.enqueue(key)
			far := l.enqueue("2", phone(other))
			l.must(l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind", Reason: "wait"}))
			l.recalledOnce()
			same(t, "trigger", "nudge", l.message(id).Trigger)
			same(t, "claimed while it is halted", 0, len(l.mustClaim(noon.Add(time.Hour), 5)))
			l.mustAccept(cart(key, calledOnce("nudge"), dedupe("again")))
			if w := l.lastFacts().Waiting; len(w) == 0 || w[0].ID != id { // here all are queued
				t.Errorf("waiting: %+v", w)
			}
			l.mustAccept(order(key, calledOnce("nudge")))
			same(t, "state", messaging.StateCancelled, l.message(id).State)
			same(t, "state of another's", messaging.StateWaiting, l.message(far).State)
			l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Name: "nudge", Kind: messaging.HoldHalt}))
			same(t, "claimed", 1, len(l.mustClaim(noon.Add(time.Hour), 5)))
		})
		t.Run(fmt.Sprintf("an order that came first is remembered, keyed %v", keyed), func(t *testing.T) {
			l := s.open(t)
			l.mustAccept(order(key))
			l.recalledOnce()
			l.mustAccept(cart(key, calledOnce("nudge")))
			if g := l.lastFacts().Tombstone; g == nil || g.EventID != 1 {
				t.Errorf("tombstone: %+v", g)
			}
		})
	}
	t.Run("a name that follows another knows both, and what was decided meanwhile under the old one", s.aNameThatFollowsAnotherKnowsBoth)
	t.Run("a name that it had before is its own again, also for who knows only the name between", s.aNameThatItHadBefore)
	t.Run("the window of a rate goes on", s.theWindowOfARateGoesOn)
	t.Run("runs of a job, its clock and its window", s.runsOfARenamedJobItsClockAndItsWindow)
}

func (s suite) aNameThatFollowsAnotherKnowsBoth(t *testing.T) {
	l := s.open(t)
	l.enqueue("1")
	l.mustFinish(l.mustClaim(noon.Add(time.Hour), 1)[0], messaging.StateAccepted)
	l.recalledOnce()
	l.mustAccept(cart("1", calledOnce("remind"), dedupe("late")))
	if last := l.lastFacts().Last; last == nil {
		t.Error("what the old config decides meanwhile knows nothing of what was sent")
	}
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "nudge", Name: "third"}}))
	l.mustAccept(cart("1", calledOnce("third"), dedupe("third")))
	if last := l.lastFacts().Last; last == nil || last.ID != 1 {
		t.Errorf("last: %+v", last)
	}
}

func (s suite) aNameThatItHadBefore(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1")
	l.recalledOnce()
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "nudge", Name: "third"}}))
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "third", Name: "remind"}}))
	same(t, "trigger", "remind", l.message(id).Trigger)
	for _, name := range []string{"remind", "nudge", "third"} {
		same(t, name+" is called", "remind", store.NameNow(l.Renames(), store.RenamedTrigger, name, noon))
		l.mustAccept(cart("1", calledOnce(name), dedupe(name)))
		if w := l.lastFacts().Waiting; len(w) == 0 || w[0].ID != id { // here all are queued
			t.Errorf("under %s there waits: %+v", name, w)
		}
	}
}

func (s suite) theWindowOfARateGoesOn(t *testing.T) {
	l := s.open(t)
	l.ruleBy(paced{most: map[string]int64{"remind": 2, "nudge": 2}})
	for i := range 4 {
		l.enqueue(fmt.Sprint(i), calledOnce("remind"))
	}
	same(t, "claimed", 1, len(l.mustClaim(noon.Add(time.Hour), 1)))
	l.recalledOnce()
	same(t, "claimed after it", 1, len(l.mustClaim(noon.Add(time.Hour), 5)))
}

func (s suite) runsOfARenamedJobItsClockAndItsWindow(t *testing.T) {
	l := s.open(t)
	r := l.mustStart(aRun("winback", "1"))
	at, err := l.LastScheduled(l.ctx, "winback", "0 9 * * *", noon)
	l.must(err)
	for range 2 {
		l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedJob, Was: "winback", Name: "weekly"}}))
	}
	got, err := l.Run(l.ctx, r.ID)
	if err != nil || got.Job != "weekly" || got.Slot != r.Slot {
		t.Errorf("%+v, %v", got, err)
	}
	now, err := l.LastScheduled(l.ctx, "weekly", "0 9 * * *", noon.Add(time.Hour))
	if err != nil || !now.Equal(at) {
		t.Errorf("its clock was %s and is %s, %v", at, now, err)
	}
	if _, won, err := l.StartRun(l.ctx, aRun("weekly", "1")); err != nil || won {
		t.Errorf("the same slot began twice: %v, %v", won, err)
	}
}
