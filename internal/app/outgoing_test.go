package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

const crmSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// told is a system that takes and verifies webhooks out.
func told(t *testing.T) (url string, kinds func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	signer, err := standardwebhooks.NewWebhook(crmSecret)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = signer.Verify(text, r.Header)
		}
		var b outbox.Body
		if err == nil {
			err = json.Unmarshal(text, &b)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, b.Type)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(got) }
}

// A receiver is told by the whole daemon, during a halt, too; a reload takes it away while something waits, and brings it back.
func TestAReceiverComesAndGoesByReload(t *testing.T) {
	t.Parallel()
	url, kinds := told(t)
	entry := `
webhooks_out:
  - {name: crm, url: "` + url + `", secret: ` + crmSecret + `, on: [message.delivered, message.waiting], allow_private: true}
`
	h := open(t, options{config: plainConfig + entry})
	order := func(id, phone string) {
		t.Helper()
		h.mustTake(h.shopify("orders/create", id, map[string]any{
			"id": id, "currency": "GBP", "total_price": "80.00", "phone": phone, "customer": map[string]any{"phone": phone, "first_name": "Ada"},
		}))
	}
	order("o1", "+447700900101")
	h.eventually("the receiver is told", func() bool { return slices.Equal(kinds(), []string{"message.waiting", "message.delivered"}) })

	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: "all", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	order("o2", "+447700900102")
	h.eventually("a halt does not keep it", func() bool { return len(kinds()) == 3 })

	// A receiver that is not there: what is told to it waits.
	h.edit(url, "http://127.0.0.1:1/")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	order("o3", "+447700900103")
	state := func(gone bool, waiting int64) func() bool {
		return func() bool {
			all, err := server.ListReceivers.Call(t.Context(), h.ask, server.None{})
			if err != nil {
				t.Fatal(err)
			}
			return len(all) == 1 && all[0].Name == "crm" && all[0].Gone == gone && all[0].Waiting == waiting
		}
	}
	h.eventually("one waits", state(false, 1))
	h.edit(strings.Replace(entry, url, "http://127.0.0.1:1/", 1), "\n")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	order("o4", "+447700900104") // nobody is told of it
	h.eventually("it waits for a receiver that is gone", state(true, 1))
	found := false
	for _, one := range h.status().Troubles {
		found = found || one.Code == messaging.TroubleWebhooksOut && strings.Contains(one.Words, "not in the config")
	}
	if !found {
		t.Errorf("status does not tell of it: %+v", h.status().Troubles)
	}

	h.edit("\nserver:", entry+"\nserver:")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.eventually("it is back", state(false, 0))
	if n := len(kinds()); n != 4 {
		t.Errorf("%d were told: %v", n, kinds())
	}
	if tested, err := server.TestReceiver.Call(t.Context(), h.ask, server.ReceiverTest{Receiver: "crm"}); err != nil || tested.Error != "" {
		t.Errorf("%+v, %v", tested, err)
	}
	n, err := server.ReplayWebhooks.Call(t.Context(), h.ask, server.ReplayRequest{Receiver: "crm"})
	if err != nil || n.Count != 4 {
		t.Errorf("replayed %+v, %v", n, err)
	}
	h.eventually("all are told again", func() bool { return len(kinds()) == 9 })
}
