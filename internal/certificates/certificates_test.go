package certificates

import (
	"context"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/test/testserver"
)

func TestCertificatesThatCannotBeUsedSayWhy(t *testing.T) {
	a, folder := testserver.NewIssuer(t), t.TempDir()
	cert, key := a.Issue(folder, "one", 2, x509.ExtKeyUsageServerAuth, time.Now(), time.Now().Add(time.Hour))
	_, other := a.Issue(folder, "two", 3, x509.ExtKeyUsageServerAuth, time.Now(), time.Now().Add(time.Hour))
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
		if _, err := New(of, false, "", time.Now, zap.NewNop()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", of, err, want)
		}
	}
}

// Files are looked at while the door runs, and a stop waits for nobody.
func TestCertificatesAreLookedAtUntilTheStop(t *testing.T) {
	folder := t.TempDir()
	a := testserver.NewIssuer(t)
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		cert, key := a.Issue(folder, "door", 2, x509.ExtKeyUsageServerAuth, now, now.Add(time.Hour))
		c, err := New(TLS{Cert: cert, Key: key}, false, "", time.Now, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		a.Issue(folder, "door", 3, x509.ExtKeyUsageServerAuth, now, now.Add(2*time.Hour))
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

func TestARequestInTheClearShowsNoCertificate(t *testing.T) {
	if err := VerifyClient(nil, x509.NewCertPool(), time.Now()); err == nil {
		t.Error("it passes for one with a certificate")
	}
}
