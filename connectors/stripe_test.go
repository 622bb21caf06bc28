package connectors_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/nudgewire/nudgewire/connectors"
)

// Stripe's own library signs, as its users do in their tests, and the preset takes it.
func TestStripesLibrarySignsAndWeAgree(t *testing.T) {
	const word = "whsec_of-the-tests-own-0123456789abcdef"
	con := connector(t, "preset: stripe\nsecret: "+word)
	now := mutationNow
	event := func(id string) []byte {
		return []byte(`{"id":"` + id + `","type":"checkout.session.expired","created":1,"data":{"object":{"customer_details":{"phone":"+81 90 1234 5678","name":"Hana <&> \u00e9"}}}}`)
	}
	post := func(signed *webhook.SignedPayload) connectors.Request {
		r := request(string(signed.Payload), "Stripe-Signature", signed.Header, "Content-Type", "application/json")
		r.Now = now
		return r
	}
	for i := range 5 {
		id := fmt.Sprintf("evt_%d", i)
		signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: event(id), Secret: word, Timestamp: now.Add(-time.Duration(i) * time.Minute)})
		got, err := con.Receive(post(signed))
		if err != nil {
			t.Fatalf("their signature of %d minutes ago: %v", i, err)
		}
		if e := got.Events[0]; e.DedupeKey != id || e.Kind != "checkout.expired" || e.Contact.Phone != "819012345678" {
			t.Errorf("the event became %+v", e)
		}
	}

	wrong := map[string]*webhook.UnsignedPayload{
		"another secret":  {Payload: event("evt_1"), Secret: "whsec_another", Timestamp: now},
		"a secret cut":    {Payload: event("evt_1"), Secret: word[len("whsec_"):], Timestamp: now},
		"too old":         {Payload: event("evt_1"), Secret: word, Timestamp: now.Add(-5*time.Minute - time.Second)},
		"another scheme":  {Payload: event("evt_1"), Secret: word, Timestamp: now, Scheme: "v0"},
		"from the future": {Payload: event("evt_1"), Secret: word, Timestamp: now.Add(6 * time.Minute)},
	}
	for name, unsigned := range wrong {
		_, err := con.Receive(post(webhook.GenerateTestSignedPayload(unsigned)))
		if refused := refusedBy(t, err); refused == nil || refused.Status != http.StatusUnauthorized {
			t.Errorf("%s: %v; want it refused", name, err)
		}
	}

	// Two secrets while one replaces the other: Stripe signs with both, in one header.
	old := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: event("evt_2"), Secret: "whsec_the-old-one-0123456789", Timestamp: now})
	both := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: event("evt_2"), Secret: word, Timestamp: now})
	both.Header = old.Header + "," + both.Header[len(fmt.Sprintf("t=%d,", now.Unix())):]
	if _, err := con.Receive(post(both)); err != nil {
		t.Errorf("the signature of the new secret after the old one's: %v", err)
	}

	// And the other way round, by their clock.
	r := request(string(event("evt_3")))
	r.Now = time.Now()
	header, _, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.ValidatePayload(r.Body, header.Get("Stripe-Signature"), word); err != nil {
		t.Errorf("our signature, by their library: %v", err)
	}
}
