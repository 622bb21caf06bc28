package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/server"
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
	Phone     string            `json:"phone_expected"`
	Count     int               `json:"batch_count"`
}

func allPublished(t *testing.T) []published {
	t.Helper()
	dir := os.Getenv("NUDGEWIRE_PAYLOADS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "payloads")
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

// TestEveryPublishedVerdictIsReachedByTheDaemon posts every published body that has a verdict or a
// phone to a running daemon, each to a connector of its own, at the time its meta names.
func TestEveryPublishedVerdictIsReachedByTheDaemon(t *testing.T) {
	var clock atomic.Int64
	var posts []published
	config := "defaults: {country: US, language: en}\nconnectors:\n"
	for _, p := range allPublished(t) {
		if p.Expected != "unsigned" || p.Phone != "" {
			config += fmt.Sprintf("  p%d: %s\n", len(posts), p.connector())
			posts = append(posts, p)
		}
	}
	if len(posts) < 34 {
		t.Fatalf("only %d published bodies have a verdict or a phone", len(posts))
	}
	h := open(t, options{config: config, now: func() time.Time {
		if at := clock.Load(); at != 0 {
			return time.Unix(at, 0)
		}
		return time.Now()
	}})
	for i, p := range posts {
		t.Run(p.name, func(t *testing.T) {
			clock.Store(p.Clock)
			connector := fmt.Sprint("p", i)
			status, answer := h.do(p.request(t, h.url+"/hooks/"+connector))
			refused, err := h.ask.Refusals(t.Context(), server.ListQuery{Connector: connector})
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
			if p.Phone == "" {
				return
			}
			events, err := h.ask.Events(t.Context(), server.ListQuery{Connector: connector})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, e := range events {
				found = found || string(e.Phone) == p.Phone
			}
			if !found || len(events) != p.Count {
				t.Errorf("%d events, want %d with phone %s: %+v", len(events), p.Count, p.Phone, events)
			}
		})
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
