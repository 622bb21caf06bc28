package triggers_test

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// A rule, an event, and why nothing is sent.
func ExampleSet_Match() {
	set, problems := triggers.Compile([]triggers.Rule{{
		Name: "abandoned-cart",
		On:   []string{"shopify.cart.updated"},
		If:   []string{"cart.total >= 50", "customer.accepts_marketing"},
		Wait: triggers.Wait{For: 45 * time.Minute},
		Send: triggers.Send{Template: "cart_reminder", Variables: []string{`{{ customer.first_name | default: "there" }}`}},
	}}, triggers.Env{Language: "en", Connectors: map[string]triggers.ConnectorInfo{"shopify": {}}})
	if len(problems) > 0 {
		fmt.Println(problems)
		return
	}
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	event := messaging.Event{
		Connector: "shopify", Kind: "cart.updated", ReceivedAt: now,
		Contact: messaging.Contact{Phone: "447700900123"},
		Cart:    messaging.Cart{ID: "c1", Total: messaging.AmountOf(80)},
	}
	for _, proposal := range set.Match(&event, now).Proposals {
		for _, clause := range proposal.Decision.Clauses {
			fmt.Println(triggers.ClauseLine(clause))
		}
		fmt.Println(proposal.Decision.Outcome, "because", proposal.Decision.Reason)
	}
	// Output:
	// ✓ cart.total >= 50 (cart.total = 80)
	// ✗ customer.accepts_marketing: customer.accepts_marketing is missing
	// skipped because cannot tell whether customer.accepts_marketing: customer.accepts_marketing is missing
}

// Every mistake is reported at once, each with its place and a hint.
func ExampleCompile_problems() {
	_, problems := triggers.Compile([]triggers.Rule{{
		Name: "abandoned-cart",
		On:   []string{"shopfy.cart.updated"},
		If:   []string{"cart.totl >= 50", `cart.total contains "x"`},
		Send: triggers.Send{Campaign: "417"},
	}}, triggers.Env{Connectors: map[string]triggers.ConnectorInfo{"shopify": {}}})
	for _, p := range problems {
		fmt.Println(p.Error())
	}
	// Output:
	// abandoned-cart.on[0]: there is no connector "shopfy"; did you mean "shopify"?
	// abandoned-cart.if[0]: unknown name "totl" in cart; did you mean "total"?
	// abandoned-cart.if[1]: cart.total is an amount, not text
}
