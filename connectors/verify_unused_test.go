package connectors_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

// allKeys are the keys in YAML of a struct, those of its inline parts among them.
func allKeys(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if option == "inline" {
			out = append(out, allKeys(field.Type)...)
		} else if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Each key of verify under each kind: it is looked at, or it is an error that names it. The kinds that look at a key stand at
// the beginning of its words in docs/config.md.
func TestAKeyThatAVerifierDoesNotLookAtIsAnError(t *testing.T) {
	keys := map[string]struct{ value, kinds string }{
		"algorithm": {"hmac-sha256", "signed jwt"}, "signature": {"{header: X-S, encoding: hex}", "signed"}, "parts": {"[body]", "signed"},
		"timestamp": {"{tolerance: 5m}", "signed standard_webhooks"}, "freshness": {"{header: X-At}", "signed"}, "id": {"X-Id", "signed"},
		"key": {"raw", "signed standard_webhooks jwt"}, "url": {"{decode: hubspot}", "signed"}, "body_required": {"false", "signed standard_webhooks"},
		"headers": {"svix", "standard_webhooks"}, "from": {"header", "token jwt"}, "field": {"X-Token", "token jwt"}, "prefix": {"v1=", "token jwt"},
		"user": {"u", "basic"}, "password": {"p", "basic"}, "claims": {"{aud: a}", "jwt"}, "body_hash": {"h", "jwt"},
		"any_of": {"[{kind: none}]", "any_of"}, "prefer": {"[a]", "any_of"}, "all_of": {"[{kind: none}]", "all_of"}, "when": {"{header: {X-A: b}}", "member"},
		"secret": {testSecret, "signed standard_webhooks token basic jwt any_of all_of"}, "secrets": {"[" + testSecret + "]", "signed standard_webhooks token basic jwt any_of all_of"},
		"allow_ips": {"[192.0.2.0/24]", "outer"}, "mode": {"monitor", "outer"},
	}
	for _, kind := range []string{"signed", "standard_webhooks", "token", "basic", "jwt", "none", "any_of", "all_of"} {
		for _, key := range allKeys(reflect.TypeFor[connectors.Verify]()) {
			if key == "kind" || key == "name" {
				continue
			}
			one, known := keys[key]
			if !known {
				t.Fatalf("say here which kinds look at verify.%s", key)
			}
			for place, path := range map[string]string{"outer": "verify.", "member": "verify.any_of[0]."} {
				written := fmt.Sprintf("verify: {kind: %s, %s: %s}", kind, key, one.value)
				if place == "member" {
					if slices.Contains([]string{"none", "any_of", "all_of"}, kind) {
						continue // no member is of these kinds, which is an error of its own
					}
					written = fmt.Sprintf("verify: {any_of: [{kind: %s, %s: %s}]}", kind, key, one.value)
				}
				used := strings.Fields(one.kinds)
				looked := slices.Contains(used, kind) || slices.Contains(used, place)
				want := path + key + ": is not looked at: this verifier is of the kind " + kind
				if found := strings.Contains(problemsOf(t, "x", written), want); found == looked {
					t.Errorf("%s: an error says that %s is not looked at: %v", written, key, found)
				}
			}
		}
	}
	for written, want := range map[string]string{
		"verify: {kind: token, from: bearer, field: X-Token, secret: " + testSecret + "}":                                                              "verify.field: is not looked at here",
		"verify: {kind: token, from: query, field: token, prefix: v1, secret: " + testSecret + "}":                                                     "verify.prefix: is not looked at here",
		"verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-S, encoding: hex}, parts: [body], id: X-Id, secret: " + testSecret + "}": "verify.id: is not looked at here",
		"verify: {kind: jwt, field: X-Token, secret: " + testSecret + "}":                                                                              "verify.field: is not looked at here",
		"verify: {kind: jwt, from: bearer, field: X-Token, secret: " + testSecret + "}":                                                                "verify.field: is not looked at here",
		"verify: {kind: jwt, from: query, field: token, prefix: v1, secret: " + testSecret + "}":                                                       "verify.prefix: is not looked at here",
		"verify: {kind: jwt, from: body, body_hash: h, secret: " + testSecret + "}":                                                                    "verify.body_hash: is not looked at here",
		"verify: {kind: jwt, from: path, secret: " + testSecret + "}":                                                                                  "verify.from: is no place of a JWT",
		"verify: {kind: jwt, from: header, secret: " + testSecret + "}":                                                                                "verify.field: is missing: which header holds the JWT?",
		"verify: {kind: jwt, from: query, secret: " + testSecret + "}":                                                                                 "verify.field: is missing: which URL parameter holds the JWT?",
		"verify: {kind: jwt, from: body, field: 'header:X', secret: " + testSecret + "}":                                                               "verify.field: is no plain path into the body",
		"verify: {kind: none}\nsecret: " + testSecret:                                                                                                  "secret: is not looked at: verify.kind is none",
	} {
		if got := problemsOf(t, "x", written); !strings.Contains(got, want) {
			t.Errorf("%s: %s", written, got)
		}
	}
}
