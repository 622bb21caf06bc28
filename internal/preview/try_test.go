package preview

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// What a try may take is one time for the rules in use and the edited ones: where the first used it up, the second are not asked,
// and the answer says so.
func TestATryHasOneTimeForAllItsRules(t *testing.T) {
	shop, problems := connectors.Compile("shopify", connectors.Config{Secret: secret.New("a secret")}, connectors.Options{Country: "GB"})
	if shop == nil {
		t.Fatal(problems)
	}
	set, faults := triggers.Compile([]triggers.Rule{
		{Name: "reminder", On: []string{"shopify.cart.updated"}, Send: triggers.Send{Template: "cart_reminder"}},
	}, triggers.Env{Connectors: map[string]triggers.ConnectorInfo{"shopify": {}}, Language: "en"})
	if set == nil {
		t.Fatal(faults)
	}
	event := messaging.Event{Connector: "shopify", Kind: "cart.updated", Contact: messaging.Contact{Phone: "447700900123"}}
	for spent, want := range map[time.Duration][2]int{0: {1, 0}, time.Hour: {0, 1}} {
		trial := Trial{Receivers: map[string]*connectors.Connector{"shopify": shop}, Triggers: set, Due: duerules.New(time.UTC, duerules.Account{}), Spent: spent}
		var out TriedRequest
		if err := trial.meet(t.Context(), &out, []messaging.Event{event}, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{len(out.Events[0].Decisions), int(out.Unasked)}; got != want {
			t.Errorf("%v spent: %d decisions and %d unasked, want %v", spent, got[0], got[1], want)
		}
	}
}
