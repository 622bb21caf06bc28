package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// nodeRenames is what a node finds whose config has the name before, once another has renamed a trigger or job.
func (p pair) nodeRenames(t *testing.T) {
	called := func(name string) change {
		return func(p *nudgewire.Plan) {
			trigger(name)(p)
			p.Proposals[0].Cooldown.Mode = nudgewire.CooldownOnce
			p.Proposals[0].Message.Trigger = name
		}
	}
	a, b := p.two(t)
	// Under each name of before: what was sent, what waits, and an order that came first.
	for i, key := range []string{"sent", "waits", "", "bought"} {
		person := phone(nudgewire.Phone(fmt.Sprintf("4479110000%02d", i)))
		if key == "bought" {
			a.mustAccept(order(key, person))
			continue
		}
		id := a.enqueue(key, person)
		if key == "sent" {
			claims := a.mustClaim(noon.Add(time.Hour), 1)
			if len(claims) != 1 || claims[0].ID != id {
				t.Fatalf("claimed %v", claims)
			}
			a.mustFinish(claims[0], nudgewire.StateAccepted)
		}
	}
	run := a.mustStart(aRun("winback", "1"))
	if _, err := a.LastScheduled(a.ctx, "winback", "0 9 * * *", noon); err != nil {
		t.Fatal(err)
	}
	if err := a.Rename(a.ctx, []store.Rename{
		{About: store.RenamedTrigger, Was: "remind", Name: "nudge"},
		{About: store.RenamedJob, Was: "winback", Name: "weekly"},
	}); err != nil {
		t.Fatal(err)
	}
	for round := range 2 { // once more after what the node with the old name had stored has taken the new one
		for _, l := range []*ledger{b, a} {
			name := map[*ledger]string{a: "nudge", b: "remind"}[l]
			for i, key := range []string{"sent", "waits", "", "bought"} {
				person := phone(nudgewire.Phone(fmt.Sprintf("4479110000%02d", i)))
				l.mustAccept(cart(key, person, called(name), dedupe(fmt.Sprint(round, name, key))))
				switch f := l.lastFacts(); key {
				case "sent":
					if f.Last == nil {
						t.Errorf("%s, round %d: what was sent is forgotten", name, round)
					}
				case "bought":
					if f.Tombstone == nil {
						t.Errorf("%s, round %d: the order that came first is forgotten", name, round)
					}
				default:
					if len(f.Waiting) == 0 {
						t.Errorf("%s, round %d: what waits by key %q is not found", name, round, key)
					}
				}
			}
		}
		if err := a.Rename(a.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}); err != nil {
			t.Fatal(err)
		}
	}
	b.mustAccept(order("waits", phone("447911000001"), called("remind"), dedupe("ordered")))
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
	if err := a.RenewRenames(a.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the other hears of it", func() bool {
		return store.NameNow(b.Renames(), store.RenamedTrigger, "remind", late) == "nudge"
	})
	b.mustAccept(cart("sent", phone("447911000000"), called("remind"), dedupe("late")))
	if b.lastFacts().Last == nil {
		t.Error("a day later what was sent is forgotten")
	}
}
