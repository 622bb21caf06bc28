package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/server"
)

// One person who fills in a form at HubSpot is four changes within a second. What the page says
// to paste makes one message of them once it is live; as it is pasted it makes none.
func TestABurstOfChangesIsOneMessageWithWhatThePageSaysToPaste(t *testing.T) {
	t.Parallel()
	info, _ := connectors.PresetInfo("hubspot")
	for name, want := range map[string]int{"as pasted": 0, "live": 1} {
		t.Run(name, func(t *testing.T) {
			pasted := strings.NewReplacer("${HUBSPOT_SECRET}", `"${SHOP_SECRET}"`, "    defaults:", "    address: https://hooks.example.com/hooks/hubspot\n    defaults:",
				"wait: 15m", "wait: 1s ").Replace(info.Snippet())
			if want > 0 {
				pasted = strings.ReplaceAll(pasted, "mode: shadow", "mode: live  ")
			}
			h := open(t, options{config: "defaults: {country: GB, language: en}\n" + pasted})
			sender, problems := connectors.Compile("hubspot", connectors.Config{Secret: secret.New(shopSecret), Address: "https://hooks.example.com/hooks/hubspot"}, connectors.Options{})
			if sender == nil {
				t.Fatal(problems)
			}
			// However long the four take: each of them begins the wait anew.
			if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				now := time.Now()
				body := fmt.Sprintf(`[{"portalId":1,"subscriptionId":2,"objectId":3,"occurredAt":%d,"subscriptionType":"contact.propertyChange","propertyName":"phone","propertyValue":"+447700900123"}]`, now.UnixMilli()+int64(i))
				signed, err := sender.Sign(connectors.Request{Method: http.MethodPost, Path: "/hooks/hubspot", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), Now: now})
				if err != nil {
					t.Fatal(err)
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/hubspot", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = signed.Header
				h.mustTake(req)
			}
			if n := len(h.events()); n != 4 {
				t.Fatalf("%d events, want 4", n)
			}
			if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
				t.Fatal(err)
			}
			h.eventually("the message", func() bool { return len(h.service.Messages("447700900123")) >= want })
			time.Sleep(1500 * time.Millisecond)
			if n := len(h.service.Messages("447700900123")); n != want {
				t.Errorf("%d messages, want %d", n, want)
			}
		})
	}
}
