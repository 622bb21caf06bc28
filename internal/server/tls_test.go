package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// An issuer is an authority of the tests.
type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	a := &issuer{t: t}
	a.key = newKey(t)
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue writes NAME.crt and NAME.key into folder.
func (a *issuer) issue(folder, name string, serial int64, usage x509.ExtKeyUsage, from, to time.Time) (cert, key string) {
	a.t.Helper()
	private := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"hooks.example.com"}, NotBefore: from, NotAfter: to,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, a.cert, private.Public(), a.key)
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

func (a *issuer) write(file, what string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: what, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// file holds the authority's own certificate.
func (a *issuer) file(folder string) string {
	path := filepath.Join(folder, "ca.pem")
	a.write(path, "CERTIFICATE", a.cert.Raw)
	return path
}

// A tlsDoor is a door that speaks https, with two shops: one of them asks for a certificate.
type tlsDoor struct {
	*issuer
	*Hooks
	certs  *Certificates
	folder string
	at     string
	shop   *connectors.Connector
}

func openWithTLS(t *testing.T, change func(*TLS)) *tlsDoor {
	t.Helper()
	d := &tlsDoor{issuer: newIssuer(t), folder: t.TempDir(), shop: receiver(t, "shopify", connectors.Config{}, connectors.Options{})}
	of := TLS{}
	of.Cert, of.Key = d.issue(d.folder, "door", 2, x509.ExtKeyUsageServerAuth, time.Now().Add(-time.Hour), time.Now().Add(90*24*time.Hour))
	if change != nil {
		change(&of)
	}
	if of.ClientCA != "" {
		of.ClientCA = d.file(d.folder)
	}
	pool := x509.NewCertPool()
	pool.AddCert(d.cert)
	d.Hooks = door(HooksOptions{Store: &noStore{kept: make(chan messaging.RejectedRequest, 1000)}}, Rules{
		Receivers: map[string]*connectors.Connector{"shopify": d.shop, "crm": receiver(t, "shopify", connectors.Config{}, connectors.Options{})},
		Callers:   map[string]*x509.CertPool{"crm": pool}, PublicURL: "https://hooks.example.com",
	})
	var err error
	if d.certs, err = NewCertificates(of, true, "", time.Now, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.at = l.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := Serve(ctx, d.certs.Listener(l), d.certs.Handler(d.Handler()), d.Hooks, time.Second, zap.NewNop()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); parts.Wait() })
	return d
}

// client trusts the door's authority. own is the certificate that it shows; "" for none.
func (d *tlsDoor) client(proto int, own string) *http.Client {
	d.t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "hooks.example.com", MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(d.cert)
	if own != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(d.folder, own+".crt"), filepath.Join(d.folder, own+".key"))
		if err != nil {
			d.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: proto == 2}
	d.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// post sends one webhook, and says its answer and by which certificate of the door.
func (d *tlsDoor) post(c *http.Client, name string) (status, proto int, serial int64, err error) {
	r := signed(d.t, d.shop, "https://hooks.example.com/hooks/"+name, 500)
	r.RequestURI, r.URL.Host = "", d.at
	res, err := c.Do(r)
	if err != nil {
		return 0, 0, 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.ProtoMajor, res.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestTheDoorSpeaksTLSAndBothProtocols(t *testing.T) {
	d := openWithTLS(t, nil)
	for _, proto := range []int{1, 2} {
		status, spoken, _, err := d.post(d.client(proto, ""), "shopify")
		if err != nil || status != http.StatusOK || spoken != proto {
			t.Errorf("HTTP/%d is answered %d by HTTP/%d, %v", proto, status, spoken, err)
		}
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "hooks.example.com", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	config.RootCAs.AddCert(d.cert)
	if c, err := tls.Dial("tcp", d.at, config); err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

// A body that comes too slowly is cut over HTTP/2, too, and the connection's other requests are not.
func TestASlowBodyOverHTTP2IsCutAlone(t *testing.T) {
	d := openWithTLS(t, nil)
	client := d.client(2, "")
	body, slow := io.Pipe()
	r := signed(t, d.shop, "https://"+d.at+"/hooks/shopify", 500)
	r.RequestURI, r.Body, r.ContentLength = "", body, 5000
	told := make(chan int, 1)
	go func() {
		res, err := client.Do(r)
		if err != nil {
			t.Error(err)
			told <- 0
			return
		}
		defer res.Body.Close()
		told <- res.StatusCode
	}()
	if _, err := slow.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if status, _, _, err := d.post(client, "shopify"); err != nil || status != http.StatusOK {
			t.Errorf("another request of the connection: %d %v", status, err)
		}
	}
	if got := <-told; got != http.StatusRequestTimeout {
		t.Errorf("the slow one is answered %d", got)
	}
	_ = slow.Close()
}

func TestReplacedCertificatesAreTakenUpAndCutNobody(t *testing.T) {
	d := openWithTLS(t, nil)
	before := d.client(1, "")
	check := func(c *http.Client, want int64, when string) {
		t.Helper()
		if status, _, serial, err := d.post(c, "shopify"); err != nil || status != http.StatusOK || serial != want {
			t.Errorf("%s: %d by certificate %d, want %d: %v", when, status, serial, want, err)
		}
	}
	check(before, 2, "at first")
	d.certs.look()
	check(d.client(1, ""), 2, "nothing changed")

	cert, key := d.issue(d.folder, "next", 3, x509.ExtKeyUsageServerAuth, time.Now().Add(-time.Hour), time.Now().Add(200*24*time.Hour))
	move := func(from, to string) {
		if err := os.Rename(from, filepath.Join(d.folder, to)); err != nil {
			t.Fatal(err)
		}
	}
	move(cert, "door.crt")
	d.certs.look() // the key is not there yet
	check(d.client(1, ""), 2, "between the two files")
	if v := d.certs.Views()[0]; v.Error == "" || v.ErrorAt.IsZero() || v.Words(time.Now()) == "" {
		t.Errorf("nothing is told of files that do not fit: %+v", v)
	}
	move(key, "door.key")
	d.certs.look()
	check(d.client(1, ""), 3, "after both")
	check(before, 2, "on the connection from before")
	if v := d.certs.Views()[0]; v.Error != "" || v.Words(time.Now()) != "" {
		t.Errorf("after both it says %+v", v)
	}
	if err := os.Remove(filepath.Join(d.folder, "door.crt")); err != nil {
		t.Fatal(err)
	}
	d.certs.look()
	check(d.client(1, ""), 3, "after the file is gone")
}

func TestWhoShowsNoCertificateIsRefused(t *testing.T) {
	old, young := time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	callers := func(d *tlsDoor) {
		d.issue(d.folder, "good", 10, x509.ExtKeyUsageClientAuth, old, time.Now().Add(time.Hour))
		d.issue(d.folder, "expired", 11, x509.ExtKeyUsageClientAuth, old, young)
		d.issue(d.folder, "server", 12, x509.ExtKeyUsageServerAuth, old, time.Now().Add(time.Hour))
		other := newIssuer(t)
		other.issue(d.folder, "stranger", 13, x509.ExtKeyUsageClientAuth, old, time.Now().Add(time.Hour))
	}
	t.Run("by a connector", func(t *testing.T) {
		d := openWithTLS(t, nil)
		callers(d)
		for own, want := range map[string]int{"": http.StatusUnauthorized, "good": http.StatusOK, "expired": http.StatusUnauthorized, "server": http.StatusUnauthorized, "stranger": http.StatusUnauthorized} {
			for _, proto := range []int{1, 2} {
				if status, _, _, err := d.post(d.client(proto, own), "crm"); err != nil || status != want {
					t.Errorf("certificate %q over HTTP/%d: %d %v, want %d", own, proto, status, err, want)
				}
				if status, _, _, err := d.post(d.client(proto, own), "shopify"); err != nil || status != http.StatusOK {
					t.Errorf("certificate %q, at a connector that asks for none: %d %v", own, status, err)
				}
			}
		}
	})
	t.Run("by the door", func(t *testing.T) {
		d := openWithTLS(t, func(of *TLS) { of.ClientCA = "yes" })
		callers(d)
		for own, want := range map[string]bool{"": false, "good": true, "expired": false, "server": false, "stranger": false} {
			if status, _, _, err := d.post(d.client(2, own), "shopify"); (err == nil && status == http.StatusOK) != want {
				t.Errorf("certificate %q: %d %v", own, status, err)
			}
		}
	})
	if err := verifyClient(nil, x509.NewCertPool(), time.Now()); err == nil {
		t.Error("a request in the clear passes for one with a certificate")
	}
}

// Other authorities hold for connections that are there, and for sessions that are resumed.
func TestACallerOfAnAuthorityOfBeforeIsLetOut(t *testing.T) {
	for _, proto := range []int{1, 2} {
		d := openWithTLS(t, func(of *TLS) { of.ClientCA = "yes" })
		usage, from, to := x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		d.issue(d.folder, "before", 10, usage, from, to)
		next := newIssuer(t)
		next.issue(d.folder, "after", 11, usage, from, to)
		before, after := d.client(proto, "before"), d.client(proto, "after")
		before.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(10)
		for range 2 {
			if status, _, _, err := d.post(before, "shopify"); err != nil || status != http.StatusOK {
				t.Fatalf("HTTP/%d: at first %d %v", proto, status, err)
			}
		}
		if status, _, _, err := d.post(after, "shopify"); err == nil {
			t.Errorf("HTTP/%d: before its time the other is answered %d", proto, status)
		}
		next.file(d.folder)
		d.certs.look()
		if status, _, _, err := d.post(before, "shopify"); err != nil || status != http.StatusUnauthorized {
			t.Errorf("HTTP/%d: on the connection from before: %d %v", proto, status, err)
		}
		for range 2 {
			if status, _, _, err := d.post(before, "shopify"); err == nil && status != http.StatusUnauthorized {
				t.Errorf("HTTP/%d: on a new connection: %d", proto, status)
			}
		}
		if status, _, _, err := d.post(after, "shopify"); err != nil || status != http.StatusOK {
			t.Errorf("HTTP/%d: the other is answered %d %v", proto, status, err)
		}
	}
}

func TestCertificatesThatCannotBeUsedSayWhy(t *testing.T) {
	a, folder := newIssuer(t), t.TempDir()
	cert, key := a.issue(folder, "one", 2, x509.ExtKeyUsageServerAuth, time.Now(), time.Now().Add(time.Hour))
	_, other := a.issue(folder, "two", 3, x509.ExtKeyUsageServerAuth, time.Now(), time.Now().Add(time.Hour))
	empty := filepath.Join(folder, "empty")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, of := range map[string]TLS{
		"no such file":                          {Cert: cert + "x", Key: key},
		"key: open":                             {Cert: cert, Key: key + "x"},
		"private key does not match public key": {Cert: cert, Key: other},
		"failed to find any PEM data":           {Cert: empty, Key: key},
		"holds no certificate":                  {Cert: cert, Key: key, ClientCA: empty},
	} {
		if _, err := NewCertificates(of, false, "", time.Now, zap.NewNop()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", of, err, want)
		}
	}
}

func TestACertificateThatExpiresIsATrouble(t *testing.T) {
	began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	year, week := began.AddDate(1, 0, 0), began.AddDate(0, 0, 6)
	for name, tt := range map[string]struct {
		v    CertificateView
		now  time.Time
		want messaging.Severity
	}{
		"fresh":                      {CertificateView{NotBefore: began, NotAfter: year}, began.AddDate(0, 6, 0), ""},
		"two weeks before its end":   {CertificateView{NotBefore: began, NotAfter: year}, year.AddDate(0, 0, -13), messaging.Bad},
		"at its end":                 {CertificateView{NotBefore: began, NotAfter: year}, year, messaging.Stops},
		"not yet valid":              {CertificateView{NotBefore: began, NotAfter: year}, began.Add(-time.Minute), messaging.Stops},
		"of six days, in the middle": {CertificateView{NotBefore: began, NotAfter: week}, began.AddDate(0, 0, 3), ""},
		"of six days, on its last":   {CertificateView{NotBefore: began, NotAfter: week}, began.AddDate(0, 0, 5), messaging.Bad},
		"none":                       {CertificateView{Error: "the authority does not answer"}, began, messaging.Stops},
		"files that cannot be read":  {CertificateView{NotBefore: began, NotAfter: year, Error: "no such file"}, began, messaging.Bad},
	} {
		tt.v.For = "hooks.example.com"
		got := troubles(&StatusView{Daemon: &DaemonView{Certificates: []CertificateView{tt.v}}}, tt.now)
		switch {
		case tt.want == "" && len(got) > 0, tt.want != "" && (len(got) != 1 || got[0].Severity != tt.want || got[0].Code != messaging.TroubleCertificate || got[0].Hint == ""):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Files are looked at while the door runs, and a stop waits for nobody.
func TestCertificatesAreLookedAtUntilTheStop(t *testing.T) {
	folder := t.TempDir()
	a := newIssuer(t)
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		cert, key := a.issue(folder, "door", 2, x509.ExtKeyUsageServerAuth, now, now.Add(time.Hour))
		c, err := NewCertificates(TLS{Cert: cert, Key: key}, false, "", time.Now, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		a.issue(folder, "door", 3, x509.ExtKeyUsageServerAuth, now, now.Add(2*time.Hour))
		if err := os.Chtimes(cert, now, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(certificateLook + time.Second)
		synctest.Wait()
		if v := c.Views()[0]; !v.NotAfter.Equal(now.Add(2 * time.Hour).UTC().Truncate(time.Second)) {
			t.Errorf("still %+v", v)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
