package triggers

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// noon is when everything in these tests reaches us.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func amount(t testing.TB, text string) messaging.Amount {
	t.Helper()
	a, err := messaging.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// aCart is a cart update as a shop sends it.
func aCart(t testing.TB) *messaging.Event {
	t.Helper()
	return &messaging.Event{
		Connector: "shopify", Kind: "cart.updated", Topic: "checkouts/update", DedupeKey: "evt-1",
		OccurredAt: noon.Add(-time.Minute), ReceivedAt: noon,
		Contact: messaging.Contact{
			Phone: "447700900123", ID: "c-9", Name: "Ann Lee", FirstName: "Ann", LastName: "Lee", Email: "ann@example.com",
			Language: "de", Country: "GB", Timezone: "Europe/London", Tags: messaging.Tags{"VIP", "spring"},
			AcceptsMarketing: true, Consent: true,
		},
		Cart: messaging.Cart{
			ID: "cart-1", URL: "https://shop.example/cart/1", Total: amount(t, "79.90"), Currency: "GBP",
			ExpiresAt: noon.Add(6 * time.Hour),
			Items: []messaging.Item{
				{ID: "1", SKU: "MUG", Title: "Blue mug", Quantity: 2, Price: amount(t, "9.95"), URL: "https://shop.example/mug", Image: "https://shop.example/mug.jpg"},
				{ID: "2", SKU: "COAT", Title: "Rain coat", Quantity: 1, Price: amount(t, "60.00")},
			},
		},
		Order: messaging.Order{ID: "o-7", Name: "#1001", Number: 2, Status: "paid", Total: amount(t, "60")},
		Form:  messaging.Form{ID: "f-1", Name: "Booking", Answers: map[string]string{"color": "red", "What size?": "L"}},
		Payload: []byte(`{"code":"0123","total":79.90,"count":3,"big":12345678901234567890,"vip":true,"note":null,
			"text_total":"79.90","when":"2026-11-27T10:00:00Z","list":[1,2,3],"lines":[{"rate":5.5,"name":"a"},{"rate":20,"name":"b"}],
			"a.b":"dotted","#":"hash","nested":{"deep":{"x":"y"}},"empty":"","names":["Ann","Bob"]}`),
		ContentType: "application/json",
	}
}

// reminder is the abandoned-cart trigger of the documentation.
func reminder() Rule {
	return Rule{
		Name: "abandoned-cart", On: []string{"shopify.cart.updated"},
		If:       []string{"cart.total >= 50", "customer.accepts_marketing", `not (customer.tags contains "wholesale")`},
		Key:      "cart.id",
		Cooldown: Cooldown{messaging.Cooldown{Mode: messaging.CooldownFor, For: 72 * time.Hour}},
		Wait:     Wait{For: 45 * time.Minute},
		CancelOn: []EventIf{"shopify.order.created"},
		MaxAge:   Lifetime{Set: true, For: 72 * time.Hour},
		Expires:  Lifetime{Set: true, For: 6 * time.Hour},
		Send: Send{
			Template: "cart_reminder",
			Variables: []string{
				`{{ customer.first_name | default: "there" }}`, "{{ cart.items[0].title }}", "{{ cart.url }}",
			},
			Header: &Header{Image: "{{ cart.items[0].image }}"},
		},
	}
}

var shops = Env{
	Version: "v1", Language: "en", Timezone: "Europe/London",
	Connectors: map[string]ConnectorInfo{
		"shopify": {Kinds: []string{"cart.created", "cart.updated", "order.created", "order.paid"}},
		"hubspot": {Kinds: []string{"contact.updated", "deal.won"}},
		"loyalty": {},
	},
}

// compiled is a Set of rules that have no problem.
func compiled(t testing.TB, env Env, rules ...Rule) *Set {
	t.Helper()
	set, problems := Compile(rules, env)
	for _, p := range problems {
		if !p.Warning {
			t.Errorf("compile: %v", p)
		}
	}
	if set == nil {
		t.FailNow()
	}
	return set
}
