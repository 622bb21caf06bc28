package config_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/config"
)

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func noVariable(string) (string, bool) { return "", false }

// What is kept of a config tells no secret, and is the config again once its secrets are back, byte for byte.
func TestFilesAreKeptWithoutSecretsAndComeBack(t *testing.T) {
	t.Parallel()
	const main = "\ufeff# the shop; once: secret: literal-old-secret\r\napi: {base_url: https://api.example.com, key: \"literal-key-é\"}\r\n" +
		"defaults: {country: GB, language: en}\n\rconnectors:\n  shop: {preset: shopify, secret: literal-shop-secret-1234567890} # end\n" +
		"alerts:\n  - {when: all, webhook: \"https://hooks.example/x?token=literal-token\"}\n" +
		"triggers:\n  cart: {on: shop.cart.updated, send: {template: t, header: {image: \"https://img.example/a.png?v={{ cart.id }}\"}}}\ninclude: [\"more/*.yaml\"]"
	const more = "connectors:\n  second:\n    preset: shopify\n    secret: |-\n      literal-second-secret-1234567890\n"
	folder := t.TempDir()
	for name, text := range map[string]string{"config.yaml": main, "more/a.yaml": more, "more/b.yaml": "# nothing yet\n"} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "config.yaml")
	cfg, _ := config.Load(path, noVariable)
	files := cfg.Files(shortHash)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		if strings.Contains(f.Text, "literal") {
			t.Errorf("%s tells a secret:\n%s", f.Name, f.Text)
		}
		if f.Name == "config.yaml" && !strings.Contains(f.Text, "a.png?v={{ cart.id }}") {
			t.Errorf("an address for customers is no secret:\n%s", f.Text)
		}
	}
	if !slices.Equal(names, []string{"config.yaml", "more/a.yaml", "more/b.yaml"}) {
		t.Fatalf("files %q", names)
	}
	whole, missing := config.WithSecrets(files, cfg.Secrets(shortHash))
	if len(missing) > 0 || whole[0].Text != main || whole[1].Text != more {
		t.Errorf("missing %v, it is\n%q\nand\n%q", missing, whole[0].Text, whole[1].Text)
	}
	again, _ := config.ParseFiles(path, whole, noVariable)
	if again.Version != cfg.Version {
		t.Errorf("version %s, and was %s", again.Version, cfg.Version)
	}
	known := cfg.Secrets(shortHash)
	delete(known, "<secret-"+shortHash("literal-shop-secret-1234567890")+">")
	if _, missing := config.WithSecrets(files, known); len(missing) != 1 || !strings.HasPrefix(missing[0].String(), "config.yaml:5: shop: {preset: shopify, secret: <secret-") {
		t.Errorf("missing %v", missing)
	}
	unnamed := func(string) string { return "" }
	if _, missing := config.WithSecrets(cfg.Files(unnamed), cfg.Secrets(unnamed)); len(missing) != 6 {
		t.Errorf("without a key for hashes, missing %v", missing)
	}
	if shown, problems := config.ParseFilesWithoutSecrets(path, files, noVariable); problems.Errors() > 0 || shown.Receivers["second"] == nil {
		t.Errorf("without secrets: %v", problems)
	}
	if _, problems := config.ParseFiles(path, files, noVariable); problems.Errors() != 4 || !strings.Contains(problems.Faults()[0].Error(), "in place of a secret") {
		t.Errorf("with marks for secrets: %v", problems)
	}
}
