package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A tlsDoor is a door that speaks https, with two shops: one of them asks for a certificate.
type tlsDoor struct {
	t *testing.T
	*testserver.Issuer
	*Hooks
	certs  *certificates.Set
	folder string
	at     string
	shop   *connectors.Connector
}

func openWithTLS(t *testing.T, change func(*certificates.TLS)) *tlsDoor {
	t.Helper()
	d := &tlsDoor{t: t, Issuer: testserver.NewIssuer(t), folder: t.TempDir(), shop: receiver(t, "shopify", connectors.Config{}, connectors.Options{})}
	of := certificates.TLS{}
	of.Cert, of.Key = d.Issue(d.folder, "door", 2, x509.ExtKeyUsageServerAuth, time.Now().Add(-time.Hour), time.Now().Add(90*24*time.Hour))
	if change != nil {
		change(&of)
	}
	if of.ClientCA != "" {
		of.ClientCA = d.File(d.folder)
	}
	pool := x509.NewCertPool()
	pool.AddCert(d.Cert)
	d.Hooks = door(Options{Store: &noStore{kept: make(chan messaging.RejectedRequest, 1000)}}, Rules{
		Receivers: map[string]*connectors.Connector{"shopify": d.shop, "crm": receiver(t, "shopify", connectors.Config{}, connectors.Options{})},
		Callers:   map[string]*x509.CertPool{"crm": pool}, PublicURL: "https://hooks.example.com",
	})
	var err error
	if d.certs, err = certificates.New(of, true, "", time.Now, zap.NewNop()); err != nil {
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
		if err := listeners.Serve(ctx, d.certs.Listener(l), d.certs.Handler(d.Handler()), d.Hooks, time.Second, zap.NewNop()); err != nil {
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
	config.RootCAs.AddCert(d.Cert)
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
	config.RootCAs.AddCert(d.Cert)
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
	d.certs.Look()
	check(d.client(1, ""), 2, "nothing changed")

	cert, key := d.Issue(d.folder, "next", 3, x509.ExtKeyUsageServerAuth, time.Now().Add(-time.Hour), time.Now().Add(200*24*time.Hour))
	move := func(from, to string) {
		if err := os.Rename(from, filepath.Join(d.folder, to)); err != nil {
			t.Fatal(err)
		}
	}
	move(cert, "door.crt")
	d.certs.Look() // the key is not there yet
	check(d.client(1, ""), 2, "between the two files")
	if v := d.certs.Views()[0]; v.Error == "" || v.ErrorAt.IsZero() || v.Words(time.Now()) == "" {
		t.Errorf("nothing is told of files that do not fit: %+v", v)
	}
	move(key, "door.key")
	d.certs.Look()
	check(d.client(1, ""), 3, "after both")
	check(before, 2, "on the connection from before")
	if v := d.certs.Views()[0]; v.Error != "" || v.Words(time.Now()) != "" {
		t.Errorf("after both it says %+v", v)
	}
	if err := os.Remove(filepath.Join(d.folder, "door.crt")); err != nil {
		t.Fatal(err)
	}
	d.certs.Look()
	check(d.client(1, ""), 3, "after the file is gone")
}

func TestWhoShowsNoCertificateIsRefused(t *testing.T) {
	old, young := time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	callers := func(d *tlsDoor) {
		d.Issue(d.folder, "good", 10, x509.ExtKeyUsageClientAuth, old, time.Now().Add(time.Hour))
		d.Issue(d.folder, "expired", 11, x509.ExtKeyUsageClientAuth, old, young)
		d.Issue(d.folder, "server", 12, x509.ExtKeyUsageServerAuth, old, time.Now().Add(time.Hour))
		other := testserver.NewIssuer(t)
		other.Issue(d.folder, "stranger", 13, x509.ExtKeyUsageClientAuth, old, time.Now().Add(time.Hour))
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
		d := openWithTLS(t, func(of *certificates.TLS) { of.ClientCA = "yes" })
		callers(d)
		for own, want := range map[string]bool{"": false, "good": true, "expired": false, "server": false, "stranger": false} {
			if status, _, _, err := d.post(d.client(2, own), "shopify"); (err == nil && status == http.StatusOK) != want {
				t.Errorf("certificate %q: %d %v", own, status, err)
			}
		}
	})
}

// Other authorities hold for connections that are there, and for sessions that are resumed.
func TestACallerOfAnAuthorityOfBeforeIsLetOut(t *testing.T) {
	for _, proto := range []int{1, 2} {
		d := openWithTLS(t, func(of *certificates.TLS) { of.ClientCA = "yes" })
		usage, from, to := x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		d.Issue(d.folder, "before", 10, usage, from, to)
		next := testserver.NewIssuer(t)
		next.Issue(d.folder, "after", 11, usage, from, to)
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
		next.File(d.folder)
		d.certs.Look()
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
