package connectors_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// Which events never carry a phone follows from a preset's map, samples and look-ups, and from what the config says.
func TestEventsThatNeverCarryAPhone(t *testing.T) {
	const square = "preset: square\n"
	for name, tt := range map[string]struct{ config, kind, want string }{
		"a booking without a token":           {square, "booking.created", "set token in connectors.x: it is then looked up at connect.squareup.com"},
		"with one":                            {square + "token: abc\n", "booking.created", ""},
		"with a map of one's own":             {square + "map: {phone: data.object.booking.customer_note}\n", "booking.created", ""},
		"with a map for other events":         {square + "map: {email: a}\n", "booking.created", "set token in connectors.x: it is then looked up at connect.squareup.com"},
		"with look-ups of one's own":          {square + "token: abc\nenrich: [{get: \"https://api.example.com/{id}\", into: a, auth: {kind: bearer}}]\n", "booking.created", ""},
		"a customer, who carries it":          {square, "contact.created", ""},
		"one topic of several may":            {square, "order.updated", ""},
		"an account's own address":            {"preset: zendesk\n", "ticket.solved", "set api_url and token in connectors.x: it is then looked up"},
		"only the address is missing":         {"preset: zendesk\ntoken: \"a@example.com/token:b\"\n", "contact.created", "set api_url in connectors.x: it is then looked up"},
		"only the user's secret is missing":   {"preset: zoho_crm\n", "contact.updated", "set oauth.client_id in connectors.x: it is then looked up at www.zohoapis.com"},
		"ids alone":                           {"preset: copper\n", "deal.won", "set token in connectors.x: it is then looked up at api.copper.com"},
		"nothing is mapped and none to fetch": {"preset: shopify\n", "order.refunded", "say where it is, if it is in the body after all: connectors.x.map: {phone: …}; or listen to an event that has one"},
		"a cart":                              {"preset: shopify\n", "cart.updated", ""},
		"a shape that somebody chooses":       {"preset: generic\n", "order.created", ""},
		"one's own, without":                  {goodVerify + "event: {kind: a.b}\nmap: {email: c}\n", "a.b", "say where it is, if it is in the body after all: connectors.x.map: {phone: …}; or listen to an event that has one"},
		"one's own, with":                     {goodVerify + "event: {kind: a.b}\nmap: {phone: c}\n", "a.b", ""},
		"one's own, for some kinds":           {goodVerify + "event: {type: t, aliases: {x: order.paid, y: order.created}}\nmap_for: {order.paid: {phone: c}}\n", "order.created", "say where it is, if it is in the body after all: connectors.x.map: {phone: …}; or listen to an event that has one"},
		"one's own, for the topic":            {goodVerify + "event: {type: t, aliases: {x: order.paid, y: order.created}}\nmap_for: {x: {phone: c}}\n", "order.paid", ""},
		"words that only a rule knows":        {goodVerify + "event: {type: t, kinds: [{when: [s == 1], kind: order.paid}]}\nmap_for: {x: {phone: c}}\n", "order.paid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := decodeConfig(t, tt.config)
			if c.Secret.IsZero() {
				c.Secret = secret.New(ownSecret)
			}
			con := mustCompile(t, "x", c, connectors.Options{Country: "GB"})
			if got := con.NoPhone(tt.kind); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// With all that its setup asks for, each event of a preset that somebody could answer may carry a phone: what a preset cannot do at all is
// named here with the reason.
func TestPresetsCanBringAPhone(t *testing.T) {
	cannot := map[string]string{
		"shopify.order.refunded": "its body has the order's number, and the Admin API is asked by POST", "shopify.shop.redacted": "it is about a shop",
		"dynamics365.deal.": "each organisation has a token server of its own",
	}
	for _, name := range connectors.PresetNames() {
		c := ownConfig(t, name, testSecret)
		c.Token, c.APIURL = secret.New("ada@example.com:tok"), "https://api.example.com"
		c.OAuth = &connectors.OAuth{TokenURL: "https://api.example.com/t", ClientID: "c", ClientSecret: secret.New("s"), RefreshToken: secret.New("r")}
		con := mustCompile(t, name, c, connectors.Options{Country: "GB"})
	kinds:
		for _, kind := range con.Kinds() {
			for known := range cannot {
				if strings.HasPrefix(name+"."+kind, known) {
					continue kinds
				}
			}
			if hint := con.NoPhone(kind); hint != "" {
				t.Errorf("%s.%s never has a phone: %s", name, kind, hint)
			}
		}
	}
}
