package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// consents are what events, people and files say that contacts agreed to.
func (s suite) consents(t *testing.T) {
	const ana, bea = "447700900101", "447700900102"
	says := 0
	event := func(l *ledger, kind string, at time.Time, change ...func(*nudgewire.Plan)) {
		t.Helper()
		says++
		p := cart("", phone(ana), dedupe(fmt.Sprintf("c%d", says)))
		p.Event.Kind, p.Event.OccurredAt, p.Event.ReceivedAt = kind, at, noon.Add(time.Hour)
		p.Event.Contact.Consent, p.Event.Contact.AcceptsMarketing = false, false
		p.Proposals = nil
		for _, c := range change {
			c(&p)
		}
		l.mustAccept(p)
	}
	flag := func(yes bool) func(*nudgewire.Plan) {
		return func(p *nudgewire.Plan) {
			p.Event.Contact.Consent, p.Event.Contact.AcceptsMarketing = true, yes
		}
	}
	word := func(what nudgewire.Outcome) func(*nudgewire.Plan) {
		return func(p *nudgewire.Plan) {
			p.Proposals = []nudgewire.Proposal{{
				Decision:    nudgewire.Decision{Trigger: nudgewire.OptOut, Outcome: what, At: noon},
				Correlation: nudgewire.Correlation{Trigger: nudgewire.OptOut, Phone: ana}, EventAt: p.Event.OccurredAt,
			}}
		}
	}
	all := func(l *ledger) []nudgewire.ConsentRecord {
		t.Helper()
		list, err := l.Consents(l.ctx, "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	early, late := noon, noon.Add(time.Minute)
	const given, withdrawn = nudgewire.ConsentGiven, nudgewire.ConsentWithdrawn
	for _, c := range []struct {
		name string
		do   func(l *ledger)
		want nudgewire.Consent
	}{
		{"an event that says nothing", func(l *ledger) { event(l, "cart.updated", early) }, ""},
		{"a flag", func(l *ledger) { event(l, "cart.updated", early, flag(true)) }, given},
		{"a flag that says no", func(l *ledger) { event(l, "cart.updated", early, flag(false)) }, withdrawn},
		{"yes, no", func(l *ledger) {
			event(l, "order.paid", early, flag(true))
			event(l, "order.paid", late, flag(false))
		}, withdrawn},
		{"the earlier no comes last", func(l *ledger) {
			event(l, "order.paid", late, flag(true))
			event(l, "order.paid", early, flag(false))
		}, given},
		{"the earlier yes comes last", func(l *ledger) {
			event(l, "order.paid", late, flag(false))
			event(l, "order.paid", early, flag(true))
		}, withdrawn},
		{"yes twice, and a no between that comes last", func(l *ledger) {
			event(l, "order.paid", early, flag(true))
			event(l, "order.paid", late, flag(true))
			event(l, "order.paid", early.Add(time.Second), flag(false))
		}, given},
		{"both at one time", func(l *ledger) {
			event(l, "order.paid", early, flag(false))
			event(l, "order.paid", early, flag(true))
		}, withdrawn},
		{"a clock that is a year ahead rules no later word out", func(l *ledger) {
			event(l, "order.paid", early.AddDate(1, 0, 0), flag(true))
			if err := l.SaveConsents(l.ctx, []nudgewire.ConsentRecord{{Phone: ana, Consent: withdrawn, At: noon.Add(2 * time.Hour)}}); err != nil {
				t.Fatal(err)
			}
		}, withdrawn},
		{"the opt-in", func(l *ledger) { event(l, "contact.subscribed", early, word(nudgewire.Allowed)) }, given},
		{"the opt-out", func(l *ledger) {
			event(l, "order.paid", early, flag(true))
			event(l, "contact.unsubscribed", late, word(nudgewire.Blocked))
		}, withdrawn},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.open(t)
			l.at(noon)
			c.do(l)
			var got nudgewire.Consent
			if list := all(l); len(list) > 0 {
				got = list[0].Consent
			}
			same(t, "consent", c.want, got)
			agreed, err := l.Agreed(l.ctx, []nudgewire.Phone{ana, bea})
			if err != nil || agreed[ana] != c.want || agreed[bea] != "" {
				t.Errorf("agreed: %v, %v", agreed, err)
			}
		})
	}
	t.Run("permission to be sent e-mail is no consent to messages", func(t *testing.T) {
		l := s.open(t)
		event(l, "order.paid", early, func(p *nudgewire.Plan) { p.Event.Contact.AcceptsEmail, p.Event.Contact.EmailConsent = true, true })
		same(t, "after a flag", 0, len(all(l)))
		event(l, "contact.email_subscribed", early)
		same(t, "after a word", []nudgewire.ConsentRecord{{
			Phone: ana, Channel: nudgewire.ChannelEmail, Category: nudgewire.Marketing, Consent: given, Since: early, At: early,
			Source: "shop.contact.email_subscribed", Event: 2,
		}}, all(l))
		agreed, err := l.Agreed(l.ctx, []nudgewire.Phone{ana})
		if err != nil || agreed[ana] != "" {
			t.Errorf("agreed: %v, %v", agreed, err)
		}
	})
	t.Run("the record says who said it first and when last, and a proof joins it", func(t *testing.T) {
		l := s.open(t)
		event(l, "order.paid", early, flag(true))
		event(l, "order.paid", late, flag(true))
		want := nudgewire.ConsentRecord{
			Phone: ana, Channel: nudgewire.ChannelPhone, Category: nudgewire.Marketing, Consent: given, Since: early, At: late,
			Source: "shop.order.paid", Event: 1,
		}
		same(t, "records", []nudgewire.ConsentRecord{want}, all(l))
		proof := nudgewire.ConsentRecord{Phone: ana, Consent: given, At: late.Add(time.Hour), Source: "by hand", Proof: "form of 3 May"}
		if err := l.SaveConsents(l.ctx, []nudgewire.ConsentRecord{proof}); err != nil {
			t.Fatal(err)
		}
		want.At, want.Source, want.Proof, want.Event = late.Add(time.Hour), "by hand", "form of 3 May", 0
		same(t, "records", []nudgewire.ConsentRecord{want}, all(l))
	})
	t.Run("what a look-up finds counts", func(t *testing.T) {
		l := s.open(t)
		l.at(noon)
		event(l, "contact.updated", early, func(p *nudgewire.Plan) { p.Later = true })
		found, err := l.ClaimLookups(l.ctx, noon.Add(2*time.Hour), time.Minute, 1)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		plan := nudgewire.Plan{Event: found[0].Event}
		flag(true)(&plan)
		if _, err := l.Complete(l.ctx, found[0], plan); err != nil {
			t.Fatal(err)
		}
		same(t, "consent", given, all(l)[0].Consent)
	})
}
