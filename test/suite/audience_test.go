package suite

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func (s suite) audiences(t *testing.T) {
	t.Run("an audience is whom the tables name", s.anAudienceIsWhomTheTablesName)
	t.Run("a sum of what cannot be read is none", s.aSumOfWhatCannotBeReadIsNone)
	t.Run("who was forgotten is in no audience, and is once they are known again", s.theForgottenAreInNoAudience)
	t.Run("nobody is in an audience by a masked phone", s.nobodyIsInAnAudienceByAMaskedPhone)
	t.Run("files and messages count as limits count them", s.whoWasMessagedIsAsLimitsCount)
	t.Run("a contact of several connectors is one row", s.aContactOfSeveralConnectorsIsOneRow)
}

// audience are the phones of an audience at a moment, and what is noted.
func (l *ledger) audience(text string, now time.Time) (phones, notes []string) {
	l.t.Helper()
	rows, whole := l.audienceRows(text, now)
	for _, row := range whole {
		phones = append(phones, row[0])
	}
	return phones, lists.Notes(rows)
}

func (l *ledger) audienceRows(text string, now time.Time) (rows lists.Rows, whole []lists.Row) {
	l.t.Helper()
	a, problems := triggers.CompileAudience(text, map[string]triggers.ConnectorInfo{"shop": {}, "crm": {}})
	if len(problems) > 0 {
		l.t.Fatal(text, problems)
	}
	rows, err := contacts.Records{Store: l.Store}.Audience(l.ctx, a, now, time.UTC)
	l.must(err)
	for {
		row, number, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return rows, whole
		}
		l.must(err)
		if whole = append(whole, slices.Clone(row)); number != int64(len(whole)) {
			l.t.Fatalf("row %d has the number %d", len(whole), number)
		}
	}
}

// manyPurchases stores what random people did in the two months before now.
func (l *ledger) manyPurchases(random *rand.Rand, people, events int, now time.Time) (bought map[string]map[string]float64) {
	bought = map[string]map[string]float64{}
	for i := range events {
		who := messaging.Phone(fmt.Sprintf("4477009%05d", random.IntN(people)))
		kind := []string{"order.paid", "order.created", "cart.updated", "message.received"}[random.IntN(4)]
		total, currency := 10+random.IntN(90), []string{"GBP", "GBP", "GBP", "EUR"}[random.IntN(4)]
		at := now.Add(-60 * day / time.Duration(events) * time.Duration(events-i)) // as they come, numbers grow with times
		l.mustAccept(boughtAt(i, who, kind, total, currency, at))
		if kind == "order.paid" && at.After(now.Add(-30*24*time.Hour)) {
			if bought[string(who)] == nil {
				bought[string(who)] = map[string]float64{}
			}
			bought[string(who)][currency] += float64(total)
		}
	}
	return bought
}

func boughtAt(i int, who messaging.Phone, kind string, total int, currency string, at time.Time) messaging.Plan {
	return bought(purchase{[]string{"shop", "crm"}[total%2], kind, fmt.Sprint("o", i), fmt.Sprint(total), "", "", who, at, func(p *messaging.Plan) {
		p.Event.OccurredAt, p.Event.Order.Currency = at, currency
		p.Event.Contact.Country = []string{"GB", "DE"}[int(who[len(who)-1])%2]
	}})
}

func (s suite) anAudienceIsWhomTheTablesName(t *testing.T) {
	l := s.open(t)
	now, random := noon.Add(90*24*time.Hour), rand.New(rand.NewPCG(7, 30))
	paid := l.manyPurchases(random, 60, 500, now)
	l.readAll()
	db := l.rawSQL()
	asked := func(query string, args ...any) (phones []string) {
		t.Helper()
		rows, err := db.QueryContext(l.ctx, query, args...)
		l.must(err)
		defer func() { l.must(rows.Close()) }()
		for rows.Next() {
			var phone string
			l.must(rows.Scan(&phone))
			phones = append(phones, phone)
		}
		l.must(rows.Err())
		return phones
	}
	micros := func(days int) int64 { return now.Add(-time.Duration(days) * 24 * time.Hour).UnixMicro() }
	for text, query := range map[string]string{
		`count("*.order.paid", 30d) >= 2`:          fmt.Sprintf(`SELECT phone FROM events WHERE kind = 'order.paid' AND occurred_at > %d GROUP BY phone HAVING count(*) >= 2 ORDER BY phone`, micros(30)),
		`count("crm.order.*", 10d) == 0`:           fmt.Sprintf(`SELECT DISTINCT phone FROM contacts WHERE phone NOT IN (SELECT phone FROM events WHERE connector = 'crm' AND kind LIKE 'order.%%' AND occurred_at > %d) ORDER BY phone`, micros(10)),
		`last("*.order.*").age > 20d`:              fmt.Sprintf(`SELECT phone FROM events WHERE kind LIKE 'order.%%' GROUP BY phone HAVING max(occurred_at) < %d ORDER BY phone`, micros(20)),
		`replied(7d) and customer.country == "DE"`: fmt.Sprintf(`SELECT DISTINCT e.phone FROM events e JOIN contacts c ON c.phone = e.phone AND c.country = 'DE' WHERE e.kind = 'message.received' AND e.occurred_at > %d ORDER BY e.phone`, micros(7)),
		`customer.orders >= 5`:                     `SELECT phone FROM contacts GROUP BY phone HAVING sum(orders) >= 5 ORDER BY phone`,
	} {
		got, _ := l.audience(text, now)
		want := asked(query)
		if len(want) == 0 || len(want) == 60 {
			t.Errorf("%s: everybody, or nobody: %d", text, len(want))
		}
		same(t, text, want, got)
	}
	var rich, mixed []string
	for phone, sums := range paid {
		switch gbp, eur := sums["GBP"], sums["EUR"]; {
		case gbp > 0 && eur > 0:
			mixed = append(mixed, phone)
		case gbp+eur >= 100:
			rich = append(rich, phone)
		}
	}
	slices.Sort(rich)
	got, notes := l.audience(`sum("*.order.paid", order.total, 30d) >= 100`, now)
	same(t, "sums", rich, got)
	got, _ = l.audience(`sum("*.order.paid", len(order.items ?? []) + 1, 30d) >= 1`, now)
	if want := slices.Sorted(maps.Keys(paid)); !slices.Equal(want, got) {
		t.Errorf("a number of things has no currency: %v, want %v", got, want)
	}
	if len(mixed) == 0 || len(rich) == 0 || !strings.Contains(strings.Join(notes, "\n"), fmt.Sprint(len(mixed), " contacts left out, of whom nobody can say whether they belong: the sum is of EUR and GBP")) {
		t.Errorf("%d with several currencies are noted as %q", len(mixed), notes)
	}
}

func (s suite) aSumOfWhatCannotBeReadIsNone(t *testing.T) {
	l := s.open(t)
	l.mustAccept(boughtAt(0, ada, "order.paid", 50, "GBP", noon))
	spoilt := boughtAt(1, bob, "order.paid", 50, "GBP", noon)
	spoilt.Event.Order.Total, spoilt.Event.Unreadable = messaging.Amount{}, []string{"order.total"}
	l.mustAccept(spoilt)
	l.readAll()
	for _, text := range []string{`sum("*.order.paid", order.total, 30d) < 100`, `not (sum("*.order.paid", order.total, 30d) >= 100)`} {
		got, notes := l.audience(text, noon.Add(time.Hour))
		same(t, text, []string{string(ada)}, got)
		same(t, "notes", []string{"1 contact left out, of whom nobody can say whether they belong: a value of the sum cannot be read: order.total cannot be read"}, notes)
	}
}

func (s suite) nobodyIsInAnAudienceByAMaskedPhone(t *testing.T) {
	l := s.open(t)
	l.mustAccept(boughtAt(0, ada, "order.paid", 50, "GBP", noon))
	l.mustAccept(boughtAt(2, bob, "order.paid", 50, "GBP", noon.Add(190*day)))
	l.readAll()
	now := noon.Add(200 * day)
	got, _ := l.audience(`last("*.order.paid") != nil`, now)
	same(t, "before", []string{string(ada), string(bob)}, got)
	l.at(now)
	_, err := l.privacy().Retain(l.ctx, privacy.Retention{Events: 400 * day, Messages: 400 * day, Phones: 180 * day}, now)
	l.must(err)
	got, _ = l.audience(`last("*.order.paid") != nil`, now)
	same(t, "after", []string{string(bob)}, got)
}

func (s suite) theForgottenAreInNoAudience(t *testing.T) {
	l := s.open(t)
	now := noon.Add(time.Hour)
	for i, who := range []messaging.Phone{ada, bob} {
		l.mustAccept(boughtAt(i, who, "order.paid", 50, "GBP", noon.Add(-time.Hour)))
	}
	l.readAll()
	const everybody = `count("*.order.paid", 30d) > 0 or customer.orders >= 0`
	got, _ := l.audience(everybody, now)
	same(t, "before", []string{string(ada), string(bob)}, got)
	l.must(l.Forget(l.ctx, []messaging.Phone{ada}, "by hand"))
	l.erased()
	got, _ = l.audience(everybody, now)
	same(t, "after", []string{string(bob)}, got)
	l.mustAccept(boughtAt(9, ada, "order.paid", 50, "GBP", noon.Add(50*time.Minute)))
	l.readAll()
	got, _ = l.audience(`count("*.order.paid", 30d) == 1`, now)
	same(t, "known again, by what came since alone", []string{string(ada), string(bob)}, got)
}

func (s suite) whoWasMessagedIsAsLimitsCount(t *testing.T) {
	l := s.open(t)
	people := []messaging.Phone{"447700900801", "447700900802", "447700900803", "447700900804"}
	for i, who := range people {
		l.mustAccept(boughtAt(i, who, "order.paid", 50, "GBP", noon.Add(-time.Hour)))
	}
	l.readAll()
	d := l.claimed("1", phone(people[0]))
	l.mustFinish(d, messaging.StateAccepted)
	l.mustFinish(l.claimed("2", phone(people[1])), messaging.StateRejected)
	l.must(l.fileTo("1", people[2]))
	now := time.Now().Add(time.Hour)
	got, _ := l.audience(`not messaged(36500d)`, now)
	same(t, "not messaged", []string{string(people[1]), string(people[3])}, got)
	got, _ = l.audience(`messaged(36500d) and not received("remind", 36500d)`, now)
	same(t, "messaged, and not arrived", []string{string(people[0]), string(people[2])}, got)
	l.seen(d.ID, messaging.Poll{Status: messaging.StatusDelivered, At: noon.Add(2 * time.Hour)})
	got, _ = l.audience(`received("remind", 36500d)`, now)
	same(t, "received", []string{string(people[0])}, got)
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedTrigger, Was: "remind", Name: "nudge"}}))
	got, _ = l.audience(`received("nudge", 36500d)`, now)
	same(t, "received under the name before", []string{string(people[0])}, got)
	got, _ = l.audience(`received("other", 36500d)`, now)
	same(t, "received from another", []string(nil), got)
}

func (s suite) aContactOfSeveralConnectorsIsOneRow(t *testing.T) {
	l := s.open(t)
	l.mustAccept(bought(purchase{"shop", "order.paid", "1", "20", "Ada", "ada@example.com", ada, noon, func(p *messaging.Plan) { p.Event.Contact.Tags = messaging.Tags{"a", "b"} }}))
	l.mustAccept(bought(purchase{"crm", "order.paid", "1", "30", "Ada River", "", ada, noon.Add(time.Hour), func(p *messaging.Plan) { p.Event.Contact.Country = "GB" }}))
	l.readAll()
	_, rows := l.audienceRows(`spent("EUR") == 50 and customer.name == "Ada River" and customer.tags contains "A"`, noon.Add(2*time.Hour))
	same(t, "row", []lists.Row{{string(ada), "Ada River", "ada@example.com", "", "GB", "", "a, b", "2", "2026-03-02T13:00:00Z", "2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z", ""}}, rows)
}
