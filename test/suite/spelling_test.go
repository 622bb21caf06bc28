package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

// spelled has the shop write the phone so.
func spelled(digits string) change {
	return func(p *messaging.Plan) {
		of, sentAs := messaging.PhoneOf(digits)
		phone(of)(p)
		p.Event.Contact.SentAs, p.Proposals[0].Message.SentAs = sentAs, sentAs
	}
}

// A phone of Mexico, and how shops write it.
const mexico, withOne = messaging.Phone("525512345678"), "5215512345678"

// spellings is where a message keeps the spelling that the shop gave, and where it goes with the phone.
func (s suite) spellings(t *testing.T) {
	t.Run("whoever sends it gets it, again too, and receivers are told", s.whoeverSendsItGetsItsSpelling)

	t.Run("a restart takes the spelling of the newer event", s.aRestartTakesTheSpellingOfTheNewerEvent)

	t.Run("a row keeps it, also where it goes again", s.aRowKeepsItsSpelling)

	t.Run("it goes with the phone: masked, forgotten", s.aSpellingGoesWithThePhone)
}

func (s suite) whoeverSendsItGetsItsSpelling(t *testing.T) {
	due := noon.Add(time.Hour)
	l := s.open(t)
	l.tell("crm", "decision.planned", "message.rejected", "message.accepted")
	d := l.claimed("1", spelled(withOne))
	if d.Phone != mexico || d.To() != withOne {
		t.Fatalf("goes to %s of %s", d.To(), d.Phone)
	}
	l.mustFinish(d, messaging.StateRejected)
	if _, _, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{State: messaging.StateRejected}, Now: due}); err != nil {
		t.Fatal(err)
	}
	again := l.mustClaim(due, 1)[0]
	if again.Phone != mexico || again.To() != withOne {
		t.Errorf("again it goes to %s of %s", again.To(), again.Phone)
	}
	l.mustFinish(again, messaging.StateAccepted)
	told := l.allOutgoing("crm", due)
	same(t, "told", []string{"decision.planned", "message.accepted", "message.rejected"}, kindsOf(told))
	for _, o := range told {
		if o.Change.Phone != mexico || o.Change.SentAs != withOne {
			t.Errorf("%s is about %s, sent as %q", o.Kind, o.Change.Phone, o.Change.SentAs)
		}
	}
	e, err := l.Event(l.ctx, d.EventID)
	if err != nil || e.Contact.Phone != mexico || e.Contact.SentAs != withOne {
		t.Errorf("the event is about %s, written %q: %v", e.Contact.Phone, e.Contact.SentAs, err)
	}
}

func (s suite) aRestartTakesTheSpellingOfTheNewerEvent(t *testing.T) {
	due := noon.Add(time.Hour)
	l := s.open(t)
	id := l.enqueue("1", spelled(withOne))
	l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Restarted, Restart: id, DueAt: due}
	})
	for i, digits := range []string{string(mexico), withOne, "447700900123"} {
		l.mustAccept(cart("1", dedupe(digits), spelled(digits)))
		if d := l.message(id); d.To() != digits || d.Restarts != i+1 {
			t.Errorf("after %d restarts it goes to %s, want %s", d.Restarts, d.To(), digits)
		}
	}
}

func (s suite) aRowKeepsItsSpelling(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	rows := rowsOf(r.ID, 1, 1)
	rows[0].Phone, rows[0].SentAs = messaging.PhoneOf(withOne)
	l.must(l.Enqueue(l.ctx, r.ID, 1, rows))
	l.mustFinish(l.mustClaim(noon, 1)[0], messaging.StateRejected)
	again := l.retry(l.mustSet(r, messaging.RunDone), "retry 1 of run 1")
	ids, _, err := l.toGoAgain(r.ID, 0, 9)
	if err == nil {
		_, err = l.EnqueueRetries(l.ctx, again.ID, ids, nil, noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []messaging.RunID{r.ID, again.ID} {
		if d := l.rows(run, 0)[0].Message; d.Phone != mexico || d.To() != withOne {
			t.Errorf("the row of run %d goes to %s of %s", run, d.To(), d.Phone)
		}
	}
}

func (s suite) aSpellingGoesWithThePhone(t *testing.T) {
	gone := map[string]func(*ledger) error{
		"masked": func(l *ledger) error {
			now := noon.Add(181 * day)
			l.at(now)
			_, err := l.privacy().Retain(l.ctx, privacy.Retention{Payloads: 30 * day, Facts: 90 * day, Decisions: 90 * day, Attempts: 90 * day, Phones: 180 * day}, now)
			return err
		},
		"forgotten": func(l *ledger) error {
			if err := l.Forget(l.ctx, []messaging.Phone{mexico}, "by hand"); err != nil {
				return err
			}
			all, err := l.privacy().Erasures(l.ctx)
			if err == nil {
				_, err = l.privacy().Erase(l.ctx, all)
			}
			return err
		},
	}
	for name, how := range gone {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			d := l.claimed("1", spelled(withOne))
			l.mustFinish(d, messaging.StateRejected)
			if err := how(l); err != nil {
				t.Fatal(err)
			}
			if d = l.message(d.ID); d.SentAs != "" || d.Phone == mexico {
				t.Errorf("the message is to %q, sent as %q", d.Phone, d.SentAs)
			}
			if e, err := l.Event(l.ctx, d.EventID); err != nil || e.Contact.SentAs != "" || e.Contact.Phone == mexico {
				t.Errorf("the event is about %q, written %q: %v", e.Contact.Phone, e.Contact.SentAs, err)
			}
		})
	}
}
