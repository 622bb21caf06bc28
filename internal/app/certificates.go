package app

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// ACMEFolder is where certificates of an authority are kept, beside the database.
func ACMEFolder(dsn string) string { return engine.Path(dsn) + ".acme" }

// readCertificates reads those of the door, where it speaks TLS.
func (a *App) readCertificates(cfg *config.Config) (err error) {
	if cfg.Server.TLS == nil {
		return nil
	}
	a.certificates, err = certificates.New(*cfg.Server.TLS, len(cfg.Callers) > 0, ACMEFolder(cfg.Storage), a.opt.Now, a.log.Named("hooks"))
	if err != nil {
		return fmt.Errorf("server.tls: %w", err)
	}
	return nil
}

// prepareCertificates reads what a reload can change of them: other files, and whether callers are asked for theirs. take takes it up.
func (a *App) prepareCertificates(cfg *config.Config) (take func(), err error) {
	if a.certificates == nil || cfg.Server.TLS == nil || a.began.Server.TLS.Source() != cfg.Server.TLS.Source() {
		return func() {}, nil // needRestart says so
	}
	if take, err = a.certificates.Prepare(*cfg.Server.TLS, len(cfg.Callers) > 0); err != nil {
		return nil, fmt.Errorf("server.tls: %w", err)
	}
	return take, nil
}

// secured is l with TLS, where the door speaks it.
func (a *App) secured(l net.Listener) net.Listener {
	if a.certificates == nil {
		return l
	}
	return a.certificates.Listener(l)
}

// asking is h behind what asks callers for certificates, where the door speaks TLS.
func (a *App) asking(h http.Handler) http.Handler {
	if a.certificates == nil {
		return h
	}
	return a.certificates.Handler(h)
}

// watchCertificates keeps them fresh.
func (a *App) watchCertificates(ctx context.Context) error {
	if a.certificates == nil {
		<-ctx.Done()
		return nil
	}
	return a.certificates.Run(ctx)
}
