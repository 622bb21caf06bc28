package expressions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func money(t *testing.T, text string) messaging.Amount {
	t.Helper()
	a, err := messaging.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Who belongs to an audience, and of whom nobody can say it.
func TestAnAudienceChoosesContacts(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	ada := Person{
		Phone: "447700900123", Name: "Ada", Country: "GB", Tags: messaging.Tags{"VIP"}, Orders: 3, LastOrderAt: now.Add(-100 * 24 * time.Hour), Consent: "given",
		FirstSeenAt: now.Add(-400 * 24 * time.Hour), LastSeenAt: now.Add(-24 * time.Hour), Spent: messaging.Sums{{Currency: "GBP", Amount: money(t, "182.50")}},
	}
	past := func(values ...any) func(*Person) { return func(p *Person) { p.Past = values } }
	for _, tt := range []struct {
		text   string
		change func(*Person)
		has    bool
		why    string
	}{
		{text: `customer.country == "GB"`, has: true},
		{text: `customer.country in ["DE", "FR"]`},
		{text: `customer.language == "de"`, why: "customer.language is missing"},
		{text: `customer.language != "de"`, why: "customer.language is missing"},
		{text: `customer.language == nil`, has: true},
		{text: `customer.tags contains "vip"`, has: true},
		{text: `customer.orders >= 3 and now - customer.last_order_at > 90d`, has: true},
		{text: `contact.first_seen_at < now - 365d`, has: true},
		{text: `customer.consent == "given"`, has: true},
		{text: `spent("gbp") >= 180`, has: true},
		{text: `spent("EUR") > 0`},
		{text: `count("*.order.paid", 90d) >= 2`, change: past(2), has: true},
		{text: `count("*.order.paid", 90d) >= 2`, change: past(1)},
		{text: `last("*.order.*").age > 90d`, change: past(&Occurrence{At: now.Add(-91 * 24 * time.Hour), Age: 91 * 24 * time.Hour}), has: true},
		{text: `last("*.order.*").age > 90d`, change: past((*Occurrence)(nil)), why: `last("*.order.*").age is missing`},
		{text: `last("*.order.*", 365d) == nil or last("*.order.*", 365d).age > 90d`, change: past((*Occurrence)(nil), (*Occurrence)(nil)), has: true},
		{text: `last("*.order.*").at < now - 90d`, change: past(&Occurrence{At: now.Add(-91 * 24 * time.Hour)}), has: true},
		{text: `sum("*.order.paid", order.total, 365d) >= 500`, change: past(money(t, "500")), has: true},
		{text: `sum("*.order.paid", order.total, 365d) >= 500`, change: past(Undecided("the sum is of EUR and GBP")), why: "the sum is of EUR and GBP"},
		{text: `not (sum("*.order.paid", order.total, 365d) >= 500)`, change: past(Undecided("the sum is of EUR and GBP")), why: "the sum is of EUR and GBP"},
		{text: `messaged(14d) or not replied(30d)`, change: past(false, false), has: true},
		{text: `received("cart", 7d)`, change: past(true), has: true},
		{text: `any(customer.tags, # == "VIP")`, has: true},
	} {
		t.Run(tt.text, func(t *testing.T) {
			a, faults := CompileAudience(tt.text)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			p := ada
			if tt.change != nil {
				tt.change(&p)
			}
			if len(a.Past) != len(p.Past) {
				t.Fatalf("asks %d things of the past", len(a.Past))
			}
			if has, why := a.Has(&p, now, time.UTC); has != tt.has || why != tt.why {
				t.Errorf("has %v, %q; want %v, %q", has, why, tt.has, tt.why)
			}
		})
	}
}

// What an audience asks of the past is known before any contact is looked at.
func TestAnAudienceSaysWhatItAsks(t *testing.T) {
	a, faults := CompileAudience(`count("shopify.order.paid", 90d) > 1 and sum("*.order.paid", order.total * 2, 1d12h) > 5 and last("*.order.*").age > 1d and not received("x", 7d)`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, q := range a.Past {
		got = append(got, fmt.Sprintf("%s %s %s %v", q.Function, q.Of, q.Within, q.Value != nil))
	}
	want := []string{"count shopify.order.paid 2160h0m0s false", "sum *.order.paid 36h0m0s true", "last *.order.* 0s false", "received x 168h0m0s false"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("asks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each mistake in an audience is told with what to write.
func TestMistakesInAnAudience(t *testing.T) {
	for text, want := range map[string]string{
		`country == "GB"`:                         `did you mean "customer.country"?`,
		`cart.total > 5`:                          "an audience asks no event",
		`customer.city == "Leeds"`:                `unknown name "city"`,
		`count("*.order.paid") > 2`:               "count takes a length of time to look back",
		`count("*.order.paid", 3) > 2`:            "3 is no length of time to look back",
		`count("*.order.paid", 0d) > 2`:           "0d is no length of time to look back",
		`count("*.order.paid", 1d, 2d) > 2`:       "count takes a length of time to look back",
		`last(90d)`:                               "last takes a name in quotes first",
		`sum("*.order.paid", 365d) > 5`:           "sum adds numbers",
		`sum("*.order.paid", order.id, 9d) > 5`:   "order.id is text",
		`sum("*.order.paid", order.totl, 9d) > 5`: `did you mean "total"?`,
		`messaged("x", 14d)`:                      "messaged takes a length of time",
		`message(14d)`:                            `did you mean "messaged"?`,
		`spent(GBP) > 1`:                          "spent takes a currency in quotes",
		`customer.orders`:                         "is a number",
		`messaged`:                                "write messaged(…)",
	} {
		t.Run(text, func(t *testing.T) {
			_, faults := CompileAudience(text)
			var said []string
			for _, f := range faults {
				said = append(said, f.Msg+"; "+f.Hint)
			}
			if !strings.Contains(strings.Join(said, "\n"), want) {
				t.Errorf("says %q, want %q", said, want)
			}
		})
	}
	if _, faults := CompileCondition("messaged(14d)"); len(faults) != 1 || !strings.Contains(faults[0].Hint, "of a job only") {
		t.Errorf("a condition says %v", faults)
	}
}
