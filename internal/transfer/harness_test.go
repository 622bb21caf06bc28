//go:build unix

package transfer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// databases are of one server for all tests of this package.
var databases testserver.Databases

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(databases.Exit)) }

func newDatabase(t testing.TB) string {
	t.Helper()
	return databases.New(t) + "#" + t.TempDir()
}

// wired gives the DSN of a fresh database behind a wire, for a folder of its own.
func wired(t *testing.T) (w *testserver.Wire, dsn string) {
	t.Helper()
	address, folder, _ := strings.Cut(newDatabase(t), "#")
	w, by := testserver.NewWire(t, address)
	return w, by + "#" + folder
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// plan is an event with one decision and one message that waits.
func plan(n int64) messaging.Plan {
	phone, key := messaging.Phone(fmt.Sprintf("4477%08d", n)), fmt.Sprint("cart-", n)
	return messaging.Plan{
		Event: messaging.Event{
			Connector: "shopify", Kind: "cart.updated", DedupeKey: fmt.Sprint("webhook-", n),
			OccurredAt: noon, ReceivedAt: noon.Add(time.Duration(n) * time.Millisecond), Contact: messaging.Contact{Phone: phone},
			Payload: []byte(`{"id":"c0ffee"}`), ContentType: "application/json",
		},
		Proposals: []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: "abandoned-cart", Outcome: messaging.Planned, Key: key, At: noon},
			Correlation: messaging.Correlation{Trigger: "abandoned-cart", Key: key, Phone: phone},
			Message: messaging.Message{
				Trigger: "abandoned-cart", Key: key, Phone: phone, Category: messaging.Marketing, DueAt: noon, ExpiresAt: noon.Add(240 * time.Hour),
				Send: messaging.Send{Template: "cart_reminder", Language: "en"},
			},
		}},
	}
}

func always(w messaging.Proposal, _ messaging.Facts) messaging.Settlement {
	return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: true}
}
