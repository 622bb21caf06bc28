package certificates

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/regular"
)

// certificateLook is how often the door looks whether its certificate was replaced. Tools that renew
// write the files and tell nobody.
const certificateLook = 10 * time.Second

var protocols = []string{"h2", "http/1.1"}

// A Set is the certificates that a listener proves itself with, and whom it asks for proof. A connection takes
// those of the moment in which it begins, so that a new one cuts none that is there.
type Set struct {
	log   *zap.Logger
	now   func() time.Time
	acme  *authority // nil where they come from files
	using atomic.Pointer[tls.Config]
	ended listeners.LogLimiter

	mu    sync.Mutex
	of    TLS
	asks  bool // some connector asks callers for a certificate
	pair  *tls.Certificate
	seen  string // the files as they were read
	err   error  // why they could not be read last
	errAt time.Time
}

// New reads those of a door. asks says that some connector asks for a caller's own. folder is where those of
// an authority are kept. Errors are those of ReadPair and ReadAuthorities.
func New(of TLS, asks bool, folder string, now func() time.Time, log *zap.Logger) (*Set, error) {
	c := &Set{log: log, now: now}
	if of.ACME != nil {
		a, err := newAuthority(of.ACME, folder, now, log)
		if err != nil {
			return nil, err
		}
		c.acme = a
	}
	take, err := c.Prepare(of, asks)
	if err != nil {
		return nil, err
	}
	take()
	return c, nil
}

// Prepare reads other files; take takes up all of them, and cannot fail. Whether there is TLS, and whether by ACME, stays as it was.
func (c *Set) Prepare(of TLS, asks bool) (take func(), err error) {
	use, err := c.prepare(of, asks)
	if err != nil {
		return nil, err
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		use()
	}, nil
}

// prepare is Prepare for those who hold the lock when they call use.
func (c *Set) prepare(of TLS, asks bool) (use func(), err error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	if asks {
		config.ClientAuth = tls.RequestClientCert
	}
	seen := stampsOf(of.Cert, of.Key, of.ClientCA) // before they are read: a change in between is then seen
	if of.ClientCA != "" {
		pool, err := ReadAuthorities(of.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("authorities of callers: %w", err)
		}
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, pool
	}
	var pair *tls.Certificate
	if c.acme != nil {
		config.GetCertificate = c.acme.certificate
	} else {
		if pair, err = ReadPair(of.Cert, of.Key); err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{*pair}
	}
	return func() {
		c.of, c.asks, c.pair, c.seen, c.err = of, asks, pair, seen, nil
		c.using.Store(config)
	}, nil
}

// Listener speaks TLS on l, with what is in use when a connection begins.
func (c *Set) Listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if c.acme != nil && isChallenge(hello) {
				return c.acme.challenge, nil // the authority shows no certificate of its own, whatever others must
			}
			return c.using.Load(), nil
		},
	})
}

// Handler asks each request for the certificate that a new connection would be asked for. A connection that an authority of before let
// in, or that resumes a session of then, ends with the answer; its caller may come again with another certificate. So does one that
// asked for an authority's challenge, which shows none, and then speaks HTTP.
func (c *Set) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if by := c.using.Load().ClientCAs; by != nil {
			if err := VerifyClient(r.TLS, by, c.now()); err != nil {
				if others, ok := c.ended.Line(c.now()); ok {
					c.log.Info("a connection ends, as its caller would not be let in now", zap.String("from", r.RemoteAddr), zap.Error(err), zap.Int64("more_within_a_minute", others))
				}
				w.Header().Set("Connection", "close")
				listeners.WriteWords(w, http.StatusUnauthorized, NeedsCertificate)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// Run reads the files again when they change, and keeps those of an authority fresh, until ctx is done.
func (c *Set) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	if c.acme != nil {
		parts.Go(func() { c.acme.run(ctx) })
	}
	tick := time.NewTicker(certificateLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.Look()
		}
	}
}

// Look reads the files again if they are not as they were.
func (c *Set) Look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := stampsOf(c.of.Cert, c.of.Key, c.of.ClientCA)
	if now == c.seen {
		return
	}
	use, err := c.prepare(c.of, c.asks)
	if err != nil {
		// Of two files that are replaced one after the other the first alone does not fit; both are looked at again.
		if c.err == nil {
			c.errAt = c.now()
		}
		if c.err == nil || c.err.Error() != err.Error() {
			c.log.Warn("the certificate's files changed and cannot be used; the door goes on with what it read before", zap.Error(err))
		}
		c.err = err
		return
	}
	use()
	c.log.Info("the certificate's files changed and were read again", zap.String("cert", c.of.Cert))
}

// Views show every certificate.
func (c *Set) Views() []CertificateView {
	if c.acme != nil {
		return c.acme.views()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v := CertificateOf(c.pair, c.of.Cert)
	if c.err != nil {
		v.Error, v.ErrorAt = c.err.Error(), c.errAt.UTC()
	}
	return []CertificateView{v}
}

// stampsOf tell files from what they were.
func stampsOf(files ...string) string {
	ctx, done := regular.Bounded()
	defer done()
	return regular.Stamps(ctx, files...)
}
