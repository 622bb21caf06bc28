package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// consentConfig has an offer that waits, and asks for consent when it falls due.
var consentConfig = strings.NewReplacer("language: en}", "language: en, consent: required}", "key: raw.id, send: {template: offer}", "key: raw.id, wait: 2s, send: {template: offer}").Replace(optOutConfig)

func TestConsentIsAskedWhenAMessageFallsDue(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: consentConfig})
	at := time.Now().UTC().Format(time.RFC3339)
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil { // however long the rest takes
		t.Fatal(err)
	}
	says := func(n int, word messaging.Consent) {
		t.Helper()
		if _, err := server.RecordConsents.Call(t.Context(), h.ask, server.ConsentRequest{Rows: []server.ConsentRow{{Phone: phone(n), Consent: word}}}); err != nil {
			t.Fatal(err)
		}
	}
	says(0, messaging.ConsentGiven)
	h.crm("deal.won", "d0", phone(0), at)
	h.crm("deal.won", "d1", phone(1), at)
	says(2, messaging.ConsentGiven)
	h.crm("deal.won", "d2", phone(2), at)
	says(2, messaging.ConsentWithdrawn) // while the offer waits
	if len(h.messages()) != 3 {
		t.Errorf("planned: %+v", h.messages())
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the one who agreed gets it", func() bool { return h.service.Accepted(phone(0)[1:]) == 1 })
	h.eventually("the others do not", func() bool {
		dropped := 0
		for _, m := range h.messages() {
			if m.State == messaging.StateDropped && strings.HasPrefix(m.Reason, "consent is required") {
				dropped++
			}
		}
		return dropped == 2
	})
}
