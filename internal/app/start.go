package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// A PortError says that an address of the config cannot be listened on.
type PortError struct {
	Key     string // of the config that says where: "server.listen" or "metrics.listen"
	Address string
	Err     error
}

func (e *PortError) Error() string { return "listen as " + e.Key + " says: " + e.Err.Error() }

func (e *PortError) Unwrap() error { return e.Err }

// Hint is the next step.
func (e *PortError) Hint() string {
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return "another program has " + e.Address + ": stop it, or set " + e.Key + " to a free port"
	case errors.Is(e.Err, syscall.EACCES):
		return "ports below 1024 are not for every user: set " + e.Key + " to a higher one, with a proxy before it"
	case errors.Is(e.Err, syscall.EADDRNOTAVAIL):
		return "this machine has no address like that: set " + e.Key + " to one of its own, such as 127.0.0.1 with a port"
	default:
		return e.Key + " in the config is " + e.Address
	}
}

func (a *App) listen(ctx context.Context, cfg *config.Config) (err error) {
	var lc net.ListenConfig
	if a.hooks, err = lc.Listen(ctx, "tcp", cfg.Server.Listen); err == nil {
		return nil
	}
	// A daemon over this data that runs already is the better reason.
	if held, ok := errors.AsType[*sqlite.LockedError](store.Held(cfg.Storage)); ok {
		return held
	}
	return &PortError{"server.listen", cfg.Server.Listen, err}
}

// openAgain is how long a start waits for the disk or the database server before it tries again.
const openAgain = time.Second

// openData opens the store and all that stands on it. Where the disk takes nothing, or the database server is away, and that is to be waited for, webhooks are
// answered 503 and it tries again, so that a restart on a full disk is no other than a disk that fills up.
func (a *App) openData(ctx context.Context, cfg *config.Config) error {
	err := a.tryData(ctx, cfg)
	why := engine.Away(err)
	l, isTCP := a.hooks.(*net.TCPListener)
	if why == "" || !a.opt.AwaitDisk || !isTCP {
		return err
	}
	var reason atomic.Pointer[webhooks.Readiness]
	reason.Store(&webhooks.Readiness{Starting: why, Hint: engine.Hint(err)})
	var told time.Time
	tell := func() {
		if time.Since(told) >= time.Minute {
			told = time.Now()
			a.log.Error("webhooks are answered 503 and nothing is sent: "+why+"; the data is opened as soon as that ends", zap.Error(err))
		}
	}
	tell()
	serving, stop := context.WithCancel(ctx)
	now := func() webhooks.Readiness { return *reason.Load() }
	served := make(chan error, 2)
	go func() {
		served <- listeners.Serve(serving, a.secured(lent{l}), webhooks.Starting(now), nil, time.Second, a.log.Named("hooks"))
	}()
	go func() { served <- a.consoleStarting(serving, now) }()
	for why != "" && ctx.Err() == nil {
		tell()
		select {
		case <-ctx.Done():
		case <-time.After(openAgain):
			if err = a.tryData(ctx, cfg); err != nil {
				why = engine.Away(err)
				reason.Store(&webhooks.Readiness{Starting: why, Hint: engine.Hint(err)})
			} else {
				why = ""
				a.log.Info("the data is open")
			}
		}
	}
	stop()
	return errors.Join(err, <-served, <-served, l.SetDeadline(time.Time{}))
}

// tryData opens the store and all that stands on it, or leaves nothing open.
func (a *App) tryData(ctx context.Context, cfg *config.Config) error {
	err := a.openStore(ctx, cfg)
	if err == nil {
		err = a.listenForCommands(ctx, cfg)
	}
	if err != nil {
		err = errors.Join(err, a.closeData())
	}
	return err
}

func (a *App) listenForCommands(ctx context.Context, cfg *config.Config) (err error) {
	path := SocketPath(cfg.Storage)
	// The store's lock says that no other daemon lives beside this data, so a socket that is
	// still there was left by one that died, and gives way.
	if a.admin, err = listenBeside(ctx, path); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&0o077 != 0 {
		a.log.Warn("the folder of the data is open to other users", zap.String("folder", folder), zap.String("hint", "chmod 700 "+folder))
	}
	return nil
}

// closeData closes what tryData opened.
func (a *App) closeData() error {
	var errs []error
	if a.admin != nil {
		// It goes while this daemon has the lock of the store: afterwards another daemon's may be there.
		if err := disk.Remove(SocketPath(a.began.Storage)); err != nil {
			errs = append(errs, err)
		}
		errs = append(errs, closeListener(a.admin))
		a.admin = nil
	}
	if a.lookups != nil {
		a.lookups.Close()
		a.lookups = nil
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
		a.store = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the data: %w", err)
	}
	return nil
}

// closeListener closes l, which may be closed already.
func closeListener(l net.Listener) error {
	if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// lent is a listener that somebody else goes on with: who closes it only takes no more. Whoever connects in between waits
// in the system's queue.
type lent struct{ *net.TCPListener }

func (l lent) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = net.ErrClosed
	}
	return c, err
}

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }
