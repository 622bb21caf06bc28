package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

// redact stores an event by which a connector asks that all that came by it is forgotten.
func (l *ledger) redact(connector, key string, at time.Time) messaging.Receipt {
	l.t.Helper()
	return l.mustAccept(messaging.Plan{
		Event: messaging.Event{Connector: connector, Kind: "shop.redacted", Topic: "shop/redact", DedupeKey: key, ReceivedAt: at, Payload: []byte(`{}`), ContentType: "application/json"},
		Proposals: []messaging.Proposal{{
			Decision: messaging.Decision{Trigger: messaging.Erasure, Outcome: messaging.ForgettingAll, Config: "v1", At: at}, EventAt: at,
			Correlation: messaging.Correlation{Trigger: messaging.Erasure},
		}},
	})
}

// openRedaction is the one request that is open.
func (l *ledger) openRedaction() store.Redaction {
	l.t.Helper()
	all, err := l.Redactions(l.ctx)
	if err != nil || len(all) != 1 {
		l.t.Fatalf("open requests: %+v, %v", all, err)
	}
	return all[0]
}

// audited says how often the audit has an action.
func (l *ledger) audited(action string) (n int, last chain.Entry) {
	l.t.Helper()
	all, err := audit.Records{Store: l.Store}.Entries(l.ctx, audit.Search{Limit: 1000})
	l.must(err)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Action == action {
			n, last = n+1, all[i]
		}
	}
	return n, last
}

func byAda(action string) chain.Entry {
	return chain.Entry{At: noon.Add(3 * time.Hour), Who: "ada", Via: "socket", Action: action, Subject: "connector shop"}
}

// redactions are requests to forget all that came by a connector: a person decides, and marketing waits.
func (s suite) redactions(t *testing.T) {
	t.Run("its contacts get no marketing, whatever it comes by; codes and utility go, and so does everybody else", s.contactsOfARequestGetNoMarketing)
	t.Run("asked again it is the same open one, also after a restart", s.aRequestAskedAgainIsTheSame)
	t.Run("refused: marketing goes on at once, nobody is forgotten, and it is in the audit", s.aRequestThatIsRefusedForgetsNobody)
	t.Run("done: what came until it was asked is forgotten, what came later stays", s.aRequestThatIsDoneForgetsWhatCameUntilIt)
	t.Run("nothing lives longer by waiting for it", s.nothingLivesLongerByWaitingForARequest)
	t.Run("an order by hand to forget all that came by it answers the request", s.anOrderByHandAnswersTheRequest)
	t.Run("a contact that a webhook had forgotten is in the audit once, by its mark", s.aContactThatAWebhookForgotIsAuditedOnce)
}

func (s suite) contactsOfARequestGetNoMarketing(t *testing.T) {
	other := func(p *messaging.Plan) { p.Event.Connector = "crm" }
	at := noon.Add(time.Hour)
	l := s.open(t)
	held := []messaging.MessageID{l.enqueue("1"), l.enqueue("2", other)} // the same contact, also by another connector
	goes := []messaging.MessageID{
		l.enqueue("3", category(messaging.Utility)), l.enqueue("4", category(messaging.Authentication)), l.enqueue("5", phone(ben), other),
	}
	receipt := l.redact("shop", "r1", noon)
	if d := receipt.Decisions[0]; d.Outcome != messaging.ForgettingAll || !strings.Contains(d.Reason, "a person decides whether all that came by shop is forgotten") {
		t.Errorf("decided %+v", d)
	}
	if orders, err := l.privacy().Erasures(l.ctx); err != nil || len(orders) > 0 {
		t.Errorf("it is carried out by nobody: %+v, %v", orders, err)
	}
	got := map[messaging.MessageID]bool{}
	for _, id := range l.ids(at) {
		got[id] = true
	}
	for _, id := range goes {
		if !got[id] {
			t.Errorf("%d did not go: %+v", id, l.message(id))
		}
	}
	for _, id := range held {
		d := l.story(id)
		if got[id] || d.State != messaging.StateWaiting || len(d.Verdicts) != 1 || d.Verdicts[0].Rule != messaging.RuleRedaction || !strings.Contains(d.Reason, "a person has to decide") {
			t.Errorf("%d: %+v", id, d)
		}
	}
	redacting, err := l.Redacting(l.ctx, []messaging.Phone{"447700900123", ben, eve})
	same(t, "lists leave out", map[messaging.Phone]string{"447700900123": "shop"}, redacting)
	if err != nil {
		t.Error(err)
	}
}

func (s suite) aRequestAskedAgainIsTheSame(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.enqueue("1")
	first := l.redact("shop", "r1", noon)
	same(t, "once", nil, l.privacy().RecordRedactions(l.ctx))
	l.enqueue("2", phone(ben), received(noon.Add(time.Minute)))
	l.redact("shop", "r2", noon.Add(time.Minute))
	l.close()
	l = reopen(t, l.dsn)
	same(t, "again", nil, l.privacy().RecordRedactions(l.ctx))
	same(t, "open", store.Redaction{
		Connector: "shop", Event: first.EventID, Source: "shop.shop.redacted", At: noon, UpTo: noon.Add(time.Minute), Contacts: 1, Events: 2, Recorded: true,
	}, l.openRedaction())
	if n, e := l.audited("ask to forget"); n != 1 || e.Who != "shop.shop.redacted" || e.Via != privacy.ViaWebhook || e.Detail != "all that came by shop: 1 contacts, 2 events" {
		t.Errorf("%d in the audit, the last %+v", n, e)
	}
	if got := l.ids(at); len(got) > 0 {
		t.Errorf("sent: %v", got)
	}
}

func (s suite) aRequestThatIsRefusedForgetsNobody(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	id := l.enqueue("1", expires(at.Add(time.Hour)))
	l.redact("shop", "r1", noon)
	if got := l.ids(at); len(got) > 0 {
		t.Fatalf("sent: %v", got)
	}
	l.at(at.Add(time.Minute))
	done, err := l.privacy().DecideRedaction(l.ctx, "shop", false, byAda("refuse to forget"))
	same(t, "decided", []any{"shop", int64(1), int64(2), nil}, []any{done.Connector, done.Contacts, done.Events, err})
	if _, err := l.ReviewDeferred(l.ctx); err != nil {
		t.Fatal(err)
	}
	same(t, "sent", []messaging.MessageID{id}, l.ids(at.Add(time.Minute)))
	if all, err := l.Redactions(l.ctx); len(all) > 0 || err != nil {
		t.Errorf("open: %+v, %v", all, err)
	}
	if _, err := l.privacy().DecideRedaction(l.ctx, "shop", true, byAda("forget")); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("decided twice: %v", err)
	}
	n, e := l.audited("refuse to forget")
	same(t, "in the audit", []any{1, "ada", "all that came by shop: 1 contacts, 2 events, asked for by event 2"}, []any{n, e.Who, e.Detail})
	if forgotten, _ := l.audited("forget"); forgotten != 0 {
		t.Error("the audit says that it was forgotten")
	}
}

func (s suite) aRequestThatIsDoneForgetsWhatCameUntilIt(t *testing.T) {
	l := s.open(t)
	l.enqueue("1")
	l.redact("shop", "r1", noon)
	l.at(noon.Add(time.Hour))
	l.enqueue("2", phone(ben), received(noon.Add(time.Hour)))
	if _, err := l.privacy().DecideRedaction(l.ctx, "shop", true, byAda("forget")); err != nil {
		t.Fatal(err)
	}
	orders, err := l.privacy().Erasures(l.ctx)
	if err != nil || len(orders) != 1 || orders[0].Connector != "shop" || orders[0].Source != "by hand: ada" {
		t.Fatalf("orders: %+v, %v", orders, err)
	}
	if waits, err := l.privacy().Erase(l.ctx, orders); waits != "" || err != nil {
		t.Fatal(waits, err)
	}
	same(t, "those who get something", []messaging.Phone{ben}, phonesOf(l.mustClaim(noon.Add(2*time.Hour), 9)))
	if n, e := l.audited("forget"); n != 1 || e.Who != "ada" || !strings.HasPrefix(e.Detail, "all that came by shop: 1 contacts, 2 events") {
		t.Errorf("%d in the audit: %+v", n, e)
	}
}

func (s suite) nothingLivesLongerByWaitingForARequest(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	id := l.enqueue("1", expires(at.Add(90*time.Minute)))
	l.redact("shop", "r1", noon)
	for _, now := range []time.Duration{0, 30 * time.Minute, time.Hour, 85 * time.Minute} {
		if got := l.ids(at.Add(now)); len(got) > 0 || l.message(id).State != messaging.StateWaiting {
			t.Errorf("after %s: %v, %+v", now, got, l.message(id))
		}
	}
	if got := l.ids(at.Add(90 * time.Minute)); len(got) > 0 || l.message(id).State != messaging.StateDropped {
		t.Errorf("past its end: %v, %+v", got, l.message(id))
	}
}

func (s suite) anOrderByHandAnswersTheRequest(t *testing.T) {
	l := s.open(t)
	l.redact("shop", "r1", noon)
	l.redact("crm", "r2", noon)
	l.at(noon.Add(time.Minute))
	l.must(l.ForgetConnector(l.ctx, "shop", "by hand: ada"))
	same(t, "left", "crm", l.openRedaction().Connector)
}

func (s suite) aContactThatAWebhookForgotIsAuditedOnce(t *testing.T) {
	l := s.open(t)
	for i := range 2 {
		p := cart("", dedupe(fmt.Sprint("f", i)), received(noon.Add(time.Duration(i)*time.Minute)))
		p.Event.Kind = "contact.redacted"
		p.Proposals[0] = messaging.Proposal{
			Decision:    messaging.Decision{Trigger: messaging.Erasure, Outcome: messaging.Forgetting, At: noon},
			Correlation: messaging.Correlation{Trigger: messaging.Erasure, Phone: p.Event.Contact.Phone}, EventAt: noon,
		}
		l.mustAccept(p)
	}
	if err := l.Forget(l.ctx, []messaging.Phone{ben}, "by hand: ada"); err != nil { // who is in the audit by the order
		t.Fatal(err)
	}
	orders, err := l.privacy().Erasures(l.ctx)
	for range 2 {
		if err == nil {
			err = l.privacy().RecordErasures(l.ctx, orders)
		}
	}
	if n, e := l.audited("forget"); err != nil || n != 1 || e.Who != "shop.contact.redacted" || !strings.HasPrefix(e.Subject, "contact ") || strings.Contains(e.Subject, "900123") {
		t.Errorf("%d in the audit: %+v, %v", n, e, err)
	}
	asked := slices.IndexFunc(orders, func(e privacy.Erasure) bool { return !e.Recorded })
	about, err := audit.Records{Store: l.Store}.Entries(l.ctx, audit.Search{Contact: orders[asked].Phone, Limit: 10})
	if other, otherErr := (audit.Records{Store: l.Store}).Entries(l.ctx, audit.Search{Contact: ben, Limit: 10}); err != nil || len(about) != 1 || otherErr != nil || len(other) != 0 {
		t.Errorf("%+v are about the contact, %+v about another one: %v, %v", about, other, err, otherErr)
	}
}

func phonesOf(all []messaging.Message) (out []messaging.Phone) {
	for i := range all {
		out = append(out, all[i].Phone)
	}
	return out
}

// nodeRedactions are requests that two nodes see, record and decide: each once.
func (p pair) nodeRedactions(t *testing.T) {
	a, b := p.two(t)
	a.enqueue("1")
	b.redact("shop", "r1", noon)
	if got := a.ids(noon.Add(time.Hour)); len(got) > 0 {
		t.Errorf("the other node sent %v", got)
	}
	var all sync.WaitGroup
	var decided, late int
	var mu sync.Mutex
	for _, l := range []*ledger{a, b} {
		all.Go(func() {
			if err := l.privacy().RecordRedactions(l.ctx); err != nil {
				t.Error(err)
			}
			_, err := l.privacy().DecideRedaction(l.ctx, "shop", false, byAda("refuse to forget"))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				decided++
			case errors.Is(err, messaging.ErrNotFound):
				late++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	refused, _ := a.audited("refuse to forget")
	if decided != 1 || late != 1 || refused != 1 {
		t.Errorf("decided %d times, and %d came late; %d in the audit", decided, late, refused)
	}
}
