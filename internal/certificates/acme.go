package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// An authority issues the door's certificates by ACME. It is asked by us alone: a handshake of a stranger never leads to a call,
// because the public ones allow few failures an hour.
type authority struct {
	of        *ACME
	log       *zap.Logger
	now       func() time.Time
	manager   *autocert.Manager
	challenge *tls.Config // for the authority's own connections, which look whether the name is ours

	life context.Context // of its connections: that of run

	mu      sync.Mutex
	domains []*issued
	failed  string // the last call that failed, while autocert renews and tells nobody why
}

// issued is what there is for one name.
type issued struct {
	name  string
	cert  *tls.Certificate // nil before the first
	err   error            // why the last try failed
	since time.Time        // of the first failure
	fails int
	next  time.Time // when it is asked for again
}

// askAgain is how long is waited after a failure: Let's Encrypt allows five an hour for a name.
var askAgain = []time.Duration{2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}

// authorityTimeout is the longest that one call of an authority may take.
const authorityTimeout = time.Minute

// newAuthority takes what folder has of earlier processes, so that a start does not need the authority.
func newAuthority(of *ACME, folder string, now func() time.Time, log *zap.Logger) (*authority, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() // it is one, by its documentation
	if of.CAFile != "" {
		roots, err := ReadAuthorities(of.CAFile)
		if err != nil {
			return nil, fmt.Errorf("who vouches for the ACME authority: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	a := &authority{of: of, log: log, now: now, life: context.Background()}
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := a.life.Err(); err != nil {
			return nil, err
		}
		c, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(a.life, func() { _ = c.Close() }) // autocert's own context cannot be ended
		}
		return c, err
	}
	a.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(folder), HostPolicy: autocert.HostWhitelist(of.Domains...), Email: of.Email,
		Client: &acme.Client{
			DirectoryURL: of.Directory, UserAgent: "nudgewire", HTTPClient: &http.Client{Transport: listening{transport, a}, Timeout: authorityTimeout},
			RetryBackoff: a.backoff,
		},
	}
	a.challenge = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.manager.GetCertificate, NextProtos: []string{acme.ALPNProto}}
	for _, name := range of.Domains {
		one := &issued{name: name}
		if c, err := CachedCertificate(folder, name); err == nil && now().Before(c.Leaf.NotAfter) {
			one.cert = c
		}
		a.domains = append(a.domains, one)
	}
	return a, nil
}

// CachedCertificate is the certificate of a name that the folder of ACME holds.
func CachedCertificate(folder, name string) (*tls.Certificate, error) {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	c, err := tls.X509KeyPair(text, text) // autocert keeps the key and the certificates in one file
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// isChallenge reports whether an authority connects to see whether the name is ours (RFC 8737).
func isChallenge(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto
}

var errNoCertificate = errors.New("no certificate for this name")

// certificate is the one for a handshake. Who names no host gets the first.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.domains {
		if one.cert != nil && (name == one.name || name == "") {
			return one.cert, nil
		}
	}
	return nil, errNoCertificate
}

// run asks for what is missing, and takes what autocert renewed, until ctx is done.
func (a *authority) run(ctx context.Context) {
	a.life = ctx
	tick := time.NewTicker(certificateLook)
	defer tick.Stop()
	for {
		for _, one := range a.domains {
			if ctx.Err() == nil && !a.now().Before(one.next) {
				a.ask(ctx, one)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask has autocert give the certificate of a name: the one at hand or, where there is none, one that it asks the authority for.
func (a *authority) ask(ctx context.Context, one *issued) {
	c, err := a.manager.GetCertificate(&tls.ClientHelloInfo{
		ServerName: one.name, SupportedCurves: []tls.CurveID{tls.CurveP256}, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		if one.fails == 0 {
			one.since = a.now()
		}
		wait := askAgain[min(one.fails, len(askAgain)-1)]
		one.err, one.next = err, a.now().Add(wait)
		one.fails++
		a.log.Error("no certificate from the authority", zap.String("domain", one.name), zap.String("authority", a.of.Directory), zap.Duration("again_in", wait), zap.Error(err))
		return
	}
	if one.cert == nil || !one.cert.Leaf.Equal(c.Leaf) {
		a.log.Info("certificate taken up", zap.String("domain", one.name), zap.Time("expires", c.Leaf.NotAfter))
	}
	one.cert, one.err, one.fails, one.next = c, nil, 0, time.Time{}
}

func (a *authority) views() (out []CertificateView) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.domains {
		v := CertificateView{For: one.name, From: a.of.Directory, ByACME: true}
		if one.cert != nil {
			v = CertificateOf(one.cert, a.of.Directory)
			v.ByACME = true
		}
		switch {
		case one.err != nil:
			v.Error, v.ErrorAt = one.err.Error(), one.since.UTC()
		case one.cert != nil && v.Soon(a.now()):
			v.Error = a.failed
		}
		out = append(out, v)
	}
	return out
}

// backoff is how long to wait before a call is made again that the authority answered 5xx or 429.
func (a *authority) backoff(n int, _ *http.Request, _ *http.Response) time.Duration {
	if a.life.Err() != nil || n > 3 {
		return -1
	}
	return time.Duration(n) * time.Second
}

// mostPolite is how long autocert is let sleep between two looks at an order, in seconds: it cannot be woken, and a stop waits for it.
const mostPolite = 5

// listening notes what fails.
type listening struct {
	http.RoundTripper
	a *authority
}

func (l listening) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	switch {
	case err != nil:
		l.a.failed = err.Error()
	case res.StatusCode >= http.StatusBadRequest:
		l.a.failed = "the authority answered " + res.Status
	default:
		l.a.failed = ""
	}
	if err == nil && res.Header.Get("Retry-After") != "" {
		if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad != nil || seconds > mostPolite {
			res.Header.Set("Retry-After", strconv.Itoa(mostPolite))
		}
	}
	return res, err
}
