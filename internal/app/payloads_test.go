package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/server"
)

// A published is one webhook body that its sender, or a project about it, has published.
type published struct {
	name      string
	body      []byte
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
	Count     int               `json:"batch_count"`
}

func allPublished(t *testing.T) []published {
	t.Helper()
	dir := os.Getenv("NUDGEWIRE_PAYLOADS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "payloads")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there is no folder of published payloads; NUDGEWIRE_PAYLOADS names one")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.meta.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads in %s: %v", dir, err)
	}
	var all []published
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p := published{name: strings.TrimSuffix(filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f), ".meta.json")}
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if p.body, err = os.ReadFile(filepath.Join(filepath.Dir(f), p.BodyFile)); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// connector is the entry under connectors: that takes p, in YAML.
func (p *published) connector() string {
	entry := "preset: " + p.Platform
	switch {
	case p.name == "woocommerce/cartflows_test_button":
		entry = "preset: cartflows"
	case p.name == "facebook_leads/via_zapier_flat":
		entry = "preset: generic, event: {kind: form.submitted, id: facebook_lead_id}, map: {phone: phone_number}"
	case strings.HasPrefix(p.Scheme, "hmac-sha512/"):
		encoding := strings.Split(p.Scheme, "/")[1]
		entry = "verify: {kind: signed, algorithm: hmac-sha512, signature: {header: X-Convoy-Signature, encoding: " + encoding + "}, parts: [body]}, event: {kind: form.submitted}"
	case p.Platform == "generic":
		entry = "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Hub-Signature-256, encoding: hex, prefix: sha256=}, parts: [body]}, body: {content: text}, event: {kind: form.submitted}"
	}
	switch {
	case p.Platform == "hubspot" && strings.HasPrefix(p.Scheme, "sha256/"): // v1 and v2 are asked for by name
		entry += ", verify: {prefer: [v3, v2, v1]}"
	case p.Expected == "valid" && p.Clock == 0 && (p.Platform == "razorpay" || p.Platform == "square"): // the body's own time is years ago
		entry += ", verify: {freshness: {tolerance: 36500d}}"
	}
	if entry == "preset: facebook_leads" {
		entry += ", verify_token: a-word-of-the-tests"
	}
	if p.URL != "" {
		entry += ", address: " + p.URL
	}
	if p.Expected == "unsigned" {
		// A published body without a published secret: what matters is what is read of it.
		return "{" + entry + ", verify: {kind: none}}"
	}
	return "{" + entry + ", secret: " + quoted(p.Secret) + "}"
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// What a published body's facts say about something other than our mapping.
var (
	// The id that is published is a part of what distinguishes events, or is no event's: HubSpot
	// does not promise eventId to be unique, and Mailchimp's is the subscriber's.
	otherID = map[string]bool{"hubspot/vector_v1_valid": true, "mailchimp/subscribe": true}
	// The relay names no type; the connector of the test does.
	otherType = map[string]bool{"facebook_leads/via_zapier_flat": true}
	// One change of the batch has no value: it is skipped, and the others are events.
	skipped = map[string]int{"facebook_leads/leadgen_multi_entry": 1}
	// Answered before it is proven, and leads to nothing.
	handshakes = map[string]bool{"woocommerce/ping": true}
)

// TestEveryPublishedBodyThroughTheDaemon posts every published body to a running daemon, each to a
// connector of its own at the time its meta names, and holds verdict, kind, dedupe key, number
// of events and phone against the meta.
func TestEveryPublishedBodyThroughTheDaemon(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	posts := allPublished(t)
	config := "defaults: {country: US, language: en}\nconnectors:\n"
	for i := range posts {
		config += fmt.Sprintf("  p%d: %s\n", i, posts[i].connector())
	}
	if len(posts) < 81 {
		t.Fatalf("only %d published bodies", len(posts))
	}
	h := open(t, options{config: config, now: func() time.Time {
		if at := clock.Load(); at != 0 {
			return time.Unix(at, 0)
		}
		return time.Now()
	}})
	for i := range posts {
		p := &posts[i]
		t.Run(p.name, func(t *testing.T) {
			clock.Store(p.Clock)
			connector := fmt.Sprint("p", i)
			status, answer := h.do(p.request(t, h.url+"/hooks/"+connector))
			q := server.ListQuery{Connector: connector, Limit: 100}
			refused, err := server.ListRejectedRequests.Call(t.Context(), h.ask, q)
			if err != nil {
				t.Fatal(err)
			}
			atProof := len(refused) > 0 && refused[0].Stage == "verify"
			if p.Expected == "invalid" {
				if status != http.StatusUnauthorized || !atProof {
					t.Errorf("answered %d %s, want 401", status, answer)
				}
				return
			}
			if status == http.StatusUnauthorized || atProof {
				t.Fatalf("answered %d, but it is %s: %+v", status, p.Expected, refused)
			}
			events, err := server.ListEvents.Call(t.Context(), h.ask, q)
			if err != nil {
				t.Fatal(err)
			}
			taken := len(refused) > 0 && refused[0].Status == http.StatusOK
			if taken && len(events) > 0 {
				t.Errorf("%d events of what is told to bring none: %+v", len(events), refused)
			}
			if len(refused) > 0 && !taken || handshakes[p.name] {
				// Proven, but no event: a vector whose body is not what its sender ever sends.
				if len(events) != 0 || p.Phone != "" || (p.EventType != "" && !handshakes[p.name]) {
					t.Errorf("%d events, want type %q and phone %q: %+v", len(events), p.EventType, p.Phone, refused)
				}
				return
			}
			p.hold(t, events)
		})
	}
}

// hold compares the events that came of a body with its meta.
func (p *published) hold(t *testing.T, events []server.EventView) {
	t.Helper()
	if want := p.Count - skipped[p.name]; len(events) != want {
		t.Fatalf("%d events, want %d", len(events), want)
	}
	if p.Count == 0 {
		return
	}
	var types, ids, phones []string
	for _, e := range events {
		types, ids, phones = append(types, e.Topic), append(ids, e.DedupeKey), append(phones, string(e.Phone))
	}
	if p.EventType != "" && !otherType[p.name] && !slices.Contains(types, p.EventType) {
		t.Errorf("types %q, want %q", types, p.EventType)
	}
	if p.EventID != "" && !otherID[p.name] && !strings.Contains(strings.Join(ids, " "), p.EventID) {
		t.Errorf("dedupe keys %q, want %q among them", ids, p.EventID)
	}
	if !slices.Contains(phones, p.Phone) {
		t.Errorf("phones %q, want %q", phones, p.Phone)
	}
}

func (p *published) request(t *testing.T, to string) *http.Request {
	t.Helper()
	if u, err := url.Parse(p.URL); err == nil && u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	req, err := http.NewRequestWithContext(t.Context(), p.Method, to, bytes.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range p.Headers {
		if !strings.EqualFold(name, "Content-Length") && !strings.EqualFold(name, "Host") && !strings.EqualFold(name, "Connection") && !strings.EqualFold(name, "Accept-Encoding") {
			req.Header.Set(name, value)
		}
	}
	return req
}
