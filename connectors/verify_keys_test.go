package connectors_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// A key is taken however its sender shows it: each kind of verifier with a key, each way to write one.
func TestKeysAreTakenAsSendersShowThem(t *testing.T) {
	const word = "sixteen bytes and some more"
	for encoding, text := range map[string]string{
		"raw": word, "hex": hex.EncodeToString([]byte(word)), "base64": base64.StdEncoding.EncodeToString([]byte(word)),
	} {
		for kind, entry := range map[string]string{
			"signed":            "{kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: hex}, parts: [body], key: " + encoding + "}",
			"jwt":               "{kind: jwt, from: body, key: " + encoding + "}",
			"standard_webhooks": "{kind: standard_webhooks, key: " + encoding + "}",
		} {
			con := connector(t, "verify: "+entry+"\nsecret: "+text)
			signed, err := con.Sign(request(testBody))
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(t, con, signed); got != "" {
				t.Errorf("%s, %s: %s", kind, encoding, got)
			}
			// The bytes are the key, and not their writing.
			other := connector(t, "verify: "+strings.Replace(entry, "key: "+encoding, "key: raw", 1)+"\nsecret: "+word)
			if got := outcome(t, other, signed); got != "" {
				t.Errorf("%s, %s is another key than its bytes: %s", kind, encoding, got)
			}
		}
	}
}

func TestPublicKeysAreTakenAsSendersShowThem(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := point.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		algorithm       string
		public, private any
		bare            []byte
	}{{"ed25519", public, private, public}, {"ecdsa-p256-sha256", &point.PublicKey, point, bare}, {"rsa-sha256", &pair.PublicKey, pair, nil}} {
		der, err := x509.MarshalPKIXPublicKey(one.public)
		if err != nil {
			t.Fatal(err)
		}
		secretDER, err := x509.MarshalPKCS8PrivateKey(one.private)
		if err != nil {
			t.Fatal(err)
		}
		text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		shown := map[string]string{
			"PEM": text, "PEM in one line": strings.ReplaceAll(text, "\n", " "), `PEM with \n`: strings.ReplaceAll(text, "\n", `\n`),
			"DER in base64": base64.StdEncoding.EncodeToString(der), "DER in base64url": base64.RawURLEncoding.EncodeToString(der), "DER in hex": hex.EncodeToString(der),
		}
		if one.bare != nil {
			shown["bare in hex"], shown["bare in capitals"] = hex.EncodeToString(one.bare), strings.ToUpper(hex.EncodeToString(one.bare))
			shown["bare in base64"], shown["bare without padding"] = base64.StdEncoding.EncodeToString(one.bare), base64.RawStdEncoding.EncodeToString(one.bare)
			shown["whpk_"] = "whpk_" + base64.StdEncoding.EncodeToString(one.bare)
		}
		for how, text := range shown {
			for _, entry := range []string{
				"{kind: jwt, from: body, algorithm: " + one.algorithm + "}",
				"{kind: signed, algorithm: " + one.algorithm + ", signature: {header: X-Mark, encoding: base64}, parts: [body]}",
			} {
				c := decodeConfig(t, "verify: "+entry)
				c.Verify.Key = &connectors.Key{PublicKeys: []string{text}, PrivateKey: secret.New(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secretDER})))}
				con := mustCompile(t, "x", c, connectors.Options{})
				signed, err := con.Sign(request(testBody))
				if err != nil {
					t.Fatal(err)
				}
				if got := outcome(t, con, signed); got != "" {
					t.Errorf("%s, %s: %s", one.algorithm, how, got)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"§":                      "is neither PEM, nor base64, nor hexadecimal",
		"00ff":                   "is not a public key",
		strings.Repeat("00", 32): "is an Ed25519 key that fits any signature",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----": "is not a public key",
	} {
		c := decodeConfig(t, "verify: {kind: signed, algorithm: ed25519, signature: {header: X-Mark, encoding: base64}, parts: [body]}")
		c.Verify.Key = &connectors.Key{PublicKeys: []string{text}}
		if _, found := connectors.Compile("x", c, connectors.Options{}); len(found) == 0 || found[0].Msg != want {
			t.Errorf("%s: %v", text, found)
		}
	}
}
