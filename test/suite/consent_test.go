package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

const (
	given     = messaging.ConsentGiven
	withdrawn = messaging.ConsentWithdrawn
)

// consentEvent takes an event of ana that happened at a time, and says nothing of consent but what the changes add.
func (l *ledger) consentEvent(kind string, at time.Time, changes ...change) {
	l.t.Helper()
	p := cart("", phone(ana), dedupe(nextKey("c")))
	p.Event.Kind, p.Event.OccurredAt, p.Event.ReceivedAt = kind, at, noon.Add(time.Hour)
	p.Event.Contact.Consent, p.Event.Contact.AcceptsMarketing = false, false
	p.Proposals = nil
	for _, c := range changes {
		c(&p)
	}
	l.mustAccept(p)
}

// consentFlag is a contact's field.
func consentFlag(yes bool) change {
	return func(p *messaging.Plan) {
		p.Event.Contact.Consent, p.Event.Contact.AcceptsMarketing = true, yes
	}
}

// consentWord is an event that is about nothing else.
func consentWord(what messaging.Outcome) change {
	return func(p *messaging.Plan) {
		p.Proposals = []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: messaging.OptOut, Outcome: what, At: noon},
			Correlation: messaging.Correlation{Trigger: messaging.OptOut, Phone: ana}, EventAt: p.Event.OccurredAt,
		}}
	}
}

func (l *ledger) allConsents() []messaging.ConsentRecord {
	l.t.Helper()
	list, err := l.Consents(l.ctx, "", "", 0)
	l.must(err)
	return list
}

// consents are what events, people and files say that contacts agreed to.
func (s suite) consents(t *testing.T) {
	early := noon
	late := early.Add(time.Minute)
	for _, c := range []struct {
		name string
		do   func(l *ledger)
		want messaging.Consent
	}{
		{"an event that says nothing", func(l *ledger) { l.consentEvent("cart.updated", early) }, ""},
		{"a flag", func(l *ledger) { l.consentEvent("cart.updated", early, consentFlag(true)) }, given},
		{"a flag that says no", func(l *ledger) { l.consentEvent("cart.updated", early, consentFlag(false)) }, withdrawn},
		{"yes, no", func(l *ledger) {
			l.consentEvent("order.paid", early, consentFlag(true))
			l.consentEvent("order.paid", late, consentFlag(false))
		}, withdrawn},
		{"the earlier no comes last", func(l *ledger) {
			l.consentEvent("order.paid", late, consentFlag(true))
			l.consentEvent("order.paid", early, consentFlag(false))
		}, given},
		{"the earlier yes comes last", func(l *ledger) {
			l.consentEvent("order.paid", late, consentFlag(false))
			l.consentEvent("order.paid", early, consentFlag(true))
		}, withdrawn},
		{"yes twice, and a no between that comes last", func(l *ledger) {
			l.consentEvent("order.paid", early, consentFlag(true))
			l.consentEvent("order.paid", late, consentFlag(true))
			l.consentEvent("order.paid", early.Add(time.Second), consentFlag(false))
		}, given},
		{"both at one time", func(l *ledger) {
			l.consentEvent("order.paid", early, consentFlag(false))
			l.consentEvent("order.paid", early, consentFlag(true))
		}, withdrawn},
		{"a clock that is a year ahead rules no later word out", func(l *ledger) {
			l.consentEvent("order.paid", early.AddDate(1, 0, 0), consentFlag(true))
			if err := l.SaveConsents(l.ctx, []messaging.ConsentRecord{{Phone: ana, Consent: withdrawn, At: noon.Add(2 * time.Hour)}}); err != nil {
				t.Fatal(err)
			}
		}, withdrawn},
		{"the opt-in", func(l *ledger) { l.consentEvent("contact.subscribed", early, consentWord(messaging.Allowed)) }, given},
		{"the opt-out", func(l *ledger) {
			l.consentEvent("order.paid", early, consentFlag(true))
			l.consentEvent("contact.unsubscribed", late, consentWord(messaging.Blocked))
		}, withdrawn},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.open(t)
			l.at(noon)
			c.do(l)
			var got messaging.Consent
			if list := l.allConsents(); len(list) > 0 {
				got = list[0].Consent
			}
			same(t, "consent", c.want, got)
			agreed, err := l.Agreed(l.ctx, []messaging.Phone{ana, ben})
			if err != nil || agreed[ana] != c.want || agreed[ben] != "" {
				t.Errorf("agreed: %v, %v", agreed, err)
			}
		})
	}
	t.Run("permission to be sent e-mail is no consent to messages", s.permissionForEmailIsNoConsent)
	t.Run("the record says who said it first and when last, and a proof joins it", s.theRecordSaysWhoSaidItFirstAndWhenLast)
	t.Run("what a look-up finds counts", s.whatALookUpFindsIsAConsent)
}

func (s suite) permissionForEmailIsNoConsent(t *testing.T) {
	early := noon
	l := s.open(t)
	l.consentEvent("order.paid", early, func(p *messaging.Plan) { p.Event.Contact.AcceptsEmail, p.Event.Contact.EmailConsent = true, true })
	same(t, "after a flag", 0, len(l.allConsents()))
	l.consentEvent("contact.email_subscribed", early)
	same(t, "after a word", []messaging.ConsentRecord{{
		Phone: ana, Channel: messaging.ChannelEmail, Category: messaging.Marketing, Consent: given, Since: early, At: early,
		Source: "shop.contact.email_subscribed", Event: 2,
	}}, l.allConsents())
	agreed, err := l.Agreed(l.ctx, []messaging.Phone{ana})
	if err != nil || agreed[ana] != "" {
		t.Errorf("agreed: %v, %v", agreed, err)
	}
}

func (s suite) theRecordSaysWhoSaidItFirstAndWhenLast(t *testing.T) {
	early := noon
	late := early.Add(time.Minute)
	l := s.open(t)
	l.consentEvent("order.paid", early, consentFlag(true))
	l.consentEvent("order.paid", late, consentFlag(true))
	want := messaging.ConsentRecord{
		Phone: ana, Channel: messaging.ChannelPhone, Category: messaging.Marketing, Consent: given, Since: early, At: late,
		Source: "shop.order.paid", Event: 1,
	}
	same(t, "records", []messaging.ConsentRecord{want}, l.allConsents())
	proof := messaging.ConsentRecord{Phone: ana, Consent: given, At: late.Add(time.Hour), Source: "by hand", Proof: "form of 3 May"}
	l.must(l.SaveConsents(l.ctx, []messaging.ConsentRecord{proof}))
	want.At, want.Source, want.Proof, want.Event = late.Add(time.Hour), "by hand", "form of 3 May", 0
	same(t, "records", []messaging.ConsentRecord{want}, l.allConsents())
}

func (s suite) whatALookUpFindsIsAConsent(t *testing.T) {
	early := noon
	l := s.open(t)
	l.at(noon)
	l.consentEvent("contact.updated", early, func(p *messaging.Plan) { p.Later = true })
	found, err := l.ClaimLookups(l.ctx, noon.Add(2*time.Hour), time.Minute, 1)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	plan := messaging.Plan{Event: found[0].Event}
	consentFlag(true)(&plan)
	if _, err := l.Complete(l.ctx, found[0], plan); err != nil {
		t.Fatal(err)
	}
	same(t, "consent", given, l.allConsents()[0].Consent)
}
