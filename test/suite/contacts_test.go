package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
)

// A purchase is what an event tells of its contact and its order.
type purchase struct {
	connector, kind, id, total, name, email string
	who                                     messaging.Phone
	at                                      time.Time
	change                                  change
}

// bought is the event of a purchase; no trigger wants anything because of it.
func bought(b purchase) messaging.Plan {
	p := cart(nextKey("bought "), phone(b.who))
	total, err := messaging.ParseAmount(b.total)
	if err != nil {
		panic(err)
	}
	e := &p.Event
	e.Connector, e.Kind, e.ReceivedAt = b.connector, b.kind, b.at
	e.Contact.Name, e.Contact.Email = b.name, b.email
	e.Order = messaging.Order{ID: b.id, Name: "#" + b.id, Total: total, Currency: "EUR"}
	p.Proposals = nil
	if b.change != nil {
		b.change(&p)
	}
	return p
}

// readAll reads all that events say of contacts, and says how many events that were.
func (l *ledger) readAll() (all int) {
	l.t.Helper()
	for {
		n, err := contacts.Records{Store: l.Store}.ReadContacts(l.ctx, nil)
		l.must(err)
		if all += n; n == 0 {
			return all
		}
	}
}

// known is what is known of a contact, a line for each connector.
func (l *ledger) known(who messaging.Phone) (lines []string) {
	l.t.Helper()
	all, err := contacts.Records{Store: l.Store}.KnownContact(l.ctx, who)
	l.must(err)
	for _, c := range all {
		lines = append(lines, fmt.Sprint(c.Connector, " ", c.Name, " ", c.Email, " ", c.Orders, " ", c.OrderName, " ", spent(c.Spent)))
	}
	return lines
}

func spent(s messaging.Sums) (text string) {
	for _, one := range s {
		text += one.Amount.String() + one.Currency
	}
	return text
}

// found is whom a search finds, and by what.
func (l *ledger) found(text string) (out []string) {
	l.t.Helper()
	all, err := contacts.Records{Store: l.Store}.FindContacts(l.ctx, text)
	l.must(err)
	for _, f := range all {
		out = append(out, string(f.Phone)+" by "+f.By)
	}
	return out
}

func (s suite) knownContacts(t *testing.T) {
	t.Run("the newest word of each connector is known, and all are found by it", s.theNewestWordIsKnown)
	t.Run("an order counts once, however often and in whatever order it is told", s.anOrderCountsOnce)
	t.Run("what is stored and not read is read after a restart, and nothing twice", s.whatIsNotReadIsReadLater)
	t.Run("many events are read, some at a time", s.manyEventsAreRead)
	t.Run("an event that waits for a look-up is read once that has ended", s.aLookUpIsReadOnceItEnded)
	t.Run("nobody is known by a masked phone, or by none", s.nobodyIsKnownWithoutAPhone)
	for name, read := range map[string]bool{"after it was read": true, "while it is unread": false} {
		t.Run("a contact is forgotten "+name, func(t *testing.T) { s.aKnownContactIsForgotten(t, read) })
		t.Run("a connector is forgotten "+name, func(t *testing.T) { s.aConnectorIsForgotten(t, read) })
		t.Run("a friend who names the forgotten stays known "+name, func(t *testing.T) { s.aFriendStaysKnown(t, read) })
	}
	t.Run("what came after the order to forget is known again, each order once", s.whatCameAfterForgettingIsKnown)
	t.Run("totals outlive payloads and events, and go with the phones", s.totalsOutlivePayloads)
}

const (
	ada = messaging.Phone("447700900123")
	bob = messaging.Phone("447700900145")
)

func (s suite) theNewestWordIsKnown(t *testing.T) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.created", "1001", "20", "Ada River", "Ada@Example.com", ada, noon, nil}))
	l.mustAccept(bought(purchase{"shop", "customer.updated", "", "", "Ada Öst", "", ada, noon.Add(time.Minute), nil}))
	l.mustAccept(bought(purchase{"shop", "customer.updated", "", "", "late", "", ada, noon.Add(-time.Minute), nil})) // came first, and is read last
	l.mustAccept(bought(purchase{"crm", "lead.created", "", "", "A. River", "", ada, noon.Add(time.Hour), func(p *messaging.Plan) {
		p.Event.Cart.ID, p.Event.Contact.Tags = "Cart-7", messaging.Tags{"vip", "new"}
		p.Event.Contact.Language, p.Event.Contact.Country, p.Event.Contact.Timezone = "de", "AT", "Europe/Vienna"
	}}))
	l.mustAccept(bought(purchase{"shop", "order.created", "1002", "5", "Bob", "bob@example.com", bob, noon, nil}))
	same(t, "read", 5, l.readAll())
	same(t, "known", []string{"crm A. River  0  ", "shop Ada Öst Ada@Example.com 1 #1001 "}, l.known(ada))
	all, err := contacts.Records{Store: l.Store}.KnownContact(l.ctx, ada)
	l.must(err)
	same(t, "whole", messaging.KnownContact{
		Phone: ada, Connector: "crm", Name: "A. River", Language: "de", Country: "AT", Timezone: "Europe/Vienna", Tags: messaging.Tags{"vip", "new"},
		FirstAt: noon.Add(time.Hour), LastAt: noon.Add(time.Hour),
	}, all[0])
	same(t, "times", []time.Time{noon.Add(-time.Minute), noon.Add(time.Minute), noon}, []time.Time{all[1].FirstAt, all[1].LastAt, all[1].OrderAt})
	for text, want := range map[string][]string{
		"1001": {"447700900123 by order"}, "#1001": {"447700900123 by order"}, "cart-7": {"447700900123 by cart"},
		"ADA@example.com": {"447700900123 by e-mail"}, "öst": {"447700900123 by name"}, "riv": {"447700900123 by name"},
		"@example.com": {"447700900123 by e-mail", "447700900145 by e-mail"}, "bo": {"447700900145 by name"},
		"%": nil, "_": nil, "": nil, "nobody": nil, "100": nil,
	} {
		same(t, text, want, l.found(text))
	}
}

func (s suite) anOrderCountsOnce(t *testing.T) {
	created := func(id string) messaging.Plan {
		return bought(purchase{"shop", "order.created", id, "20.50", "", "", ada, noon, nil})
	}
	paid := func(id string) messaging.Plan {
		return bought(purchase{"shop", "order.paid", id, "20.50", "", "", ada, noon, nil})
	}
	for name, told := range map[string][]messaging.Plan{
		"created, then paid": {created("1"), paid("1")}, "paid, then created": {paid("1"), created("1")},
		"each twice": {created("1"), created("1"), paid("1"), paid("1")}, "paid twice": {paid("1"), paid("1")},
	} {
		t.Run(name, func(t *testing.T) {
			together, apart := s.open(t), s.open(t)
			for _, p := range told {
				together.mustAccept(p)
				apart.mustAccept(p)
				apart.readAll()
			}
			together.readAll()
			want := []string{"shop   1 #1 20.50EUR"}
			same(t, "read together", want, together.known(ada))
			same(t, "read one by one", want, apart.known(ada))
		})
	}
	t.Run("others are others", func(t *testing.T) {
		l := s.open(t)
		for _, p := range []messaging.Plan{
			created("1"), paid("2"), bought(purchase{"crm", "order.paid", "1", "3", "", "", ada, noon.Add(time.Second), nil}),
			bought(purchase{"shop", "order.paid", "1", "4", "", "", bob, noon, nil}),
			bought(purchase{"shop", "order.paid", "9", "4", "", "", bob, noon, func(p *messaging.Plan) { p.Event.Order.Currency = "CHF" }}),
			bought(purchase{"shop", "order.paid", "", "4", "", "", bob, noon, nil}), // nobody knows which
		} {
			l.mustAccept(p)
		}
		l.readAll()
		same(t, "ada", []string{"crm   1 #1 3EUR", "shop   2 #2 20.50EUR"}, l.known(ada))
		same(t, "bob", []string{"shop   2 #9 4CHF4EUR"}, l.known(bob))
	})
}

func (s suite) whatIsNotReadIsReadLater(t *testing.T) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", "1", "2", "Ada", "", ada, noon, nil}))
	l.readAll()
	l.mustAccept(bought(purchase{"shop", "order.paid", "2", "2", "Ada", "", ada, noon, nil}))
	l.close()
	l = reopen(t, l.dsn)
	same(t, "before", []string{"shop Ada  1 #1 2EUR"}, l.known(ada))
	same(t, "found before", []string(nil), l.found("2"))
	same(t, "read", 1, l.readAll())
	same(t, "after", []string{"shop Ada  2 #2 4EUR"}, l.known(ada))
	l.close()
	l = reopen(t, l.dsn)
	same(t, "read again", 0, l.readAll())
	same(t, "found", []string{"447700900123 by order"}, l.found("1"))
	same(t, "found, too", []string{"447700900123 by order"}, l.found("2"))
}

func (s suite) manyEventsAreRead(t *testing.T) {
	l := s.open(t)
	const many = 450
	var plans []messaging.Plan
	for i := range many {
		plans = append(plans, bought(purchase{"shop", "order.paid", fmt.Sprint(i), "1", "Ada", fmt.Sprintf("%d@example.com", i), ada, noon, nil}))
	}
	for some := range slices.Chunk(plans, 50) {
		_, err := l.Accept(l.ctx, some)
		l.must(err)
	}
	same(t, "read", many, l.readAll())
	same(t, "known", []string{"shop Ada 449@example.com 450 #449 450EUR"}, l.known(ada))
	same(t, "found", []string{"447700900123 by order"}, l.found("17"))
	same(t, "found by an e-mail of then", []string{"447700900123 by e-mail"}, l.found("17@example.com"))
}

func (s suite) aLookUpIsReadOnceItEnded(t *testing.T) {
	l := s.open(t)
	l.mustAccept(later("a", func(p *messaging.Plan) { p.Event.Order.ID = "77" }))
	same(t, "read before", 0, l.readAll())
	got := l.claimLookups(noon, 1)
	p := found(got[0].Event)
	p.Event.Contact.Name = "Ada"
	_, err := l.Complete(l.ctx, got[0], p)
	l.must(err)
	same(t, "read", 1, l.readAll())
	same(t, "known", []string{"shop Ada  0  "}, l.known(ada))
	same(t, "found", []string{"447700900123 by order"}, l.found("77"))
}

func (s suite) nobodyIsKnownWithoutAPhone(t *testing.T) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", "1", "2", "Nobody", "no@example.com", "", noon, nil}))
	l.mustAccept(bought(purchase{"shop", "order.paid", "2", "2", "Mask", "mask@example.com", masked(ada), noon, nil}))
	same(t, "read", 2, l.readAll())
	for _, text := range []string{"1", "2", "nobody", "mask", "no@example.com"} {
		same(t, text, []string(nil), l.found(text))
	}
}

func (s suite) aKnownContactIsForgotten(t *testing.T, read bool) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", "1", "2", "Ada", "ada@example.com", ada, noon, nil}))
	l.mustAccept(bought(purchase{"crm", "lead.created", "", "", "Ada", "", ada, noon, nil}))
	l.mustAccept(bought(purchase{"shop", "order.paid", "2", "2", "Bob", "", bob, noon, nil}))
	if read {
		l.readAll()
	}
	l.must(l.Forget(l.ctx, []messaging.Phone{ada}, "by hand"))
	l.erased()
	l.readAll()
	same(t, "known", []string(nil), l.known(ada))
	for _, text := range []string{"1", "ada", "ada@example.com"} {
		same(t, text, []string(nil), l.found(text))
	}
	same(t, "the other", []string{"shop Bob  1 #2 2EUR"}, l.known(bob))
	if text := table(t, l.rawSQL(), "select * from contacts") + table(t, l.rawSQL(), "select * from unread_events"); !slices.Equal(knownIn(text), []string{"Bob"}) {
		t.Errorf("what is stored: %s", text)
	}
}

func (s suite) aConnectorIsForgotten(t *testing.T, read bool) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", "1", "2", "Ada", "ada@example.com", ada, noon, nil}))
	l.mustAccept(bought(purchase{"crm", "lead.created", "", "", "Ada of the crm", "", ada, noon, nil}))
	if read {
		l.readAll()
	}
	l.must(l.ForgetConnector(l.ctx, "shop", "by hand"))
	l.erased()
	l.readAll()
	same(t, "known", []string{"crm Ada of the crm  0  "}, l.known(ada))
	same(t, "found", []string(nil), l.found("1"))
}

func (s suite) aFriendStaysKnown(t *testing.T, read bool) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", string(ada), "2", "Bob (or " + string(ada) + ")", "bob@example.com", bob, noon, nil}))
	if read {
		l.readAll()
	}
	l.must(l.Forget(l.ctx, []messaging.Phone{ada}, "by hand"))
	l.erased()
	l.readAll()
	if got := l.known(bob); len(got) != 1 || slices.Contains(knownIn(got[0]), "Ada") || !slices.Contains(knownIn(got[0]), "Bob") {
		t.Errorf("known: %v", got)
	}
}

// knownIn is who a text names.
func knownIn(text string) (names []string) {
	for _, name := range [...][2]string{{"Ada", "Ada"}, {string(ada), "Ada"}, {"Bob", "Bob"}} {
		if strings.Contains(text, name[0]) {
			names = append(names, name[1])
		}
	}
	return names
}

func (s suite) whatCameAfterForgettingIsKnown(t *testing.T) {
	for name, read := range map[string]bool{"read before the order was carried out": true, "read after it": false} {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			l.mustAccept(bought(purchase{"shop", "order.created", "1", "2", "Ada", "ada@example.com", ada, noon, nil}))
			l.readAll()
			l.must(l.Forget(l.ctx, []messaging.Phone{ada}, "by hand"))
			after := time.Now().Add(time.Hour).UTC()
			l.mustAccept(bought(purchase{"shop", "order.paid", "1", "2", "", "", ada, after, nil}))
			l.mustAccept(bought(purchase{"shop", "order.created", "2", "3", "A.", "", ada, after, nil}))
			l.mustAccept(bought(purchase{"shop", "order.paid", "2", "3", "", "", ada, after, nil}))
			if read {
				l.readAll()
			}
			l.erased()
			l.readAll()
			same(t, "known", []string{"shop A.  2 #2 5EUR"}, l.known(ada))
			same(t, "found by what was forgotten", []string(nil), l.found("ada@example.com"))
		})
	}
}

// nodeContacts is of a leader that loses the lead while it reads.
func (p pair) nodeContacts(t *testing.T) {
	a, b := p.two(t)
	const each = 150
	together(2, func(n int) {
		l := []*ledger{a, b}[n]
		for i := range each {
			l.mustAccept(bought(purchase{"shop", "order.paid", fmt.Sprint(n, "/", i), "1", "Ada", "", ada, noon, nil}))
		}
	})
	together(4, func(n int) { []*ledger{a, b}[n%2].readAll() })
	all, err := contacts.Records{Store: b.Store}.KnownContact(b.ctx, ada)
	b.must(err)
	same(t, "orders", []int64{2 * each}, []int64{all[0].Orders})
	same(t, "spent", "300EUR", spent(all[0].Spent))
	same(t, "found", []string{"447700900123 by order"}, a.found("1/149"))
	a.mustAccept(bought(purchase{"shop", "order.paid", "last", "1", "Ada", "", ada, noon, nil}))
	together(2, func(n int) {
		if n == 0 {
			b.readAll()
			return
		}
		a.must(a.Forget(a.ctx, []messaging.Phone{ada}, "by hand"))
		a.erased()
	})
	b.readAll()
	same(t, "known after forgetting", []string(nil), b.known(ada))
}

func (s suite) totalsOutlivePayloads(t *testing.T) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", "1", "2", "Ada", "ada@example.com", ada, noon, nil}))
	l.mustAccept(bought(purchase{"shop", "order.paid", "2", "2", "Bob", "", bob, noon.Add(10 * day), nil}))
	l.readAll()
	keep := privacy.Retention{Payloads: day, Facts: 2 * day, Decisions: 2 * day, Events: 200 * day, Phones: 100 * day}
	retain := func(days int) {
		t.Helper()
		now := noon.Add(time.Duration(days) * day)
		l.at(now)
		_, err := l.privacy().Retain(l.ctx, keep, now)
		l.must(err)
	}
	retain(50)
	l.mustAccept(bought(purchase{"shop", "order.created", "1", "2", "", "", ada, noon.Add(50 * day), nil}))
	l.readAll()
	same(t, "without payloads", []string{"shop Ada ada@example.com 1 #1 2EUR"}, l.known(ada))
	same(t, "found", []string{"447700900123 by e-mail"}, l.found("ada@example.com"))
	same(t, "found by what only facts said", []string(nil), l.found("2"))
	retain(120)
	same(t, "of whom nothing came for long", []string(nil), l.known(bob))
	same(t, "of whom something came", []string{"shop Ada ada@example.com 1 #1 2EUR"}, l.known(ada))
	retain(260)
	same(t, "at last", []string(nil), l.known(ada))
	same(t, "found at last", []string(nil), l.found("ada"))
}
