package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// listenForConsole opens the listener for people and programs, where the config has one.
func (a *App) listenForConsole(ctx context.Context, cfg *config.Config) (err error) {
	if cfg.Console.Listen == "" {
		return nil
	}
	if t := cfg.Console.TLS; t != nil {
		if a.consoleTLS, err = certificates.New(*t, false, ACMEFolder(cfg.Storage), a.opt.Now, a.log.Named("console")); err != nil {
			return fmt.Errorf("console.tls: %w", err)
		}
	}
	var lc net.ListenConfig
	if a.console, err = lc.Listen(ctx, "tcp", cfg.Console.Listen); err != nil {
		return &PortError{Key: "console.listen", Address: cfg.Console.Listen, Err: err}
	}
	a.connLimiter = listeners.NewConsoleConnLimiter(0, a.consoleProxies, a.log.Named("console"))
	return nil
}

// serveAtConsole answers at the console's listener, or at what stands for it, until ctx is done.
func (a *App) serveAtConsole(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration) error {
	if a.consoleTLS != nil {
		l, h = a.consoleTLS.Listener(l), a.consoleTLS.Handler(h)
	}
	return listeners.Serve(ctx, l, h, a.connLimiter, grace, a.log.Named("console"))
}

// ConsoleAddr is where the API is served beside the socket, nil where console.listen is not set.
func (a *App) ConsoleAddr() net.Addr {
	if a.console == nil {
		return nil
	}
	return a.console.Addr()
}

// serveConsole is the part that answers people and programs.
func (a *App) serveConsole(ctx context.Context) error {
	if a.console == nil {
		<-ctx.Done()
		return nil
	}
	log := a.log.Named("console")
	tokens := &signin.Tokens{Store: auth.Records{Store: a.store}, Now: a.store.Now, Log: log}
	h := server.Console(server.ConsoleOptions{
		API: a.commands, Pages: a.pages.Handler(), Token: tokens.Who, Session: a.pages.Session, Now: a.store.Now, Log: log,
		Proxies: a.consoleProxies, ConnLimiter: a.connLimiter,
	})
	return a.serveAtConsole(ctx, a.console, h, grace)
}

// consoleStarting answers at the console's listener while the data cannot be opened, until ctx is done, and leaves it as it was.
func (a *App) consoleStarting(ctx context.Context, now func() webhooks.Readiness) error {
	l, isTCP := a.console.(*net.TCPListener)
	if !isTCP {
		return nil
	}
	err := a.serveAtConsole(ctx, lent{l}, server.ConsoleStarting(now, a.log.Named("console")), time.Second)
	return errors.Join(err, l.SetDeadline(time.Time{}))
}

// watchConsoleCertificates keeps them fresh.
func (a *App) watchConsoleCertificates(ctx context.Context) error {
	if a.consoleTLS == nil {
		<-ctx.Done()
		return nil
	}
	return a.consoleTLS.Run(ctx)
}

// prepareConsole reads what a reload can change of the console's certificates; take takes it up.
func (a *App) prepareConsole(cfg *config.Config) (take func(), err error) {
	if a.consoleTLS == nil || cfg.Console.TLS == nil || a.began.Console.TLS.Source() != cfg.Console.TLS.Source() {
		return func() {}, nil // needRestart says so
	}
	if take, err = a.consoleTLS.Prepare(*cfg.Console.TLS, false); err != nil {
		return nil, fmt.Errorf("console.tls: %w", err)
	}
	return take, nil
}

// consoleURL is where the API is served beside the socket, "" where it is not. Only a new process changes that.
func (a *App) consoleURL() string {
	switch {
	case a.console == nil:
		return ""
	case a.began.Console.PublicURL != "":
		return a.began.Console.PublicURL
	case a.consoleTLS != nil:
		return "https://" + a.console.Addr().String()
	default:
		return "http://" + a.console.Addr().String()
	}
}

// auditEvery is how often the log gets the last hash of the audit: somebody who changes the data does not change what was shipped.
const auditEvery = 24 * time.Hour

// watchAudit compares the end of the audit with what was written, at the start and once a day, and tells the log.
func (a *App) watchAudit(ctx context.Context) error {
	log := a.log.Named("audit")
	for {
		switch s, err := (audit.Records{Store: a.store}).Check(ctx); {
		case ctx.Err() != nil:
		case err != nil:
			log.Error("the end of the audit cannot be looked at", zap.Error(err))
		case s.Broken != "":
			log.Error("somebody changed the audit: "+s.Broken, zap.Int64("entry", s.ID), zap.String("hash", s.Hash))
		default:
			log.Info("the end of the audit, for audit verify --known", zap.Int64("entry", s.ID), zap.String("hash", s.Hash))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(auditEvery):
		}
	}
}

// recordConfig notes in the audit which config is used from now on, and who had it taken up. Where it cannot, the daemon goes on: what it
// decides names its config.
func (a *App) recordConfig(ctx context.Context, action string, cfg *config.Config) {
	e := chain.Entry{At: a.store.Now(), Who: a.owner, Via: string(access.FromProcess), Action: action, Subject: "config " + cfg.Version, Detail: "version " + a.opt.Version}
	if who, known := access.WhoOf(ctx); known {
		e.Who, e.Via, e.Detail = who.Name, string(who.From), e.Detail+", on "+a.owner
	}
	if err := a.store.Audit(ctx, e); err != nil {
		a.log.Error("which config is used is not in the audit", zap.String("config", cfg.Version), zap.Error(err))
	}
}
