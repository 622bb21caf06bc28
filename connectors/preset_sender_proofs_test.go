package connectors_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
)

// A senderProof is how a vendor's page says that its requests prove themselves, made here without the code that checks it.
type senderProof struct {
	put    func(r *connectors.Request, secret string, at time.Time)
	signed bool          // the body is signed
	old    time.Duration // from this age on a signed time is too old; 0 where none is signed
}

func macOf(secret, text string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func hexOfBody(header string) func(*connectors.Request, string, time.Time) {
	return func(r *connectors.Request, secret string, _ time.Time) {
		r.Header.Set(header, hex.EncodeToString(macOf(secret, string(r.Body))))
	}
}

// userAndPassword is HTTP Basic; the secret is user:password.
func userAndPassword(r *connectors.Request, secret string, _ time.Time) {
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+secret)))
}

func tokenInURL(name string) func(*connectors.Request, string, time.Time) {
	return func(r *connectors.Request, secret string, _ time.Time) {
		r.RawQuery = name + "=" + url.QueryEscape(secret)
		r.URL += "?" + r.RawQuery
	}
}

var senderProofs = map[string]senderProof{
	"salla": {put: hexOfBody("X-Salla-Signature"), signed: true},
	"zid":   {put: userAndPassword},
	"vtex":  {put: func(r *connectors.Request, secret string, _ time.Time) { r.Header.Set("X-Webhook-Token", secret) }},

	"calcom": {put: hexOfBody("X-Cal-Signature-256"), signed: true},
	"acuity": {signed: true, put: func(r *connectors.Request, secret string, _ time.Time) {
		r.Header.Set("X-Acuity-Signature", base64.StdEncoding.EncodeToString(macOf(secret, string(r.Body))))
	}},
	"kommo":         {put: tokenInURL("token")},
	"elementor":     {put: tokenInURL("token")},
	"gravity_forms": {put: tokenInURL("token")},
	"wpforms":       {put: tokenInURL("token")},
	"rdstation":     {put: tokenInURL("token")},

	// developer.rechargepayments.com: a plain hash of the client secret and the body.
	"recharge": {signed: true, put: func(r *connectors.Request, secret string, _ time.Time) {
		sum := sha256.Sum256(append([]byte(secret), r.Body...))
		r.Header.Set("X-Recharge-Hmac-Sha256", hex.EncodeToString(sum[:]))
	}},
	"attio":       {put: hexOfBody("Attio-Signature"), signed: true},
	"recurly_xml": {put: userAndPassword},

	"chargebee": {put: userAndPassword},
	// docs.recurly.com: the time in milliseconds, then signatures over it, a dot and the body; the first may be of an older key.
	"recurly": {signed: true, old: 5 * time.Minute, put: func(r *connectors.Request, secret string, at time.Time) {
		stamp := strconv.FormatInt(at.UnixMilli(), 10)
		r.Header.Set("Recurly-Signature", stamp+","+hex.EncodeToString(macOf("an-older-key", stamp+"."+string(r.Body)))+","+hex.EncodeToString(macOf(secret, stamp+"."+string(r.Body))))
	}},
	"paddle": {signed: true, old: 5 * time.Minute, put: func(r *connectors.Request, secret string, at time.Time) {
		stamp := strconv.FormatInt(at.Unix(), 10)
		r.Header.Set("Paddle-Signature", "ts="+stamp+";h1="+hex.EncodeToString(macOf(secret, stamp+":"+string(r.Body))))
	}},
}

// Salla's strategy Token: the secret as it is, as its skills for partners say, or as a bearer.
func TestSallasTokens(t *testing.T) {
	for _, tt := range []struct{ prefer, header string }{{"token", ""}, {"bearer", "Bearer "}} {
		con := mustCompile(t, "salla", decodeConfig(t, "{preset: salla, secret: "+testSecret+", verify: {prefer: ["+tt.prefer+"]}}"), connectors.Options{})
		s := con.SamplesAt(mutationNow, 7)[0]
		for secret, right := range map[string]bool{testSecret: true, testSecret + "x": false, "": false} {
			r := request(string(s.Body), "Content-Type", "application/json", "Authorization", tt.header+secret)
			r.Now = mutationNow
			if _, err := con.Receive(r); (err == nil) != right {
				t.Errorf("%s, %q: %v", tt.prefer, secret, err)
			}
		}
	}
}

// What the addon of WPForms writes into its header, by its source: the time, and the HMAC of time, a dot and the body.
func TestWPFormsOwnSignature(t *testing.T) {
	info, _ := connectors.PresetInfo("wpforms")
	_, verify, _ := strings.Cut(strings.Join(strings.Fields(info.Setup), " "), "and verify: ")
	con := mustCompile(t, "wpforms", decodeConfig(t, "preset: wpforms\nsecret: "+testSecret+"\nverify: "+strings.TrimSuffix(verify, ".")), connectors.Options{})
	s := con.SamplesAt(mutationNow, 7)[0]
	for name, tt := range map[string]struct {
		secret string
		at     time.Time
		right  bool
	}{
		"good": {testSecret, mutationNow, true}, "of another secret": {"another", mutationNow, false}, "old": {testSecret, mutationNow.Add(-6 * time.Minute), false},
	} {
		stamp := strconv.FormatInt(tt.at.Unix(), 10)
		r := request(string(s.Body), "Content-Type", "application/json; charset=utf-8", "X-WPForms-Webhook-Signature",
			"t="+stamp+",v="+hex.EncodeToString(macOf(tt.secret, stamp+"."+string(s.Body))))
		r.Now = mutationNow
		if _, err := con.Receive(r); (err == nil) != tt.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each request with its vendor's proof is taken; with a body that was changed, the proof of another secret, none, and one that is old,
// it is refused.
func TestVendorsProofs(t *testing.T) {
	const word = "the-right-secret-0123456789abcdef"
	for preset, proof := range senderProofs {
		con := mustCompile(t, preset, ownConfig(t, preset, word), connectors.Options{})
		for _, s := range con.SamplesAt(mutationNow, 7) {
			request := func(secret string, at time.Time, then func(*connectors.Request)) error {
				r := connectors.Request{
					Method: s.Method, URL: "https://hooks.example.com/hooks/" + preset, Path: "/hooks/" + preset, Header: http.Header{},
					Body: bytes.Clone(s.Body), Now: mutationNow,
				}
				for name, value := range s.Header {
					r.Header.Set(name, value)
				}
				proof.put(&r, secret, at)
				then(&r)
				_, err := con.Receive(r)
				return err
			}
			as := func(*connectors.Request) {}
			if err := request(word, mutationNow, as); err != nil {
				t.Errorf("%s, %s: %v", preset, s.Name, err)
			}
			wrong := map[string]error{
				"another secret": request("another-secret-0123456789abcdef01", mutationNow, as),
				"none": request(word, mutationNow, func(r *connectors.Request) {
					r.Header = http.Header{"Content-Type": r.Header["Content-Type"]}
					r.URL, r.RawQuery = strings.TrimSuffix(r.URL, "?"+r.RawQuery), ""
				}),
			}
			if proof.signed {
				for _, at := range []int{0, len(s.Body) / 2, len(s.Body) - 1} {
					wrong[fmt.Sprint("byte ", at, " changed")] = request(word, mutationNow, func(r *connectors.Request) { r.Body[at] ^= 1 })
				}
			}
			if proof.old > 0 {
				wrong["old"] = request(word, mutationNow.Add(-proof.old-time.Second), as)
			}
			for name, err := range wrong {
				if no := rejectedBy(t, err); no == nil || no.Stage != connectors.StageVerify || no.Status != http.StatusUnauthorized {
					t.Errorf("%s, %s, with %s: %v", preset, s.Name, name, err)
				}
			}
		}
	}
}
