package connectors_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// What the sender calls a test is taken where it is proven, whatever its age, and starts nothing. Its key is apart: the real event of
// the same body comes through.
func TestATestOfTheSenderIsTakenAndStartsNothing(t *testing.T) {
	const key = "a-secret-of-some-length"
	c, problems := connectors.Compile("shopify", connectors.Config{Preset: "shopify", Secret: secret.New(key)}, connectors.Options{Country: "GB"})
	if c == nil {
		t.Fatal(problems)
	}
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	receive := func(body, with, test string) (connectors.Received, error) {
		mac := hmac.New(sha256.New, []byte(with))
		mac.Write([]byte(body))
		h := http.Header{
			"Content-Type": {"application/json"}, "X-Shopify-Topic": {"orders/create"}, "X-Shopify-Webhook-Id": {"w-1"},
			"X-Shopify-Hmac-Sha256": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
		}
		if test != "" {
			h.Set("X-Shopify-Test", test)
		}
		return c.Receive(connectors.Request{Method: http.MethodPost, Path: "/hooks/shopify", Header: h, Body: []byte(body), Now: now})
	}
	order := func(at string) string {
		return `{"id":820982911946154508,"name":"#9999","total_price":"387.00","currency":"GBP","line_items":[],"buyer_accepts_marketing":true,"phone":"+447700900654","created_at":"` + at + `","updated_at":"` + at + `"}`
	}
	const testOrder = messaging.TestKinds + "order.created"
	const old, fresh = "2021-12-31T19:00:00-05:00", "2026-11-26T11:59:00Z"

	got, err := receive(order(old), key, "true")
	if err != nil || len(got.Events) != 1 {
		t.Fatalf("a test of the sender: %+v, %v", got, err)
	}
	e := got.Events[0]
	if e.Kind != testOrder || e.Topic != "orders/create" || e.Contact.Phone != "447700900654" || e.Contact.Consent || string(e.Payload) != order(old) {
		t.Errorf("it is stored as %+v", e)
	}
	if got, err = receive(order(fresh), key, "true"); err != nil || got.Events[0].Kind != testOrder {
		t.Errorf("a fresh body that is called a test: %+v, %v", got, err)
	}
	test := got.Events[0].DedupeKey
	if got, err = receive(order(fresh), key, ""); err != nil || got.Events[0].Kind != "order.created" || got.Events[0].DedupeKey == test {
		t.Errorf("the real one of the same body: %+v, %v", got, err)
	}
	for name, bad := range map[string][3]string{
		"an old one that is no test": {order(old), key, ""}, "an old one that is called something else": {order(old), key, "false"}, "a test that is not signed": {order(old), "guess", "true"},
	} {
		if got, err := receive(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%s is taken: %+v", name, got)
		}
	}
}
