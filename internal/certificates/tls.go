package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/regular"
)

// TLS is how the door speaks https. Its certificate comes from two files or from an authority by ACME.
type TLS struct {
	Cert     string `yaml:"cert" example:"/etc/nudgewire/tls.crt" doc:"File (PEM) with the door's certificate and, after it, those between it and the authority. It is read again when it changes and at each reload."`
	Key      string `yaml:"key" example:"/etc/nudgewire/tls.key" doc:"File (PEM) with the private key of the certificate."`
	ClientCA string `yaml:"client_ca" example:"/etc/nudgewire/callers.pem" doc:"File (PEM) with certificates of authorities: whoever connects must show a certificate that one of them signed, at /healthz, too. connectors.<name>.client_ca asks for one connector only."`
	ACME     *ACME  `yaml:"acme" doc:"Have an authority such as Let's Encrypt issue and renew the certificate, in place of cert and key."`
}

// ACME is how a certificate is got from an authority, by its challenge tls-alpn-01: it calls the
// door itself on port 443, so no other port has to be open.
type ACME struct {
	Domains   []string `yaml:"domains" validate:"required" example:"[hooks.example.com]" doc:"Names that the certificates are for. Each must lead to this door on port 443."`
	Email     string   `yaml:"email" example:"ops@example.com" doc:"Whom the authority may write to."`
	Directory string   `yaml:"directory" validate:"http_url" default:"https://acme-v02.api.letsencrypt.org/directory" doc:"The authority's address. To set acme is to accept its terms."`
	CAFile    string   `yaml:"ca_file" example:"/etc/ssl/company-ca.pem" doc:"Certificates (PEM) that vouch for the authority's own address, for one inside a company. Unless set: those that this machine trusts."`
}

// Source says where the certificates come from, in the words of a reload. Only a new process can change it.
func (t *TLS) Source() string {
	switch {
	case t == nil:
		return "off"
	case t.ACME != nil:
		return "on, by ACME for " + strings.Join(t.ACME.Domains, ", ") + " from " + t.ACME.Directory
	default:
		return "on, by files"
	}
}

// ReadPair reads a certificate and its key. Errors say which file is wrong and how.
func ReadPair(cert, key string) (*tls.Certificate, error) {
	certText, err := regular.ReadSmall(cert)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	keyText, err := regular.ReadSmall(key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil, fmt.Errorf("certificate %s and key %s: %s", cert, key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil // with its Leaf, by the documentation of X509KeyPair
}

// ReadAuthorities reads certificates that may vouch for others.
func ReadAuthorities(file string) (*x509.CertPool, error) {
	text, err := regular.ReadSmall(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}

// soonAtMost and soonShare say when a certificate is about to expire: within two weeks, but of one that is short-lived only in
// the last fifth of its time. What renews by itself has done so long before.
const (
	soonAtMost = 14 * 24 * time.Hour
	soonShare  = 5
)

// A CertificateView is one certificate of the door.
type CertificateView struct {
	For       string    `json:"for" kind:"ours"`     // its names, or a name that there is no certificate for
	NotBefore time.Time `json:"not_before,omitzero"` // both zero where there is none
	NotAfter  time.Time `json:"not_after,omitzero"`
	From      string    `json:"from" kind:"ours"`            // a file, or the authority's address
	ByACME    bool      `json:"acme,omitempty"`              // an authority issues it
	Error     string    `json:"error,omitempty" kind:"text"` // why there is no newer one
	ErrorAt   time.Time `json:"error_since,omitzero"`        // since when
}

// CertificateOf shows a certificate.
func CertificateOf(c *tls.Certificate, from string) CertificateView {
	v := CertificateView{For: strings.Join(c.Leaf.DNSNames, ", "), NotBefore: c.Leaf.NotBefore.UTC(), NotAfter: c.Leaf.NotAfter.UTC(), From: from}
	if v.For == "" {
		names := slices.Clone(c.Leaf.IPAddresses)
		v.For = strings.Trim(fmt.Sprint(names), "[]")
	}
	return v
}

// Valid says why senders would not take it; nil when they would.
func (v *CertificateView) Valid(now time.Time) error {
	switch {
	case v.NotAfter.IsZero():
		return errors.New("there is no certificate for " + v.For + ": senders cannot connect")
	case !now.Before(v.NotAfter):
		return errors.New("the certificate for " + v.For + " expired at " + moment(v.NotAfter) + ": senders refuse it")
	case now.Before(v.NotBefore):
		return errors.New("the certificate for " + v.For + " is not valid before " + moment(v.NotBefore) + ": senders refuse it")
	default:
		return nil
	}
}

// Soon reports whether it expires soon.
func (v *CertificateView) Soon(now time.Time) bool {
	return v.NotAfter.Sub(now) < min(soonAtMost, v.NotAfter.Sub(v.NotBefore)/soonShare)
}

// Words say what is wrong with it, "" for nothing.
func (v *CertificateView) Words(now time.Time) (words string) {
	if err := v.Valid(now); err != nil {
		words = err.Error()
	} else if v.Soon(now) {
		words = "the certificate for " + v.For + " expires at " + moment(v.NotAfter)
	} else if v.Error != "" {
		words = "the certificate for " + v.For + " holds until " + moment(v.NotAfter) + ", and no newer one can be taken up"
	}
	if words != "" && v.Error != "" {
		words += " (" + v.Error + ")"
	}
	return words
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// NeedsCertificate is what a caller is told who showed none that is good.
const NeedsCertificate = "a client certificate is asked for here"

// VerifyClient checks the certificate that a caller showed.
func VerifyClient(state *tls.ConnectionState, by *x509.CertPool, now time.Time) error {
	switch {
	case state == nil:
		return errors.New("the request did not come by TLS, so it shows no certificate")
	case len(state.PeerCertificates) == 0:
		return errors.New("the caller showed no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: by, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return fmt.Errorf("the caller's certificate is not good: %w", err)
	}
	return nil
}
