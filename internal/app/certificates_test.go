package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// doorPair writes a certificate of the door and its key into folder, and adds it to those that are trusted.
func doorPair(t *testing.T, folder, name string, serial int64, until time.Time, trusted *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"hooks.example.com"}, NotBefore: until.AddDate(0, 0, -90), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err := x509.ParseCertificate(der); err == nil {
		trusted.AddCert(cert)
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

const tlsServer = "\nserver: {listen: \"127.0.0.1:0\", tls: {cert: one.crt, key: one.key}}\n"

// overTLS posts an order to a house by a client, and says by which certificate it was answered.
func (h *house) overTLS(c *http.Client) (serial int64) {
	h.t.Helper()
	r := h.shopify("orders/create", "", order("c", "+447700900101", "10.00"))
	r.URL.Scheme = "https"
	res, err := c.Do(r)
	if err != nil {
		h.t.Error(err)
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		h.t.Errorf("answered %s over %s", res.Status, res.Proto)
	}
	return res.TLS.PeerCertificates[0].SerialNumber.Int64()
}

func TestAReloadMeetsTLS(t *testing.T) {
	t.Parallel()
	folder, trusted := t.TempDir(), x509.NewCertPool()
	doorPair(t, folder, "one", 1, time.Now().AddDate(0, 0, 80), trusted)
	doorPair(t, folder, "two", 2, time.Now().AddDate(0, 0, 80), trusted)
	h := open(t, options{folder: folder, config: plainConfig + tlsServer})
	client := func() *http.Client {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "hooks.example.com", MinVersion: tls.VersionTLS12}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 10 * time.Second}
	}
	first := client()
	if got := h.overTLS(first); got != 1 {
		t.Errorf("certificate %d, want 1", got)
	}

	h.edit("cert: one.crt, key: one.key", "cert: two.crt, key: two.key")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := h.Reload(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a reload whose data does not answer: %v", err)
	}
	if got := h.overTLS(client()); got != 1 {
		t.Errorf("after a reload that failed a new connection has certificate %d, want 1", got)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.overTLS(first); got != 1 {
		t.Errorf("the connection from before has certificate %d: it was cut", got)
	}
	if got := h.overTLS(client()); got != 2 {
		t.Errorf("after a reload a new connection has certificate %d, want 2", got)
	}

	h.edit("key: two.key", "key: one.key")
	if err := h.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "private key does not match public key") {
		t.Errorf("a key that does not fit is taken: %v", err)
	}
	if got := h.overTLS(client()); got != 2 {
		t.Errorf("after a rejected reload a new connection has certificate %d, want 2", got)
	}

	h.edit(", tls: {cert: two.crt, key: one.key}", "")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "server.tls is still on, by files"; !slices.Contains(v.Daemon.NeedsRestart, want) {
		t.Errorf("needs a restart: %q, want %q", v.Daemon.NeedsRestart, want)
	}
	if got := h.overTLS(client()); got != 2 {
		t.Errorf("without tls in the config a new connection has certificate %d, want 2", got)
	}
}

// A stop waits for the requests of a connection that carries several.
func TestAStopMeetsHTTP2(t *testing.T) {
	t.Parallel()
	folder, trusted := t.TempDir(), x509.NewCertPool()
	doorPair(t, folder, "one", 1, time.Now().AddDate(0, 0, 80), trusted)
	h := open(t, options{folder: folder, config: plainConfig + tlsServer})
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "hooks.example.com", MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	h.overTLS(client)
	r := h.shopify("orders/create", "late", order("late", "+447700900102", "10.00"))
	whole, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, rest := io.Pipe()
	r.URL.Scheme, r.Body = "https", body
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
	if _, err := rest.Write(whole[:10]); err != nil {
		t.Fatal(err)
	}
	h.overTLS(client) // behind it on the same connection: the door knows of both now
	stopped := make(chan struct{})
	go func() { h.stop(); close(stopped) }()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if c, err := tls.Dial("tcp", h.Addr().String(), &tls.Config{RootCAs: trusted, ServerName: "hooks.example.com", MinVersion: tls.VersionTLS12}); err != nil {
			break // the stop has begun
		} else if err := c.Close(); err != nil {
			t.Log(err)
		}
	}
	if _, err := rest.Write(whole[10:]); err != nil {
		t.Error(err)
	}
	if err := rest.Close(); err != nil {
		t.Error(err)
	}
	if got := <-told; got != http.StatusOK {
		t.Errorf("what was under way at a stop is answered %d", got)
	}
	<-stopped
}

// A certificate that expires while the daemon runs is a trouble of the first order, and commands still reach the daemon.
func TestACertificateExpiresWhileTheDaemonRuns(t *testing.T) {
	t.Parallel()
	folder, trusted := t.TempDir(), x509.NewCertPool()
	now := time.Now()
	doorPair(t, folder, "one", 1, now.Add(-time.Minute), trusted)
	h := open(t, options{folder: folder, config: plainConfig + tlsServer})
	v, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Troubles) == 0 || v.Troubles[0].Code != messaging.TroubleCertificate || v.Troubles[0].Severity != messaging.Stops {
		t.Errorf("troubles: %+v", v.Troubles)
	}
	doorPair(t, folder, "one", 2, now.AddDate(0, 0, 80), trusted)
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err = server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || len(v.Troubles) != 0 {
		t.Errorf("after it was renewed: %+v %v", v.Troubles, err)
	}
}
