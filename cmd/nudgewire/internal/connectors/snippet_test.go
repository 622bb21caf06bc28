package connectors

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What "connectors show" tells a newcomer to paste must be a config that runs, and a sample
// of that connector must meet the trigger in it.
func TestEveryPresetsSnippetIsAGoodConfig(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&pair.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const hex = "0123456789abcdef0123456789abcdef"
	for _, info := range connectors.Presets() {
		t.Run(info.Name, func(t *testing.T) {
			word := hex
			preset, _ := connectors.Preset(info.Name)
			switch {
			case preset.Verify.Kind == "basic":
				word = "user:" + hex
			case info.Name == "standardwebhooks", info.Name == "svix":
				word = "whsec_" + base64.StdEncoding.EncodeToString([]byte(hex))
			}
			env := func(name string) (string, bool) {
				if strings.HasSuffix(name, "_TOKEN") && slices.ContainsFunc(preset.Enrich, func(r connectors.EnrichRule) bool { return r.Auth != nil && r.Auth.UserHeader != "" }) {
					return "ada@example.com:" + hex, true // its user is named beside it
				}
				if strings.HasSuffix(name, "_PUBLIC_KEY") && preset.Verify.Algorithm == "ed25519" {
					return base64.StdEncoding.EncodeToString(ed), true
				}
				if strings.HasSuffix(name, "_PUBLIC_KEY") {
					return base64.StdEncoding.EncodeToString(der), true
				}
				return word, true
			}
			text := "api: {base_url: https://api.example.com/api/v1, key: \"${API_KEY}\"}\nserver: {public_url: https://hooks.example.com}\ndefaults: {country: GB}\n" + info.Snippet()
			cfg, problems := config.Parse("config.yaml", []byte(text), env)
			for _, p := range problems {
				if !knownWarning(p.Msg) && (info.Starter() != "" || p.Path != "triggers") {
					t.Errorf("check says %s: %s\n%s", p.Path, p.Msg, text)
				}
			}
			r := cfg.Receivers[info.Name]
			if info.Starter() == "" { // it reports nothing that somebody may be written to about
				if r == nil || slices.ContainsFunc(info.Kinds, func(kind string) bool {
					return strings.HasSuffix(kind, ".created") || strings.HasSuffix(kind, ".updated")
				}) {
					t.Errorf("no trigger to start from:\n%s", text)
				}
				return
			}
			if r == nil || cfg.Triggers == nil || len(cfg.Triggers.Names()) != 1 {
				t.Fatalf("the snippet has no connector with one trigger:\n%s", text)
			}
			met := 0
			for _, s := range r.Samples() {
				req := connectors.Request{Method: s.Method, Path: "/hooks/" + r.Name(), URL: "https://hooks.example.com/hooks/" + r.Name(), Header: map[string][]string{}, Body: s.Body, Now: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
				for name, value := range s.Header {
					req.Header[name] = []string{value}
				}
				if err := sign(&req, r); err != nil {
					t.Logf("only its sender can sign: %v", err)
					return
				}
				got, err := r.Receive(req)
				if err != nil {
					t.Fatal(err)
				}
				plan := cfg.Triggers.Match(&got.Events[0], req.Now)
				for _, w := range plan.Proposals {
					met++
					switch {
					case w.Decision.Outcome == messaging.Planned:
						t.Errorf("%s: what was pasted sends", got.Events[0].Ref())
					case w.Decision.Outcome == messaging.Shadowed && w.Message.DueAt.Sub(req.Now) < 5*time.Minute:
						t.Errorf("%s: it is due %s after the event", got.Events[0].Ref(), w.Message.DueAt.Sub(req.Now))
					case w.Decision.Outcome == messaging.Shadowed && w.Correlation.Key == "" && w.Cooldown.Mode != messaging.CooldownFor:
						t.Errorf("%s: a second event sends a second message", got.Events[0].Ref())
					}
				}
			}
			if met == 0 {
				t.Errorf("no sample of it meets its trigger:\n%s", text)
			}
		})
	}
}

// knownWarning reports whether a warning is about the sender, and so no fault of the snippet: a
// preset whose only verifier is weak says so to everybody.
func knownWarning(msg string) bool {
	return strings.HasPrefix(msg, "first_item covers only the first item") || strings.HasPrefix(msg, "covers eventCreated and eventId of the body alone")
}

// Whoever thinks about a system looks at it before there is a config, also where each account has a key of its own.
func TestEveryPresetCanBeTriedWithoutAConfig(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		r, ours, err := testable(&config.Config{}, name)
		if err != nil || !ours {
			t.Errorf("%s: %v", name, err)
			continue
		}
		req := ownRequest("{}")
		req.Path, req.URL = "/hooks/"+name, "https://hooks.example.com/hooks/"+name
		s := r.SamplesAt(req.Now, 7)[0]
		req.Method, req.Body, req.Header = s.Method, s.Body, map[string][]string{}
		for header, value := range s.Header {
			req.Header.Set(header, value)
		}
		_ = sign(&req, r) // what cannot be signed is looked at all the same
		if got, err := r.Receive(req); err != nil || len(got.Events) == 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
