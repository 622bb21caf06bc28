package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// byTrigger, template, campaign and texts change who sends a cart, and what it asks for.
func byTrigger(name string) change {
	return func(p *messaging.Plan) {
		p.Proposals[0].Decision.Trigger, p.Proposals[0].Correlation.Trigger, p.Proposals[0].Message.Trigger = name, name, name
	}
}

func sends(s messaging.Send) change {
	return func(p *messaging.Plan) { p.Proposals[0].Message.Send = s }
}

// refuse is a call of a claim that the service refused once more.
func (l *ledger) refuse(d messaging.Message, what messaging.Refused, at time.Time) {
	l.t.Helper()
	a := attempt(d, messaging.StateWaiting)
	a.Refused, a.Called, a.RetryAt, a.At, a.Words = what, true, d.DueAt, at, "no such template"
	l.must(l.Finish(l.ctx, a))
}

func (l *ledger) held() (out []string) {
	for _, h := range l.SendHolds() {
		out = append(out, h.What())
	}
	return out
}

// refusedSends: what the service refuses one after the other waits alone, by its content and origin, and in its account.
func (s suite) refusedSends(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	cart := messaging.Send{Template: "cart", Language: "en"}
	for name, tt := range map[string]struct {
		what  messaging.Refused
		send  messaging.Send
		held  string
		waits []string // keys that do not go any more
	}{
		"a template of a trigger": {messaging.RefusedOrigin, cart, `template "cart" of trigger a`, []string{"a cart"}},
		"a template of all":       {messaging.RefusedContent, cart, `template "cart"`, []string{"a cart", "b cart"}},
		"a campaign of a trigger": {messaging.RefusedOrigin, messaging.Send{Campaign: "417"}, `campaign "417" of trigger a`, []string{"a 417"}},
		"a campaign of all":       {messaging.RefusedContent, messaging.Send{Campaign: "417"}, `campaign "417"`, []string{"a 417", "b 417"}},
		"texts of a trigger":      {messaging.RefusedOrigin, messaging.Send{Text: "Hello"}, "texts of trigger a", []string{"a text"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			l.at(at)
			l.enqueue("first", byTrigger("a"), sends(tt.send))
			l.refuse(l.mustClaim(at, 1)[0], tt.what, at)
			same(t, "what waits", []string{tt.held}, l.held())
			for _, trigger := range []string{"a", "b"} {
				l.enqueue(trigger+" cart", byTrigger(trigger), sends(cart), due(at))
				l.enqueue(trigger+" 417", byTrigger(trigger), sends(messaging.Send{Campaign: "417"}), due(at))
				l.enqueue(trigger+" text", byTrigger(trigger), sends(messaging.Send{Text: "Welcome"}), due(at))
			}
			left := map[string]bool{}
			for _, d := range l.mustClaim(at, 99) {
				left[d.Key] = true
			}
			var waits []string
			for _, key := range []string{"a 417", "a cart", "a text", "b 417", "b cart", "b text"} {
				if !left[key] {
					waits = append(waits, key)
				}
			}
			same(t, "who waits", tt.waits, waits)
			l = reopenAfter(t, l)
			same(t, "after a restart", []string{tt.held}, l.held())
			l.must(l.EndSendHolds(l.ctx, l.SendHolds()[0].Content()))
			l.at(at)
			if n := len(l.mustClaim(at.Add(time.Hour), 99)); n != 1+len(tt.waits) {
				t.Errorf("%d go after a person's word", n)
			}
		})
	}
	t.Run("a pause lengthens by its probe, which is the newest of those that were never tried", s.aPauseLengthensByItsProbe)
	t.Run("two pauses never hold the same", s.twoPausesNeverHoldTheSame)
	t.Run("a run waits alone, and so does its account", s.aRefusedRunWaitsAloneAndSoDoesItsAccount)
}

func (s suite) aPauseLengthensByItsProbe(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.at(at)
	var ids []messaging.MessageID
	for i := range 6 {
		ids = append(ids, l.enqueue(fmt.Sprint(i), byTrigger("a"), due(noon.Add(time.Duration(i)*time.Second)), phone(messaging.Phone(fmt.Sprint(447700900100+i)))))
	}
	first := l.mustClaim(at, 1)[0]
	l.refuse(first, messaging.RefusedOrigin, at)
	for i, want := range []messaging.MessageID{ids[5], ids[4], ids[3]} {
		pause := l.SendHolds()[0]
		if wait := pause.Until.Sub(at); wait != 5*time.Second<<i {
			t.Fatalf("pause %d lasts %v", i, wait)
		}
		at = pause.Until
		l.at(at)
		if probes, err := l.ProbeHolds(l.ctx, at); err != nil || len(probes) != 1 || probes[0].Probe != want {
			t.Fatalf("probe %d: %+v (%v), want %d", i, probes, err, want)
		}
		got := l.mustClaim(at, 9)
		if len(got) != 1 || got[0].ID != want || !l.Probes(want) {
			t.Fatalf("claimed %+v", got)
		}
		if i < 2 {
			l.refuse(got[0], messaging.RefusedOrigin, at)
			continue
		}
		l.refused(got[0], messaging.StateAccepted, "", "", at)
	}
	same(t, "lifted", []string(nil), l.held())
	if n := len(l.mustClaim(at, 9)); n != 5 {
		t.Errorf("%d go", n)
	}
	l.at(at.Add(time.Hour))
	again := l.enqueue("again", byTrigger("a"), due(at))
	for _, d := range l.mustClaim(at.Add(time.Hour), 9) {
		if d.ID == again {
			l.refuse(d, messaging.RefusedOrigin, at.Add(time.Hour))
		}
	}
	if wait := l.SendHolds()[0].Until.Sub(at.Add(time.Hour)); wait != 5*time.Second {
		t.Errorf("after it was lifted a pause begins with %v", wait)
	}
}

func (s suite) twoPausesNeverHoldTheSame(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.at(at)
	for _, key := range []string{"1", "2", "3"} {
		l.enqueue(key, byTrigger("a"))
	}
	got := l.mustClaim(at, 3)
	l.refuse(got[0], messaging.RefusedOrigin, at)
	l.refuse(got[1], messaging.RefusedContent, at)
	same(t, "all of the template", []string{`template "reminder"`}, l.held())
	l.refuse(got[2], messaging.RefusedOrigin, at)
	same(t, "still", []string{`template "reminder"`}, l.held())
}

func (s suite) aRefusedRunWaitsAloneAndSoDoesItsAccount(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.at(at)
	for _, account := range []string{"", "brand"} {
		l.enqueue("of "+account, byTrigger("a"), func(p *messaging.Plan) { p.Proposals[0].Message.Account = account })
	}
	got, err := l.Account("brand", 0).Claim(l.ctx, messaging.ClaimRequest{Owner: owner, Now: at, Lease: time.Minute, Marketing: 1})
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v (%v)", got, err)
	}
	l.refuse(got[0], messaging.RefusedContent, at)
	if n := len(l.mustClaim(at, 9)); n != 1 {
		t.Errorf("%d of the other account go", n)
	}
	row := messaging.Message{ID: 1, Trigger: "winback", Key: messaging.RowKey(7, 1), Send: messaging.Send{Template: "cart"}}
	for run, want := range map[messaging.RunID]bool{7: true, 8: false} {
		h := messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldService, Name: "cart", Part: "run 7"}
		if row.Key = messaging.RowKey(run, 1); h.Stops(&row) != want {
			t.Errorf("run %d is held: %v", run, !want)
		}
	}
}
