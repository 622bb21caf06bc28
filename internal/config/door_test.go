package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pairIn writes a certificate for hooks.example.com and its key into folder.
func pairIn(t *testing.T, folder, name string, until time.Time, also ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: append([]string{"hooks.example.com"}, also...), NotBefore: until.AddDate(0, 0, -90), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFaultsOfTheDoorHaveTheirWords(t *testing.T) {
	folder := t.TempDir()
	pairIn(t, folder, "good", time.Now().AddDate(0, 0, 80))
	pairIn(t, folder, "other", time.Now().AddDate(0, 0, 80))
	pairIn(t, folder, "soon", time.Now().AddDate(0, 0, 3))
	pairIn(t, folder, "expired", time.Now().AddDate(0, 0, -1))
	pairIn(t, folder, "open", time.Now().AddDate(0, 0, 80))
	pairIn(t, folder, "local", time.Now().AddDate(0, 0, 80), "localhost")
	if err := os.Chmod(filepath.Join(folder, "open.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "empty"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := `listen: ":443", tls: {cert: good.crt, key: good.key}`
	for name, tt := range map[string]struct {
		server    string
		connector string // more of it
		want      string // a part of the one problem; "" for none
		warning   bool
	}{
		"files":                              {server: good},
		"names for an authority":             {server: `listen: ":443", tls: {acme: {domains: [hooks.example.com], email: ops@example.com}}`},
		"neither":                            {server: `tls: {}`, want: "server.tls: has no certificate; write cert: and key:"},
		"a certificate without its key":      {server: `tls: {cert: good.crt}`, want: "server.tls: has no certificate"},
		"both":                               {server: `tls: {cert: good.crt, key: good.key, acme: {domains: [hooks.example.com]}}`, want: "server.tls.acme: stands beside a certificate of your own; leave out cert and key, or acme"},
		"a file that is not there":           {server: `tls: {cert: none.crt, key: good.key}`, want: "none.crt: no such file"},
		"the key of another":                 {server: `tls: {cert: good.crt, key: other.key}`, want: "private key does not match public key; name two files in PEM"},
		"an expired one":                     {server: `tls: {cert: expired.crt, key: expired.key}`, want: "expired at ", warning: true},
		"one that soon expires":              {server: `tls: {cert: soon.crt, key: soon.key}`, want: "expires at ", warning: true},
		"a key that all may read":            {server: `tls: {cert: open.crt, key: open.key}`, want: "server.tls.key: may be read by every user of this machine; chmod 640", warning: true},
		"one for another name":               {server: `public_url: https://in.example.com, tls: {cert: good.crt, key: good.key}`, want: "server.tls.cert: is for hooks.example.com, and server.public_url is https://in.example.com", warning: true},
		"an address in the clear":            {server: `public_url: "http://localhost", tls: {cert: local.crt, key: local.key}`, want: "server.public_url: says http://", warning: true},
		"callers' authorities that are none": {server: `tls: {cert: good.crt, key: good.key, client_ca: empty}`, want: "empty holds no certificate; name a file with certificates between lines"},
		"a star":                             {server: `tls: {acme: {domains: ["*.example.com"]}}`, want: `server.tls.acme.domains[0]: "*.example.com" is no name that a certificate can be issued for`},
		"an address for a name":              {server: `tls: {acme: {domains: [192.0.2.7]}}`, want: "is no name that a certificate can be issued for"},
		"no names":                           {server: `tls: {acme: {email: ops@example.com}}`, want: "server.tls.acme.domains: is missing"},
		"mail to nobody":                     {server: `tls: {acme: {domains: [hooks.example.com], email: ops}}`, want: `server.tls.acme.email: "ops" is no mail address; write it like ops@example.com`},
		"an authority without its voucher":   {server: `tls: {acme: {domains: [hooks.example.com], ca_file: none.pem}}`, want: "server.tls.acme.ca_file: "},
		"other names than senders know":      {server: `public_url: https://in.example.com, tls: {acme: {domains: [hooks.example.com]}}`, want: "server.tls.acme.domains: do not name in.example.com of server.public_url", warning: true},
		"a connector that asks":              {server: good, connector: ", client_ca: good.crt"},
		"a connector that asks nobody":       {server: good, connector: ", client_ca: empty", want: "connectors.shopify.client_ca: "},
		"a connector that asks in the clear": {server: `listen: "127.0.0.1:8080"`, connector: ", client_ca: good.crt", want: "connectors.shopify.client_ca: needs server.tls: where a proxy speaks https"},
		"a public address in the clear":      {server: `listen: ":8080"`, want: "server.listen: :8080 is open to other machines, and webhooks come in the clear", warning: true},
		"all addresses in the clear":         {server: `listen: "0.0.0.0:8080"`, want: "server.listen: 0.0.0.0:8080 is open to other machines", warning: true},
		"this machine alone":                 {server: `listen: "[::1]:8080"`},
		"this machine by name":               {server: `listen: "localhost:8080"`},
		"a proxy on another machine":         {server: `listen: ":8080", trusted_proxies: 10.0.0.0/8, public_url: "https://hooks.example.com"`},
		"a proxy that nobody knows":          {server: `trusted_proxies: 10.0.0.0/8`, want: "server.trusted_proxies: needs server.public_url"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(base, `{secret: "${SHOP_SECRET}"}`, `{secret: "${SHOP_SECRET}"`+tt.connector+`}`, 1) + "server: {" + tt.server + "}\n"
			cfg, problems := Parse(filepath.Join(folder, "config.yaml"), []byte(text), environ)
			got := said(problems)
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("says %q", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want) || problems[0].Warning != tt.warning):
				t.Errorf("says %q, want %q", got, tt.want)
			case tt.want == "" && tt.connector != "" && cfg.Callers["shopify"] == nil:
				t.Error("who vouches for callers was not read")
			}
		})
	}
}
