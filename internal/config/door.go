package config

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// pemHint is the hint for a file that holds no certificate.
const pemHint = "name a file with certificates between lines of -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----"

// A tlsDoor is a listener that may speak TLS.
type tlsDoor struct {
	at        string            // of the config: "server", "console"
	tls       *certificates.TLS // nil for one that does not
	publicURL string
}

// tls checks the TLS of a door, reads its files, and gives it with their paths absolute.
func (c *Config) tls(k *checker, d tlsDoor) *certificates.TLS {
	if d.tls == nil {
		return nil
	}
	t := *d.tls // what was written is printed as it was written
	at := d.at + ".tls"
	switch {
	case t.ACME != nil && (t.Cert != "" || t.Key != ""):
		k.bad(at+".acme", "stands beside a certificate of your own", "leave out cert and key, or acme")
	case t.ACME != nil:
		acme := *t.ACME
		t.ACME = &acme
		c.acme(k, d, &acme)
	case t.Cert == "" || t.Key == "":
		k.bad(at, "has no certificate", "write cert: and key:, each with a file, or acme: {domains: [hooks.example.com]}")
	default:
		c.pair(k, d, &t)
	}
	if t.ClientCA != "" {
		c.authorities(k, at+".client_ca", &t.ClientCA)
	}
	if u, err := url.Parse(d.publicURL); err == nil && u.Scheme == "http" && k.written(d.at+".public_url") {
		k.warn("unencrypted", d.at+".public_url", "says http://, and "+at+" has the door speak https", "write https://")
	}
	return &t
}

// pair checks a certificate of one's own.
func (c *Config) pair(k *checker, d tlsDoor, t *certificates.TLS) {
	at := d.at + ".tls.cert"
	t.Cert, t.Key = c.path(t.Cert), c.path(t.Key)
	pair, err := certificates.ReadPair(t.Cert, t.Key)
	if err != nil {
		k.bad(at, err.Error(), "name two files in PEM, cert with the certificate first and then those between it and the authority, key with the private key that belongs to it")
		return
	}
	v := certificates.CertificateOf(pair, t.Cert)
	if words := v.Words(time.Now()); words != "" {
		k.lint("certificate", at, words, "renew it; the daemon reads the files again when they change")
	}
	if host := hostOf(d.publicURL); host != "" && pair.Leaf.VerifyHostname(host) != nil {
		k.lint("certificate", at, "is for "+v.For+", and "+d.at+".public_url is "+d.publicURL, "get one for "+host+", or correct public_url")
	}
	if info, err := os.Stat(t.Key); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		k.lint("certificate-key-open", d.at+".tls.key", "may be read by every user of this machine", "chmod 640 "+t.Key)
	}
}

// domain is a name that a certificate can be issued for.
var domain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])$`)

// acme checks how certificates are got.
func (c *Config) acme(k *checker, d tlsDoor, a *certificates.ACME) {
	at := d.at + ".tls.acme"
	for i, name := range a.Domains {
		if !domain.MatchString(name) {
			k.bad(fmt.Sprintf("%s.domains[%d]", at, i), fmt.Sprintf("%q is no name that a certificate can be issued for", name),
				"write the whole name in small letters, such as hooks.example.com; no *, no port, no address, and letters outside ASCII as xn--")
		}
	}
	if a.Email != "" {
		if m, err := mail.ParseAddress(a.Email); err != nil || m.Address != a.Email {
			k.bad(at+".email", fmt.Sprintf("%q is no mail address", a.Email), "write it like ops@example.com")
		}
	}
	if k.written(at + ".directory") {
		k.url(at+".directory", a.Directory)
	}
	if a.CAFile != "" {
		c.authorities(k, at+".ca_file", &a.CAFile)
	}
	if host := hostOf(d.publicURL); host != "" && len(a.Domains) > 0 {
		for _, name := range a.Domains {
			if name == host {
				return
			}
		}
		k.lint("certificate", at+".domains", "do not name "+host+" of "+d.at+".public_url", "add it, or correct public_url")
	}
}

// hostOf is the host of an address; "" where it is none or not known.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// authorities reads a file of certificates and makes its path absolute; nil where it cannot be read.
func (c *Config) authorities(k *checker, at string, file *string) *x509.CertPool {
	*file = c.path(*file)
	pool, err := certificates.ReadAuthorities(*file)
	if err != nil {
		k.bad(at, err.Error(), pemHint)
		return nil
	}
	return pool
}

// callers reads the authorities of those connectors whose senders show a certificate.
func (c *Config) callers(k *checker) {
	for i := range c.in.Connectors {
		e := &c.in.Connectors[i]
		if e.Value.ClientCA == "" {
			continue
		}
		at := yamlpos.Join("connectors", e.Key) + ".client_ca"
		if c.Server.TLS == nil && !k.topLevelFault() {
			k.bad(at, "needs server.tls: where a proxy speaks https, it alone sees the caller's certificate", "have the proxy ask for the certificate, or set server.tls")
			continue
		}
		file := e.Value.ClientCA
		if pool := c.authorities(k, at, &file); pool != nil {
			if c.Callers == nil {
				c.Callers = map[string]*x509.CertPool{}
			}
			c.Callers[e.Key] = pool
		}
	}
}

// lintListen warns of a door that is open to others and speaks in the clear.
func (c *Config) lintListen(k *checker) {
	host, _, err := net.SplitHostPort(c.Server.Listen)
	if err != nil || c.Server.TLS != nil || len(c.Server.TrustedProxies) > 0 || host == "localhost" {
		return
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() {
		return
	}
	k.lint("unencrypted", "server.listen", c.Server.Listen+" is open to other machines, and webhooks come in the clear: whoever is on the way reads customers' data",
		"set server.tls, or name the proxy that speaks https in server.trusted_proxies, or listen on 127.0.0.1 (docs/door.md)")
}

// path is a path of the config as the daemon opens it.
func (c *Config) path(written string) string {
	if written == "" || filepath.IsAbs(written) {
		return written
	}
	return filepath.Join(c.folder, written)
}
