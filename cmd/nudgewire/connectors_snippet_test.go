package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/connectors"
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
	const hex = "0123456789abcdef0123456789abcdef"
	for _, info := range connectors.Presets() {
		t.Run(info.Name, func(t *testing.T) {
			word := hex
			switch info.Name {
			case "pipedrive":
				word = "user:" + hex
			case "standardwebhooks", "svix":
				word = "whsec_" + base64.StdEncoding.EncodeToString([]byte(hex))
			}
			env := func(name string) (string, bool) {
				if strings.HasSuffix(name, "_PUBLIC_KEY") {
					return base64.StdEncoding.EncodeToString(der), true
				}
				return word, true
			}
			text := "api: {base_url: https://api.example.com/api/v1, key: \"0123456789abcdef\"}\nserver: {public_url: https://hooks.example.com}\n" + info.Snippet()
			cfg, problems := config.Parse("config.yaml", []byte(text), env)
			if problems.Errors() > 0 {
				t.Fatalf("%v\n%s", problems, text)
			}
			r := cfg.Receivers[info.Name]
			if r == nil || len(info.Kinds) == 0 {
				return
			}
			if len(cfg.Triggers.Names()) != 1 {
				t.Fatalf("the snippet has the triggers %v, want one", cfg.Triggers.Names())
			}
			for _, s := range r.Samples()[:1] {
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
				if plan := cfg.Triggers.Match(&got.Events[0], req.Now); len(plan.Wishes) != 1 {
					t.Errorf("%s meets %d triggers, want 1", got.Events[0].Ref(), len(plan.Wishes))
				}
			}
		})
	}
}
