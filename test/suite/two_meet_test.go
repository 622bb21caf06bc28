package suite

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// nodeMeets is what people and rules do at one node while another works on the same rows.
func (p pair) nodeMeets(t *testing.T) {
	t.Run("of a run that is cancelled at one node nothing leaves at the other, and what comes back there is ended once", p.cancelMeets)
	t.Run("what one node plans anew the other sends as it was or as it is, never both", p.replanMeets)
	t.Run("a run that is open at one node is open at the other", p.overlapMeets)
	t.Run("what one node put off for the night the other leaves alone", p.nightMeets)
	t.Run("parts of two nodes share the room for contacts", p.roomMeets)
	t.Run("of a file and a message to one contact at two nodes only one goes", p.fileMeetsMessage)
}

func (p pair) cancelMeets(t *testing.T) {
	soon := noon.Add(time.Minute)
	a, b := p.two(t)
	r := a.handedOver("1", 6)
	claims := b.mustClaim(soon, 2)
	r = a.mustSet(r, messaging.RunCancelled)
	if n, err := a.CancelRows(a.ctx, r.ID, "cancelled by Ann"); n != 4 || err != nil {
		t.Fatalf("%d rows ended, %v", n, err)
	}
	until(t, "the other knows of it", func() bool { return len(b.halted()) == 1 })
	for i := range claims {
		until(t, "its last look says so", func() bool { _, halted := b.Held(&claims[i]); return halted })
	}
	b.mustFinish(claims[0], messaging.StateWaiting)
	same(t, "claimed by both", 0, len(both(t, soon, a, b)))
	for _, l := range []*ledger{a, b} {
		if n, left, err := l.EndCancelled(l.ctx); n != 0 || !left || err != nil {
			t.Errorf("with one under way %d rows ended, %v, %v", n, left, err)
		}
	}
	b.mustFinish(claims[1], messaging.StateWaiting)
	var ended atomic.Int64
	together(4, func(i int) {
		l := []*ledger{a, b}[i%2]
		n, left, err := l.EndCancelled(l.ctx)
		if left || err != nil {
			t.Errorf("left %v, %v", left, err)
		}
		ended.Add(n)
	})
	same(t, "ended, once each", int64(2), ended.Load())
	same(t, "rows", map[string]int64{"cancelled": 6}, b.runMessages(r.ID))
	same(t, "claimed at last", 0, len(both(t, soon, a, b)))
	until(t, "both let go of it", func() bool { return len(a.halted())+len(b.halted()) == 0 })
	a.totals(map[string]int64{"messages": 6, "messages_cancelled": 6})
}

func (p pair) replanMeets(t *testing.T) {
	at := noon.Add(time.Hour)
	a, b := p.two(t)
	const n = 60
	for i := range n {
		a.enqueue(fmt.Sprint(i), phone(messaging.Phone(fmt.Sprintf("4477009%05d", i))))
	}
	edit := func(d *messaging.Message, _ func() (messaging.Event, error)) (store.Replanned, error) {
		to := *d
		to.Config, to.Reason, to.Send.Template = "v2", "planned anew", "edited"
		return store.Replanned{Anew: &messaging.Proposal{Decision: messaging.Decision{Trigger: d.Trigger, Outcome: messaging.Planned}, Message: to}}, nil
	}
	var anew atomic.Int64
	claimed := make([][]messaging.Message, 4)
	together(4, func(i int) {
		l := []*ledger{a, b}[i%2]
		if i < 2 {
			got, err := l.Replan(l.ctx, "remind", "v1", edit)
			if err != nil {
				t.Error(err)
			}
			anew.Add(got.Anew)
			return
		}
		for range 10 {
			got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: fmt.Sprint("node ", i), Now: at, Lease: time.Minute, Marketing: 3})
			if err != nil {
				t.Error(err)
			}
			claimed[i] = append(claimed[i], got...)
		}
	})
	sent := map[messaging.MessageID]bool{}
	old := int64(0)
	for _, some := range append(claimed, both(t, at, a, b)) {
		for _, d := range some {
			if sent[d.ID] {
				t.Errorf("message %d is sent twice", d.ID)
			}
			sent[d.ID] = true
			if d.Config == "v1" {
				old++
			}
			if want := map[string]string{"v1": "reminder", "v2": "edited"}[d.Config]; d.Send.Template != want {
				t.Errorf("message %d of %s is sent with %q", d.ID, d.Config, d.Send.Template)
			}
			if is := a.message(d.ID); is.Config != d.Config || is.Send.Template != d.Send.Template {
				t.Errorf("message %d was sent as of %s, and is told as of %s", d.ID, d.Config, is.Config)
			}
		}
	}
	same(t, "planned anew or sent as they were", int64(n), anew.Load()+old)
}

func (p pair) overlapMeets(t *testing.T) {
	a, b := p.two(t)
	r := a.uploading("1", 1)
	open, err := b.OpenRuns(b.ctx, r.Job)
	if err != nil || len(open) != 1 || open[0].ID != r.ID {
		t.Fatalf("open at the other: %v, %v", open, err)
	}
	skipped := aRun(r.Job, "2")
	skipped.State, skipped.Reason, skipped.EndedAt = messaging.RunSkipped, "run 1 is still uploading (overlap: skip)", noon
	var won atomic.Int64
	together(4, func(i int) {
		l := []*ledger{a, b}[i%2]
		if _, first, err := l.StartRun(l.ctx, skipped); err != nil {
			t.Error(err)
		} else if first {
			won.Add(1)
		}
	})
	same(t, "left out once", int64(1), won.Load())
	a.mustSet(r, messaging.RunDone)
	if open, err := b.OpenRuns(b.ctx, r.Job); err != nil || len(open) != 0 {
		t.Errorf("open at the other afterwards: %v, %v", open, err)
	}
}

func (p pair) nightMeets(t *testing.T) {
	at, morning := noon.Add(time.Hour), noon.Add(9*time.Hour)
	a, b := p.two(t)
	for _, l := range []*ledger{a, b} {
		l.ruleBy(atMost{n: 1, within: 24 * time.Hour, quiet: nightUntil(morning)})
	}
	for i := range 20 { // two for each of ten
		a.enqueue(fmt.Sprint(i), phone(messaging.Phone(fmt.Sprintf("4477009%05d", i%10))))
	}
	same(t, "claimed in the night", 0, len(both(t, at, a, b)))
	for id := range messaging.MessageID(20) {
		if d := b.story(id + 1); len(d.Verdicts) != 1 || d.Verdicts[0].Times != 1 || !d.DueAt.Equal(morning) {
			t.Fatalf("put off %+v, due %s", d.Verdicts, d.DueAt)
		}
	}
	a.review(20)
	got := both(t, morning, a, b)
	phones := map[messaging.Phone]bool{}
	for i := range got {
		if phones[got[i].Phone] {
			t.Errorf("%s gets two within a day", got[i].Phone)
		}
		phones[got[i].Phone] = true
	}
	same(t, "claimed in the morning", 10, len(got))
}

func (p pair) roomMeets(t *testing.T) {
	a, b := p.two(t)
	room := func(from int) messaging.QuotaQuestion {
		q := messaging.QuotaQuestion{Now: noon, Per: 24 * time.Hour, Most: 10, Least: 6}
		for i := range 6 {
			q.Phones = append(q.Phones, messaging.Phone(fmt.Sprintf("4477009%05d", from+i)))
		}
		return q
	}
	questions := []messaging.QuotaQuestion{room(0), room(100)}
	r := a.listed("1", questions[0].Phones, questions[1].Phones)
	var taken atomic.Int64
	together(2, func(i int) {
		l := []*ledger{a, b}[i]
		c := l.cut(r.ID, i+1, noon)
		c.Room = &questions[i]
		_, claimed, err := l.ClaimPart(l.ctx, c)
		if err != nil {
			t.Error(err)
		}
		if claimed {
			taken.Add(1)
		}
	})
	same(t, "parts that had room", int64(1), taken.Load())
	for i, l := range []*ledger{a, b} {
		got, err := l.Room(l.ctx, questions[1-i])
		if err != nil || got.Contacts != 6 {
			t.Errorf("node %d counts %+v, %v", i, got, err)
		}
	}
}

func (p pair) fileMeetsMessage(t *testing.T) {
	a, b := p.two(t)
	b.ruleBy(atMost{n: 1, within: 24 * time.Hour})
	for i := range 20 {
		to := messaging.Phone(fmt.Sprintf("447911%06d", i))
		r := a.listed(fmt.Sprint(i), []messaging.Phone{to})
		c := a.cut(r.ID, 1, noon)
		b.enqueue(fmt.Sprint(i), phone(to))
		file, single := false, 0
		together(2, func(i int) {
			var err error
			if i == 0 {
				_, file, err = a.ClaimPart(a.ctx, c)
			} else {
				var got []messaging.Message
				got, err = b.Claim(b.ctx, messaging.ClaimRequest{Owner: owner, Now: noon.Add(time.Hour), Lease: time.Minute, Marketing: 9})
				single = len(got)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if file == (single > 0) {
			t.Errorf("the file goes: %v, and %d messages", file, single)
		}
	}
}
