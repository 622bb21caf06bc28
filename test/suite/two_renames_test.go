package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// The keys of what stands under each name of before: what was sent, what waits, with and without a key, and an order that came first.
var keysBefore = []string{"sent", "waits", "", "bought"}

// whoseKey is the contact of one of them.
func whoseKey(i int) change { return phone(messaging.Phone(fmt.Sprintf("4479110000%02d", i))) }

// beforeRename stores what stands under the names of before.
func (l *ledger) beforeRename() {
	l.t.Helper()
	for i, key := range keysBefore {
		if key == "bought" {
			l.mustAccept(order(key, whoseKey(i)))
			continue
		}
		id := l.enqueue(key, whoseKey(i))
		if key == "sent" {
			claims := l.mustClaim(noon.Add(time.Hour), 1)
			if len(claims) != 1 || claims[0].ID != id {
				l.t.Fatalf("claimed %v", claims)
			}
			l.mustFinish(claims[0], messaging.StateAccepted)
		}
	}
}

// remembers holds that a trigger of this name finds all that stood under the names of before.
func (l *ledger) remembers(name string, round int) {
	l.t.Helper()
	for i, key := range keysBefore {
		l.mustAccept(cart(key, whoseKey(i), calledOnce(name), dedupe(fmt.Sprint(round, name, key))))
		switch f := l.lastFacts(); key {
		case "sent":
			if f.Last == nil {
				l.t.Errorf("%s, round %d: what was sent is forgotten", name, round)
			}
		case "bought":
			if f.Tombstone == nil {
				l.t.Errorf("%s, round %d: the order that came first is forgotten", name, round)
			}
		default:
			if len(f.Waiting) == 0 {
				l.t.Errorf("%s, round %d: what waits by key %q is not found", name, round, key)
			}
		}
	}
}

// nodeRenames is what a node finds whose config has the name before, once another has renamed a trigger or job.
func (p pair) nodeRenames(t *testing.T) {
	a, b := p.two(t)
	a.beforeRename()
	run := a.mustStart(aRun("winback", "1"))
	_, err := a.LastScheduled(a.ctx, "winback", "0 9 * * *", noon)
	a.must(err)
	a.must(a.Rename(a.ctx, []store.Rename{
		{About: store.RenamedTrigger, Was: "remind", Name: "nudge"},
		{About: store.RenamedJob, Was: "winback", Name: "weekly"},
	}))
	for round := range 2 { // once more after what the node with the old name had stored has taken the new one
		b.remembers("remind", round)
		a.remembers("nudge", round)
		a.must(a.Rename(a.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}))
	}
	b.mustAccept(order("waits", whoseKey(1), calledOnce("remind"), dedupe("ordered")))
	for _, d := range both(t, noon.Add(2*time.Hour), a, b) {
		if d.Key == "waits" {
			t.Errorf("message %d of %s goes after its order", d.ID, d.Trigger)
		}
	}
	open, err := b.OpenRuns(b.ctx, "winback")
	if err != nil || len(open) != 1 || open[0].ID != run.ID || open[0].Job != "weekly" {
		t.Errorf("open runs: %+v, %v", open, err)
	}
	if id, won, err := b.StartRun(b.ctx, aRun("winback", "1")); err != nil || won || id != run.ID {
		t.Errorf("the slot begins once more: run %d, %v, %v", id, won, err)
	}
	if at, err := b.LastScheduled(b.ctx, "winback", "0 9 * * *", noon.Add(time.Hour)); err != nil || !at.Equal(noon) {
		t.Errorf("its clock says %s, %v", at, err)
	}
	// A day later, since a node with the key has renewed it.
	late := noon.Add(24 * time.Hour)
	a.at(late)
	b.at(late)
	a.must(a.RenewRenames(a.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}))
	until(t, "the other hears of it", func() bool {
		return store.NameNow(b.Renames(), store.RenamedTrigger, "remind", late) == "nudge"
	})
	b.mustAccept(cart("sent", whoseKey(0), calledOnce("remind"), dedupe("late")))
	if b.lastFacts().Last == nil {
		t.Error("a day later what was sent is forgotten")
	}
}
