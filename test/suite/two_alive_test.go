package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// nodeLives is what one node does with the claims of another.
func (p pair) nodeLives(t *testing.T) {
	const mine, theirs = "a:1:x", "b:1:y"
	claim := func(l *ledger, owner, key string) messaging.Message {
		t.Helper()
		l.enqueue(key)
		got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: owner, Now: noon.Add(time.Hour), Lease: time.Hour, Marketing: 1})
		if err != nil || len(got) != 1 {
			t.Fatalf("claimed %d, %v", len(got), err)
		}
		return got[0]
	}
	rescue := func(l *ledger, owner string) messaging.Rescued {
		t.Helper()
		n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), owner)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Run("the start of one leaves the claims of another that lives", func(t *testing.T) {
		a, b := p.two(t)
		rescue(a, mine)
		d := claim(a, mine, "1")
		if n := rescue(b, theirs); n != (messaging.Rescued{}) {
			t.Errorf("%+v were ended", n)
		}
		if got := b.message(d.ID); got.State != messaging.StateSending || got.Owner != mine {
			t.Errorf("it is %s of %q: %s", got.State, got.Owner, got.Reason)
		}
		a.mustFinish(d, messaging.StateAccepted)
	})
	t.Run("by a clock that is far ahead the claims of another that lives are not over", func(t *testing.T) {
		a, b := p.two(t)
		rescue(a, mine)
		rescue(b, theirs)
		d := claim(a, mine, "1")
		ahead := d.LeaseEnds.Add(5 * time.Minute)
		if n, err := b.RescueClaims(b.ctx, ahead, theirs); err != nil || n != (messaging.Rescued{}) {
			t.Errorf("%+v were ended, %v", n, err)
		}
		if n, err := a.RescueClaims(a.ctx, ahead, mine); err != nil || n != (messaging.Rescued{Doubtful: 1}) {
			t.Errorf("by its own clock %+v were ended, %v", n, err)
		}
	})
	t.Run("what one leaves that has said goodbye is ended by another, and may have been sent", func(t *testing.T) {
		a, b := p.two(t)
		rescue(a, mine)
		rescue(b, theirs)
		d := claim(a, mine, "1")
		a.close()
		if n := rescue(b, theirs); n != (messaging.Rescued{Doubtful: 1}) {
			t.Errorf("%+v were ended", n)
		}
		if got := b.message(d.ID); got.State != messaging.StateInDoubt {
			t.Errorf("it is %s: %s", got.State, got.Reason)
		}
	})
	t.Run("a process that starts anew in its folder knows which calls had not begun", func(t *testing.T) {
		a, b := p.two(t)
		rescue(a, mine)
		called, waiting := claim(a, mine, "1"), claim(a, mine, "2")
		a.must(a.BeginCall(0, called.ID, called.Attempt))
		rescue(b, theirs) // a lives still, for all that others know
		again := reopenAfter(t, a)
		if n := rescue(again, "a:2:z"); n != (messaging.Rescued{Doubtful: 1, Unsent: 1}) {
			t.Errorf("%+v were ended", n)
		}
		if got := again.message(waiting.ID); got.State != messaging.StateWaiting {
			t.Errorf("what was not called for is %s: %s", got.State, got.Reason)
		}
	})
}

// nodeLeads is who does what only one should do.
func (p pair) nodeLeads(t *testing.T) {
	a, b := p.two(t)
	for l, owner := range map[*ledger]string{a: "a:1:x", b: "b:1:y"} {
		if _, err := l.RescueClaims(l.ctx, noon, owner); err != nil {
			t.Fatal(err)
		}
	}
	if a.Leads() == b.Leads() {
		t.Fatalf("a leads: %v, b leads: %v", a.Leads(), b.Leads())
	}
	leader, other := a, b
	if b.Leads() {
		leader, other = b, a
	}
	leader.close()
	until(t, "the other leads", other.Leads)
}
