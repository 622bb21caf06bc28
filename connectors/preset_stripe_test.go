package connectors_test

import (
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
)

// A stripeVector is what Stripe's own library made once: webhook.GenerateTestSignedPayload of
// github.com/stripe/stripe-go/v84 at v84.4.1.
type stripeVector struct {
	What    string `json:"what"`
	Secret  string `json:"secret"`
	At      int64  `json:"at"` // seconds
	Payload string `json:"payload"`
	Header  string `json:"header"`
}

//go:embed testdata/stripe_signed.json
var stripeSigned []byte

// Stripe's own library signed, as its users do in their tests, and the preset takes it; what the preset
// signs is the same to the letter.
func TestWhatStripesLibrarySignedIsWhatWeSign(t *testing.T) {
	var vectors []stripeVector
	if err := json.Unmarshal(stripeSigned, &vectors); err != nil {
		t.Fatal(err)
	}
	const word = "whsec_of-the-tests-own-0123456789abcdef"
	con := connector(t, "preset: stripe\nsecret: "+word)
	post := func(v stripeVector) connectors.Request {
		r := request(v.Payload, "Stripe-Signature", v.Header, "Content-Type", "application/json")
		r.Now = mutationNow
		return r
	}
	good := 0
	for _, v := range vectors {
		got, err := con.Receive(post(v))
		if !strings.HasPrefix(v.What, "good") {
			if rejected := rejectedBy(t, err); rejected == nil || rejected.Status != http.StatusUnauthorized {
				t.Errorf("%s: %v; want it rejected", v.What, err)
			}
			continue
		}
		good++
		if err != nil {
			t.Fatalf("%s: %v", v.What, err)
		}
		if e := got.Events[0]; !strings.Contains(v.Payload, strconv.Quote(e.DedupeKey)) || e.Kind != "checkout.expired" || e.Contact.Phone != "819012345678" {
			t.Errorf("%s: the event became %+v", v.What, e)
		}
		r := request(v.Payload)
		r.Now = time.Unix(v.At, 0)
		if signed, err := con.Sign(r); err != nil || signed.Header.Get("Stripe-Signature") != v.Header {
			t.Errorf("%s: ours is %s (%v)", v.What, signed.Header.Get("Stripe-Signature"), err)
		}
	}
	if good != 3 || len(vectors) != 8 {
		t.Errorf("%d good of %d", good, len(vectors))
	}

	// Two secrets while one replaces the other: Stripe signs with both, in one header.
	both := vectors[0]
	old, err := connector(t, "preset: stripe\nsecret: whsec_the-old-one-0123456789").Sign(func() connectors.Request { r := request(both.Payload); r.Now = mutationNow; return r }())
	if err != nil {
		t.Fatal(err)
	}
	_, newer, _ := strings.Cut(both.Header, ",")
	both.Header = old.Header.Get("Stripe-Signature") + "," + newer
	if _, err := con.Receive(post(both)); err != nil {
		t.Errorf("the signature of the new secret after the old one's: %v", err)
	}
}

// A thin event is proven as docs.stripe.com/webhooks describes it, like any other: HMAC-SHA256 over time, dot and body. Its kind is that of
// the object's event, and who it is about is looked up by what the object is, never at the address in the event.
func TestThinEventsByStripesProof(t *testing.T) {
	const word = "whsec_of-the-tests-own-0123456789abcdef"
	con := connector(t, "preset: stripe\ntoken: rk_test_1\nsecret: "+word)
	body := func(kind, object string) string {
		return `{"id":"evt_1","object":"v2.core.event","type":"` + kind + `","livemode":false,"created":"` + mutationNow.Format(time.RFC3339) + `","context":null,"related_object":{"id":"obj_1","type":"` + object + `","url":"/v1/elsewhere/obj_1"},"reason":null}`
	}
	signed := func(text, key string, at time.Time) connectors.Request {
		stamp := fmt.Sprint(at.Unix())
		h := hmac.New(sha256.New, []byte(key))
		_, _ = h.Write([]byte(stamp + "." + text))
		r := request(text, "Stripe-Signature", fmt.Sprintf("t=%s,v1=%x", stamp, h.Sum(nil)), "Content-Type", "application/json")
		r.Now = mutationNow
		return r
	}
	for kind, want := range map[string]struct{ object, kind, asks string }{
		"v1.checkout.session.completed":           {"checkout.session", "order.created", "/v1/checkout/sessions/obj_1"},
		"v1.payment_intent.payment_failed":        {"payment_intent", "payment.failed", "/v1/payment_intents/obj_1"},
		"v1.charge.refunded":                      {"charge", "order.refunded", "/v1/charges/obj_1"},
		"v1.invoice.paid":                         {"invoice", "order.paid", "/v1/invoices/obj_1"},
		"v1.customer.created":                     {"customer", "contact.created", "/v1/customers/obj_1"},
		"v1.customer.deleted":                     {"customer", "contact.deleted", ""},
		"v1.customer.subscription.deleted":        {"subscription", "subscription.expired", "/v1/subscriptions/obj_1"},
		"v1.billing.meter.error_report_triggered": {"billing.meter", "billing.meter.error.report.triggered", ""},
		"v2.core.account.updated":                 {"v2.core.account", "v2.core.account.updated", ""},
	} {
		got, err := con.Receive(signed(body(kind, want.object), word, mutationNow))
		if err != nil || len(got.Events) != 1 || got.Events[0].Kind != want.kind || got.Events[0].OccurredAt.IsZero() {
			t.Errorf("%s: %+v, %v", kind, got.Events, err)
			continue
		}
		if next, ok, err := con.Lookup(got.Events[0]); ok != (want.asks != "") || err != nil || ok && next.URL != "https://api.stripe.com"+want.asks {
			t.Errorf("%s: looked up at %s (%v)", kind, next.URL, err)
		}
	}
	text := body("v1.invoice.paid", "invoice")
	other := signed(text, word, mutationNow)
	other.Body = []byte(strings.Replace(text, "obj_1", "obj_2", 1))
	for what, r := range map[string]connectors.Request{
		"another key": signed(text, "whsec_somebody-else-0123456789abcdef", mutationNow), "another body": other, "an old time": signed(text, word, mutationNow.Add(-time.Hour)),
		"no signature": request(text, "Content-Type", "application/json"),
	} {
		if _, err := con.Receive(r); err == nil || rejectedBy(t, err).Status != http.StatusUnauthorized {
			t.Errorf("%s: %v", what, err)
		}
	}
}
