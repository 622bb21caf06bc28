package connectors_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// What a sample has is never told to be absent, of any preset; and of each preset something is known to be absent.
func TestFieldsOfSamplesAreCarried(t *testing.T) {
	has := map[string]func(e *messaging.Event) bool{
		"contact.id":                func(e *messaging.Event) bool { return e.Contact.ID != "" },
		"contact.phone":             func(e *messaging.Event) bool { return e.Contact.Phone != "" },
		"contact.name":              func(e *messaging.Event) bool { return e.Contact.Name != "" },
		"contact.first_name":        func(e *messaging.Event) bool { return e.Contact.FirstName != "" },
		"contact.last_name":         func(e *messaging.Event) bool { return e.Contact.LastName != "" },
		"contact.email":             func(e *messaging.Event) bool { return e.Contact.Email != "" },
		"contact.language":          func(e *messaging.Event) bool { return e.Contact.Language != "" },
		"contact.country":           func(e *messaging.Event) bool { return e.Contact.Country != "" },
		"contact.timezone":          func(e *messaging.Event) bool { return e.Contact.Timezone != "" },
		"contact.tags":              func(e *messaging.Event) bool { return len(e.Contact.Tags) > 0 },
		"contact.accepts_marketing": func(e *messaging.Event) bool { return e.Contact.Consent },
		"contact.consent_known":     func(e *messaging.Event) bool { return e.Contact.Consent },
		"contact.accepts_email":     func(e *messaging.Event) bool { return e.Contact.EmailConsent },
		"cart.id":                   func(e *messaging.Event) bool { return e.Cart.ID != "" },
		"cart.url":                  func(e *messaging.Event) bool { return e.Cart.URL != "" },
		"cart.total":                func(e *messaging.Event) bool { return e.Cart.Total.Reported() },
		"cart.currency":             func(e *messaging.Event) bool { return e.Cart.Currency != "" },
		"cart.items":                func(e *messaging.Event) bool { return len(e.Cart.Items) > 0 },
		"cart.items.title":          func(e *messaging.Event) bool { return len(e.Cart.Items) > 0 && e.Cart.Items[0].Title != "" },
		"cart.items.image":          func(e *messaging.Event) bool { return len(e.Cart.Items) > 0 && e.Cart.Items[0].Image != "" },
		"cart.items.quantity":       func(e *messaging.Event) bool { return len(e.Cart.Items) > 0 && e.Cart.Items[0].Quantity > 0 },
		"order.id":                  func(e *messaging.Event) bool { return e.Order.ID != "" },
		"order.name":                func(e *messaging.Event) bool { return e.Order.Name != "" },
		"order.number":              func(e *messaging.Event) bool { return e.Order.Number > 0 },
		"order.status":              func(e *messaging.Event) bool { return e.Order.Status != "" },
		"order.url":                 func(e *messaging.Event) bool { return e.Order.URL != "" },
		"order.total":               func(e *messaging.Event) bool { return e.Order.Total.Reported() },
		"order.items.price":         func(e *messaging.Event) bool { return len(e.Order.Items) > 0 && e.Order.Items[0].Price.Reported() },
		"deal.id":                   func(e *messaging.Event) bool { return e.Deal.ID != "" },
		"deal.stage":                func(e *messaging.Event) bool { return e.Deal.Stage != "" },
		"deal.amount":               func(e *messaging.Event) bool { return e.Deal.Amount.Reported() },
		"form.id":                   func(e *messaging.Event) bool { return e.Form.ID != "" },
		"form.answers":              func(e *messaging.Event) bool { return len(e.Form.Answers) > 0 },
		"message.text":              func(e *messaging.Event) bool { return e.Message.Text != "" },
		"message.says":              func(e *messaging.Event) bool { return e.Message.Says != "" },
	}
	looked := 0
	for _, name := range connectors.PresetNames() {
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{Country: "GB", Language: "en"})
		for _, kind := range con.Kinds() {
			for _, e := range con.SampleEvents(kind) {
				for field, is := range has {
					if looked++; is(&e.Event) && con.NeverCarries(kind, field) {
						t.Errorf("%s.%s: the sample %q has %s, which it is said never to carry", name, kind, e.Sample, field)
					}
				}
			}
		}
	}
	if looked < 3000 {
		t.Errorf("only %d fields of samples were looked at", looked)
	}
}

// A field is never carried where the map says so, and only there.
func TestFieldsThatAnEventNeverCarries(t *testing.T) {
	for name, tt := range map[string]struct {
		config, kind, field string
		never               bool
	}{
		"an order's total in a cart":              {"preset: shopify\n", "cart.updated", "order.total", true},
		"a cart's own":                            {"preset: shopify\n", "cart.updated", "cart.total", false},
		"a picture of its lines":                  {"preset: shopify\n", "cart.updated", "cart.items.image", true},
		"how many of a line":                      {"preset: shopify\n", "cart.updated", "cart.items.quantity", false},
		"a language, which the phone may say":     {"preset: shopify\n", "cart.updated", "contact.language", false},
		"what the event itself is":                {"preset: shopify\n", "cart.updated", "event.id", false},
		"mapped by the user":                      {"preset: shopify\nmap: {order.total: x}\n", "cart.updated", "order.total", false},
		"mapped by the user for others":           {"preset: shopify\nmap_for: {orders/*: {deal.amount: x}}\n", "cart.updated", "deal.amount", true},
		"of a kind that nobody knows":             {"preset: shopify\n", "what.ever", "order.total", false},
		"of a shape that somebody chooses":        {"preset: generic\n", "cart.updated", "deal.amount", false},
		"of one's own":                            {goodVerify + "event: {kind: a.b}\nmap: {phone: c}\n", "a.b", "cart.total", true},
		"of one's own, by the topic":              {goodVerify + "event: {type: t, aliases: {x: order.paid}}\nmap_for: {x: {cart.total: c}}\n", "order.paid", "cart.total", false},
		"of one's own, by another":                {goodVerify + "event: {type: t, aliases: {x: order.paid, y: order.created}}\nmap_for: {y: {cart.total: c}}\n", "order.paid", "cart.total", true},
		"by words that only a rule knows":         {goodVerify + "event: {type: t, kinds: [{when: [s == 1], kind: order.paid}]}\nmap_for: {y: {cart.total: c}}\n", "order.paid", "cart.total", false},
		"a first name, where a whole one is told": {goodVerify + "event: {kind: a.b}\nmap: {phone: c, name: n}\n", "a.b", "contact.first_name", false},
		"a whole name, where a first one is told": {goodVerify + "event: {kind: a.b}\nmap: {phone: c, first_name: n}\n", "a.b", "contact.name", false},
		"a last name, where a first one is told":  {goodVerify + "event: {kind: a.b}\nmap: {phone: c, first_name: n}\n", "a.b", "contact.last_name", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := decodeConfig(t, tt.config)
			if c.Secret.IsZero() {
				c.Secret = secret.New(ownSecret)
			}
			con := mustCompile(t, "x", c, connectors.Options{Country: "GB"})
			if got := con.NeverCarries(tt.kind, tt.field); got != tt.never {
				t.Errorf("%s in %s: never is %v", tt.field, tt.kind, got)
			}
		})
	}
}
