package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// probesClaimed: a claim that shows whether the service is well again asks the most urgent lane first, and for another phone and content than failed.
func (s suite) probesClaimed(t *testing.T) {
	at := noon.Add(time.Hour)
	all := [len(messaging.Lanes)]bool{true, true, true}
	template := func(name string) messaging.Send { return messaging.Send{Template: name} }
	l := s.open(t)
	l.enqueue("dear code", category(messaging.Authentication), sends(template("code")), phone("8801700900100"), due(noon))
	l.enqueue("code", category(messaging.Authentication), sends(template("code")), phone("447700900101"), due(noon.Add(2*time.Minute)))
	l.enqueue("parcel", category(messaging.Utility), sends(template("parcel")), phone("447700900102"), due(noon.Add(time.Minute)))
	l.enqueue("cart", sends(template("cart")), phone("447700900103"), due(noon))
	for name, tt := range map[string]struct {
		lanes    [len(messaging.Lanes)]bool
		phones   []messaging.Phone
		contents []messaging.Send
		want     string
	}{
		"the most urgent lane first":                         {all, nil, nil, "dear code"},
		"another phone":                                      {all, []messaging.Phone{"8801700900100"}, nil, "code"},
		"another content and phone, even if less urgent":     {all, []messaging.Phone{"8801700900100"}, []messaging.Send{template("code")}, "parcel"},
		"the lanes that are held":                            {[3]bool{false, false, true}, nil, []messaging.Send{template("cart")}, "cart"},
		"what failed itself where there is nothing else":     {[3]bool{false, false, true}, []messaging.Phone{"447700900103"}, []messaging.Send{template("cart")}, "cart"},
		"all that failed is passed over where there is more": {all, []messaging.Phone{"8801700900100", "447700900102"}, []messaging.Send{template("code"), template("parcel")}, "cart"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := l.ClaimProbe(l.ctx, messaging.ProbeRequest{Owner: owner, Now: at, Lease: time.Minute, Lanes: tt.lanes, Phones: tt.phones, Contents: tt.contents})
			if err != nil || len(got) != 1 || got[0].Key != tt.want {
				t.Fatalf("claimed %+v (%v)", got, err)
			}
			a := attempt(got[0], messaging.StateWaiting)
			a.RetryAt = got[0].DueAt
			if err := l.Finish(l.ctx, a); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("nothing is due", func(t *testing.T) {
		if got, err := l.ClaimProbe(l.ctx, messaging.ProbeRequest{Owner: owner, Now: noon.Add(-time.Hour), Lease: time.Minute, Lanes: all}); err != nil || len(got) != 0 {
			t.Errorf("claimed %+v (%v)", got, err)
		}
	})
	t.Run("what was never tried goes before what was", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("tried", phone("8801700900100"), due(noon))
		tried := attempt(l.mustClaim(at, 1)[0], messaging.StateWaiting)
		if tried.RetryAt, tried.Called = noon, true; l.Finish(l.ctx, tried) != nil {
			t.Fatal("finish")
		}
		l.enqueue("fresh", phone("447700900101"), due(noon.Add(2*time.Minute)))
		got, err := l.ClaimProbe(l.ctx, messaging.ProbeRequest{Owner: owner, Now: at, Lease: time.Minute, Lanes: all})
		if err != nil || len(got) != 1 || got[0].Key != "fresh" {
			t.Errorf("claimed %+v (%v)", got, err)
		}
	})
	t.Run("tries are calls, and not claims", func(t *testing.T) {
		l := s.open(t)
		id := l.enqueue("1")
		for i, called := range []bool{false, true, false, true} {
			a := attempt(l.mustClaim(at.Add(time.Duration(i)*time.Hour), 1)[0], messaging.StateWaiting)
			if a.Called = called; l.Finish(l.ctx, a) != nil {
				t.Fatal("finish")
			}
		}
		if d := l.message(id); d.Attempt != 4 || d.Tries != 2 {
			t.Errorf("%d claims and %d tries", d.Attempt, d.Tries)
		}
	})
}
