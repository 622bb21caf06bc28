package terminal

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/config"
)

// LocalClient calls the daemon of cfg by LocalURL. A certificate is for the name that senders know and not for this machine's
// address, so the daemon's own is trusted here, and no other.
func LocalClient(cfg *config.Config, timeout time.Duration) *http.Client {
	client := &http.Client{Timeout: timeout}
	if cfg.Server.TLS == nil {
		return client
	}
	trusted := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if own := ownCertificate(cfg); own != nil {
		trusted.RootCAs.AddCert(own)
		switch {
		case len(own.DNSNames) > 0:
			trusted.ServerName = strings.Replace(own.DNSNames[0], "*", "nudgewire", 1)
		case len(own.IPAddresses) > 0:
			trusted.ServerName = own.IPAddresses[0].String()
		}
	}
	client.Transport = &http.Transport{TLSClientConfig: trusted, ForceAttemptHTTP2: true}
	return client
}

// ownCertificate is the door's, nil where there is none yet.
func ownCertificate(cfg *config.Config) *x509.Certificate {
	pair, err := certificates.ReadPair(cfg.Server.TLS.Cert, cfg.Server.TLS.Key)
	if acme := cfg.Server.TLS.ACME; acme != nil && len(acme.Domains) > 0 {
		pair, err = certificates.CachedCertificate(app.ACMEFolder(cfg.Storage), acme.Domains[0])
	}
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// LocalURL is the listener as this machine reaches it.
func LocalURL(cfg *config.Config) string {
	listen := cfg.Server.Listen
	if strings.HasPrefix(listen, ":") {
		listen = "127.0.0.1" + listen
	}
	scheme := "http://"
	if cfg.Server.TLS != nil {
		scheme = "https://"
	}
	return scheme + strings.Replace(listen, "0.0.0.0", "127.0.0.1", 1)
}
