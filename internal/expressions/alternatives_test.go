package expressions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestConditionsThatContradict(t *testing.T) {
	for name, tt := range map[string]struct {
		texts []string
		never bool
	}{
		"bounds":                      {[]string{"cart.total > 5", "5 >= cart.total"}, true},
		"bounds that touch":           {[]string{"cart.total >= 5", "5 >= cart.total"}, false},
		"not, moved inside":           {[]string{"not (cart.total > 5 or order.number == 1)", "order.number == 1"}, true},
		"a decimal and a whole":       {[]string{"cart.total > 5.5", "cart.total < 5"}, true},
		"spans":                       {[]string{"now - event.occurred_at > 3d", "now - event.occurred_at < 1h"}, true},
		"texts":                       {[]string{`order.status == "paid"`, `order.status == "open"`}, true},
		"a list of texts":             {[]string{`order.status in ["paid", "open"]`, `order.status not in ["paid", "open"]`}, true},
		"a list and one of it":        {[]string{`order.status in ["paid", "open"]`, `order.status == "paid"`}, false},
		"true and not true":           {[]string{"customer.accepts_email", "contact.accepts_email != true"}, true},
		"two values, which is more":   {[]string{"cart.total > order.total", "order.total > cart.total"}, true},
		"two values that may be one":  {[]string{"cart.total >= order.total", "order.total >= cart.total"}, false},
		"missing and there":           {[]string{"raw.a == nil", "raw.a != nil"}, true},
		"missing and empty":           {[]string{"raw.a == nil", `raw.a == ""`}, false},
		"texts of which one is asked": {[]string{`raw.a startsWith "x"`, `raw.a startsWith "y"`}, false},
		"more ways than are looked at": {[]string{
			"raw.a == 1 or raw.b == 1", "raw.c == 1 or raw.d == 1", "raw.e == 1 or raw.f == 1", "raw.g == 1 or raw.h == 1",
			"raw.i == 1 or raw.j == 1", "raw.k == 1 or raw.l == 1", "raw.m == 1 or raw.n == 1", "raw.a == 1 and raw.a == 2",
		}, false},
		"a text that is no condition": {[]string{"cart.total >", "cart.total > 5"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Contradict(tt.texts...); got != tt.never {
				t.Errorf("%q contradict: %v", tt.texts, got)
			}
		})
	}
}

// What is called a contradiction is met by no event, and what a condition is said to need, it needs.
func TestContradictionsAreMetByNoEvent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var condition func(depth int) string
	condition = func(depth int) string {
		if depth > 0 && r.IntN(2) == 0 {
			switch r.IntN(3) {
			case 0:
				return "not (" + condition(depth-1) + ")"
			case 1:
				return "(" + condition(depth-1) + " and " + condition(depth-1) + ")"
			default:
				return "(" + condition(depth-1) + " or " + condition(depth-1) + ")"
			}
		}
		op := []string{"==", "!=", "<", "<=", ">", ">="}[r.IntN(6)]
		switch r.IntN(6) {
		case 0:
			return fmt.Sprintf("cart.total %s %d", op, r.IntN(3))
		case 1:
			return fmt.Sprintf("%d %s cart.total", r.IntN(3), op)
		case 2:
			return fmt.Sprintf("cart.total %s order.total", op)
		case 3:
			return fmt.Sprintf("order.status %s %q", []string{"==", "!="}[r.IntN(2)], []string{"a", "b"}[r.IntN(2)])
		case 4:
			return []string{`order.status in ["a", "c"]`, "order.status == nil", "cart.total != nil", `order.status contains "a"`}[r.IntN(4)]
		default:
			return []string{"customer.accepts_marketing", "contact.accepts_marketing == false"}[r.IntN(2)]
		}
	}
	var events []*messaging.Event
	for total := range 5 {
		for _, status := range []string{"", "a", "b", "c"} {
			for consent := range 3 {
				e := &messaging.Event{Order: messaging.Order{Status: status, Total: messaging.AmountOf(int64(consent))}}
				if total > 0 {
					e.Cart.Total = messaging.AmountOf(int64(total - 1))
				}
				e.Contact.Consent, e.Contact.AcceptsMarketing = consent > 0, consent > 1
				events = append(events, e)
			}
		}
	}
	never := 0
	for range 1500 {
		a, b := condition(2), condition(2)
		contradict, ways := Contradict(a, b), Needs(a)
		ca, _ := CompileCondition(a)
		cb, _ := CompileCondition(b)
		if contradict {
			never++
		}
		for _, e := range events {
			s := NewScope(e, time.Unix(0, 0), time.UTC)
			aHolds := ca.Evaluate(s).Held
			if contradict && aHolds && cb.Evaluate(s).Held {
				t.Fatalf("%s and %s are met by %+v", a, b, e)
			}
			missing := func(field string) bool {
				return field == "cart.total" && !e.Cart.Total.Reported() || field == "order.status" && e.Order.Status == "" ||
					field == "contact.accepts_marketing" && !e.Contact.Consent
			}
			if aHolds && len(ways) > 0 && !slices.ContainsFunc(ways, func(way []string) bool { return !slices.ContainsFunc(way, missing) }) {
				t.Fatalf("%s holds for %+v, without what it needs: %v", a, e, ways)
			}
			s.Free()
		}
	}
	if never < 50 {
		t.Errorf("only %d pairs contradict", never)
	}
}
