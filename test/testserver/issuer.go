package testserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Issuer is an authority of the tests.
type Issuer struct {
	t    testing.TB
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	a := &Issuer{t: t}
	a.key = newKey(t)
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.Cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Issue writes NAME.crt and NAME.key into folder.
func (a *Issuer) Issue(folder, name string, serial int64, usage x509.ExtKeyUsage, from, to time.Time) (cert, key string) {
	a.t.Helper()
	private := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"hooks.example.com"}, NotBefore: from, NotAfter: to,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, a.Cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(folder, name+".crt"), filepath.Join(folder, name+".key")
	a.write(cert, "CERTIFICATE", der)
	a.write(key, "PRIVATE KEY", pkcs8)
	return cert, key
}

func (a *Issuer) write(file, what string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: what, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// File holds the authority's own certificate.
func (a *Issuer) File(folder string) string {
	path := filepath.Join(folder, "ca.pem")
	a.write(path, "CERTIFICATE", a.Cert.Raw)
	return path
}
