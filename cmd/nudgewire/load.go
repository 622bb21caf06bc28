package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// load reads the config and prints what is wrong with it. Warnings are left to "check".
func (c *cli) load() (*config.Config, error) {
	cfg, problems := config.Load(c.config, os.LookupEnv)
	if problems.Errors() == 0 {
		return cfg, nil
	}
	return nil, c.badConfig(problems)
}

// loadToLook is load for commands that only look: where nothing but variables and files are missing,
// stand-ins take their place, and it says so.
func (c *cli) loadToLook() (*config.Config, error) {
	cfg, problems := config.Load(c.config, os.LookupEnv)
	if problems.Errors() == 0 {
		return cfg, nil
	}
	if cfg, others := config.LoadWithoutSecrets(c.config, os.LookupEnv); cfg != nil && others.Errors() == 0 {
		c.note("%s not set here; stand-ins take their place", standIns(cfg))
		return cfg, nil
	}
	return nil, c.badConfig(problems)
}

// badConfig prints every error of a config, with its line and hint.
func (c *cli) badConfig(problems yamlpos.Problems) error {
	if _, err := os.Stat(c.config); errors.Is(err, os.ErrNotExist) {
		return fail(exitConfig, `make one with "nudgewire init", or name yours with --config`, "there is no %s", c.config)
	}
	c.render(problems)
	return errSilent(exitConfig)
}

func (c *cli) render(problems yamlpos.Problems) {
	if err := problems.Render(c.err, c.color(c.err)); err != nil {
		c.note("print the problems: %v", err)
	}
}

// storage finds the database that the config names. A config with mistakes elsewhere will
// do: the night when it is broken is the night when somebody asks why.
func (c *cli) storage() (dsn, country string, err error) {
	cfg, problems := config.Load(c.config, os.LookupEnv)
	if cfg == nil || cfg.Storage == "" {
		return "", "", c.badConfig(problems)
	}
	return cfg.Storage, cfg.Defaults.Country, nil
}

// storageQuietly is storage for whoever can do without it: nothing is printed.
func (c *cli) storageQuietly() (dsn string, ok bool) {
	cfg, _ := config.Load(c.config, os.LookupEnv)
	if cfg == nil || cfg.Storage == "" {
		return "", false
	}
	return cfg.Storage, true
}

// daemon returns a client of the running daemon. The caller calls done.
func (c *cli) daemon() (ask *server.Client, done func(), err error) {
	if c.server != "" {
		return c.remote()
	}
	dsn, _, err := c.storage()
	if err != nil {
		return nil, nil, err
	}
	ask = c.dial(dsn)
	return ask, ask.Close, nil
}

// reader returns a client of the running daemon, or of its database when none runs.
func (c *cli) reader(ctx context.Context) (ask *server.Client, done func(), err error) {
	if c.server != "" {
		return c.remote()
	}
	dsn, country, err := c.storage()
	if err != nil {
		return nil, nil, err
	}
	ask = c.dial(dsn)
	if _, err := ask.Status(ctx); !errors.Is(err, server.ErrNoDaemon) {
		return ask, ask.Close, err
	}
	cfg, _ := config.Load(c.config, os.LookupEnv)
	st, err := store.Open(ctx, store.Options{DSN: dsn, ReadOnly: true, Accounts: func(name string) bool {
		if cfg == nil {
			return true // not known
		}
		_, ok := cfg.Account(name)
		return ok
	}})
	if err != nil && store.Away(err) == "" {
		if begins, err := awaitStart(ctx, ask, dsn, startFor); err != nil {
			return nil, nil, err
		} else if begins {
			return ask, ask.Close, nil
		}
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, store.ErrNoData) {
		return nil, nil, c.noDaemon(ctx)
	}
	if err := failServer(err); err != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	o := server.AdminOptions{Store: st, Storage: store.Path(dsn), Data: store.Name(dsn), Country: country, Zone: c.location, Now: st.Now, Log: zap.NewNop()}
	if cfg != nil {
		o.Jobs = app.JobsBeside(cfg, st, st.Now)
		o.Errors = func() *messaging.ErrorRules { return cfg.Errors }
	}
	ask = server.Local(server.Admin(o), server.Process("this command"))
	return ask, func() {
		if err := st.Close(); err != nil {
			c.note("close the database: %v", err)
		}
	}, nil
}

// startFor is how long a command waits for a daemon that makes or changes its tables before it says so.
const startFor = 10 * time.Second

// awaitStart reports whether a daemon that has the data answers by now: one that just begins makes its tables first. Without a daemon
// it returns at once; a daemon that does not answer within most is told.
func awaitStart(ctx context.Context, ask *server.Client, dsn string, most time.Duration) (answers bool, err error) {
	held := func() bool {
		_, held := errors.AsType[*sqlite.LockedError](store.Held(dsn))
		return held
	}
	for until := time.Now().Add(most); held(); {
		if _, err := ask.Status(ctx); !errors.Is(err, server.ErrNoDaemon) {
			return err == nil, err
		}
		if time.Now().After(until) {
			return false, fail(exitTryLater, "try again in a moment", "the daemon is starting")
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return false, nil
}

// logger writes the daemon's log to standard error. format is json or console, "" for lines for people on a terminal
// and JSON otherwise.
func (c *cli) logger(level, format string) (*zap.Logger, error) {
	switch format {
	case "json", "console":
	case "":
		if format = "json"; isTerminal(c.err) && !c.json {
			format = "console"
		}
	default:
		return nil, fail(exitUsage, "one of: json, console", "--log-format %q is unknown", format)
	}
	at, err := zapcore.ParseLevel(level)
	if err != nil || at > zapcore.ErrorLevel {
		return nil, fail(exitUsage, "one of: debug, info, warn, error", "--log-level %q is unknown", level)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder, safe := zapcore.NewJSONEncoder(enc), plain.JSON
	if format == "console" {
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		enc.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02 15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(enc)
		safe = func(entry []byte) []byte { return []byte(plain.Lines(string(entry))) }
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(logWriter{c.err, safe})), at)), nil
}

// A logWriter takes from whole log entries what steers a terminal.
type logWriter struct {
	to   io.Writer
	safe func([]byte) []byte
}

func (w logWriter) Write(entry []byte) (int, error) {
	if _, err := w.to.Write(w.safe(entry)); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// failApp gives the errors of building the daemon their exit statuses.
func (c *cli) failApp(err error) error {
	if bad, ok := errors.AsType[*app.ConfigError](err); ok {
		return c.badConfig(bad.Problems)
	}
	if locked, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return fail(exitTryLater, `"nudgewire status" shows the one that runs`, "%w", locked)
	}
	if port, ok := errors.AsType[*app.PortError](err); ok {
		return fail(exitFailed, port.Hint(), "start: %w", port)
	}
	if err := failServer(err); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}

// failServer gives errors of a database server their exit statuses and the next step; nil for every other.
func failServer(err error) error {
	hint := store.Hint(err)
	if server, is := errors.AsType[*store.ServerError](err); hint == "" && !is {
		return nil
	} else if is && !server.Passes {
		return fail(exitFailed, "docs/cluster.md says what the server needs", "%w", err)
	}
	if store.Away(err) != "" {
		return fail(exitTryLater, hint, "%w", err)
	}
	return fail(exitFailed, hint, "%w", err)
}
