package connectors_test

import (
	_ "embed"
	"encoding/json"
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
