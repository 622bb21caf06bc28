package connectors_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// payloadDir is the folder of published webhook bodies; tests over it skip where it is absent.
func payloadDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NUDGEWIRE_PAYLOADS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "payloads")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there is no folder of published payloads; NUDGEWIRE_PAYLOADS names one")
	}
	return dir
}

// meta is what is known about a published body.
type meta struct {
	Platform  string            `json:"platform"`
	BodyFile  string            `json:"body_file"`
	Method    string            `json:"method"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	Secret    string            `json:"secret"`
	Scheme    string            `json:"scheme"`
	Clock     int64             `json:"clock_unix"`
	Expected  string            `json:"expected"`
	EventType string            `json:"event_type"`
	EventID   string            `json:"event_id"`
	Phone     string            `json:"phone_expected"`
	Email     string            `json:"email_expected"`
	Count     int               `json:"batch_count"`
}

// The bodies whose published facts are about something else than our mapping.
var (
	// A hash, not an id, tells these events apart; or the id is only one part of what does.
	otherID = map[string]bool{
		"hubspot/vector_v1_valid":     true, // eventId, which HubSpot does not promise to be unique
		"mailchimp/subscribe":         true, // the subscriber's id, the same for each of his events
		"typeform/form_response_docs": false,
	}
	// The mail that is published belongs to the shop, or the field to nobody.
	otherEmail = map[string]bool{}
)

func publishedNames(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.meta.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no published payloads in %s: %v", dir, err)
	}
	var names []string
	for _, f := range files {
		rel, _ := filepath.Rel(dir, strings.TrimSuffix(f, ".meta.json"))
		names = append(names, filepath.ToSlash(rel))
	}
	return names
}

func readPublished(t testing.TB, dir, name string) (meta, []byte) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name+".meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m meta
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, filepath.Dir(name), m.BodyFile))
	if err != nil {
		t.Fatal(err)
	}
	return m, body
}

const ownSecret = "a-secret-of-the-tests-own-0123456789"

// publishedConfig is the connector that a published body belongs to.
func publishedConfig(t testing.TB, name string, m meta) (string, connectors.Config) {
	t.Helper()
	preset := m.Platform
	switch name {
	case "woocommerce/cartflows_test_button":
		preset = "cartflows"
	case "facebook_leads/via_zapier_flat":
		preset = "generic"
	}
	var config string
	switch {
	case name == "facebook_leads/via_zapier_flat":
		config = "preset: generic\nevent: {kind: form.submitted, id: facebook_lead_id, time: created_time}\nmap: {phone: phone_number, name: full_name}"
	case strings.HasPrefix(m.Scheme, "hmac-sha512/"):
		encoding := strings.Split(m.Scheme, "/")[1]
		config = "verify: {kind: signed, algorithm: hmac-sha512, signature: {header: X-Convoy-Signature, encoding: " + encoding + "}, parts: [body]}"
	case m.Platform == "generic":
		config = "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Hub-Signature-256, encoding: hex, prefix: sha256=}, parts: [body]}\nbody: {content: text}\nevent: {kind: form.submitted}"
	case preset == "hubspot" && strings.HasPrefix(m.Scheme, "sha256/"): // v1 and v2 are asked for by name
		config = "preset: hubspot\nverify: {prefer: [v3, v2, v1]}"
	default:
		config = "preset: " + preset
	}
	c := decodeConfig(t, config)
	c.Secret = secret.New(m.Secret)
	if m.Secret == "" {
		c.Secret = secret.New(ownSecret)
		switch preset {
		case "pipedrive":
			c.Secret = secret.New("user:" + ownSecret)
		case "standardwebhooks", "svix":
			c.Secret = secret.New("whsec_" + base64.StdEncoding.EncodeToString([]byte(ownSecret)))
		case "close":
			c.Secret = secret.New("0123456789abcdef0123456789abcdef0123456789abcdef")
		}
	}
	if preset == "facebook_leads" {
		c.VerifyToken = secret.New("own-verify-token")
	}
	if base, ok := connectors.Preset(preset); ok && m.Secret == "" && (base.Verify.Algorithm == "ed25519" || base.Verify.Algorithm == "rsa-sha256") {
		c.Verify = &connectors.Verify{SignedKeys: connectors.SignedKeys{Key: ownKeyFor(t, base.Verify.Algorithm)}}
	}
	return preset, c
}

// ownKeyFor is a key pair made for the test, as only the sender holds the real private key.
func ownKeyFor(t testing.TB, algorithm string) *connectors.Key {
	t.Helper()
	var public crypto.PublicKey
	var private any
	var err error
	switch algorithm {
	case "ed25519":
		public, private, err = ed25519.GenerateKey(rand.Reader)
	case "rsa-sha256":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ecdsa-p256-sha256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	if signer, ok := private.(crypto.Signer); ok {
		public = signer.Public()
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	secretDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &connectors.Key{
		PublicKeys: []string{base64.StdEncoding.EncodeToString(der)},
		PrivateKey: secret.New(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secretDER}))),
	}
}

func decodeConfig(t testing.TB, text string) connectors.Config {
	t.Helper()
	var c connectors.Config
	if _, problems := yamlpos.Decode("test.yaml", []byte(text), &c); problems.Err() != nil {
		t.Fatal(problems.Err())
	}
	return c
}

func mustCompile(t testing.TB, name string, c connectors.Config, opt connectors.Options) *connectors.Connector {
	t.Helper()
	con, problems := connectors.Compile(name, c, opt)
	if con == nil {
		t.Fatalf("Compile(%s): %v", name, problems)
	}
	return con
}

func publishedRequest(m meta, body []byte) connectors.Request {
	r := connectors.Request{
		Method: m.Method, URL: m.URL, Path: "/hooks/" + m.Platform, Body: body,
		Header: http.Header{}, Now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	}
	if r.URL == "" {
		r.URL = "https://hooks.example.com" + r.Path
	}
	if m.Clock != 0 {
		r.Now = time.Unix(m.Clock, 0)
	}
	for name, value := range m.Headers {
		r.Header.Set(name, value)
	}
	if base, ok := connectors.Preset(m.Platform); ok && m.Clock == 0 && base.Verify.Freshness != nil {
		r.Now = bodyTime(base.Verify.Freshness.Body, body, r.Now)
	}
	return r
}

// bodyTime is the time under a path of a published body, for senders whose body carries the time
// that is checked; other where there is none.
func bodyTime(path string, body []byte, other time.Time) time.Time {
	text := gjson.GetBytes(body, strings.ReplaceAll(path, "[0]", ".0"))
	if at, err := time.Parse(time.RFC3339, strings.TrimSuffix(text.String(), "Z")+"Z"); err == nil {
		return at
	}
	if at, err := time.Parse(time.RFC3339, text.String()); err == nil {
		return at
	}
	switch n := text.Int(); {
	case n > 1e11:
		return time.UnixMilli(n)
	case n > 1e8:
		return time.Unix(n, 0)
	default:
		return other
	}
}

func TestEveryPublishedBodyIsUnderstood(t *testing.T) {
	dir := payloadDir(t)
	for _, name := range publishedNames(t, dir) {
		t.Run(name, func(t *testing.T) {
			m, body := readPublished(t, dir, name)
			preset, c := publishedConfig(t, name, m)
			con := mustCompile(t, preset, c, connectors.Options{})
			r := publishedRequest(m, body)
			if m.Expected == "unsigned" {
				signed, err := con.Sign(r)
				if err != nil {
					t.Fatalf("Sign: %v", err)
				}
				r = signed
			}
			got, err := con.Receive(r)
			rejected := rejectedBy(t, err)
			switch m.Expected {
			case "invalid":
				if rejected == nil || rejected.Stage != connectors.StageVerify {
					t.Fatalf("Receive = %+v, %v; want it rejected by verify", got, err)
				}
				if strings.Contains(strings.ReplaceAll(rejected.Reason, "X-Convoy-Signature", ""), m.Secret) {
					t.Errorf("the reason holds the secret: %s", rejected.Reason)
				}
				return
			case "valid":
				if rejected != nil && rejected.Stage == connectors.StageVerify {
					t.Fatalf("Receive rejected a valid request: %v", err)
				}
			}
			if rejected != nil {
				if m.EventType != "" || m.Phone != "" {
					t.Fatalf("Receive: %v; want an event of type %q", err, m.EventType)
				}
				return
			}
			if m.EventType == "ping" && got.Handshake != "" {
				return
			}
			checkPublished(t, name, m, got)
		})
	}
}

// moved is r with another URL, its parts taken along.
func moved(r connectors.Request, header http.Header, url string) connectors.Request {
	r.Header, r.URL = header, url
	if _, rest, ok := strings.Cut(url, "://"); ok {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			r.Path, r.RawQuery, _ = strings.Cut(rest[i:], "?")
		}
	}
	return r
}

func checkPublished(t *testing.T, name string, m meta, got connectors.Received) {
	t.Helper()
	if n := len(got.Events) + len(got.Skipped); n != m.Count {
		t.Fatalf("%d events and %d skipped, want %d", len(got.Events), len(got.Skipped), m.Count)
	}
	phones, emails, types, ids := map[string]bool{}, map[string]bool{}, map[string]bool{}, []string{}
	for _, e := range got.Events {
		if e.DedupeKey == "" || e.Kind == "" || len(e.Payload) == 0 || e.ReceivedAt.IsZero() {
			t.Errorf("an event lacks what every event has: %+v", e)
		}
		if (e.Contact.Phone == "") != (e.Contact.PhoneProblem != "") {
			t.Errorf("phone %q with the problem %q", e.Contact.Phone, e.Contact.PhoneProblem)
		}
		phones[string(e.Contact.Phone)] = true
		emails[e.Contact.Email] = true
		types[e.Topic] = true
		ids = append(ids, e.DedupeKey)
	}
	if m.Count == 0 {
		return
	}
	if !phones[m.Phone] {
		t.Errorf("phones %v, want %q; problem: %s", phones, m.Phone, got.Events[0].Contact.PhoneProblem)
	}
	if m.EventType != "" && !types[m.EventType] && got.Events[0].Kind != "form.submitted" {
		t.Errorf("types %v, want %q", types, m.EventType)
	}
	if m.Email != "" && !emails[m.Email] && !otherEmail[name] {
		t.Errorf("mails %v, want %q", emails, m.Email)
	}
	if m.EventID != "" && !otherID[name] && !strings.Contains(strings.Join(ids, " "), m.EventID) {
		t.Errorf("keys %v, want %q among them", ids, m.EventID)
	}
}

// rejectedBy is the *Rejected in err; nil when there is none.
func rejectedBy(t testing.TB, err error) *connectors.Rejected {
	t.Helper()
	if err == nil {
		return nil
	}
	rejected, ok := errors.AsType[*connectors.Rejected](err)
	if !ok {
		t.Fatalf("the error %v is no *Rejected", err)
	}
	return rejected
}
