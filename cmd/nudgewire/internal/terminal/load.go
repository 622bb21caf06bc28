package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// LoadConfig reads the config and prints what is wrong with it. Warnings are left to "check".
func (c *CLI) LoadConfig() (*config.Config, error) {
	cfg, problems := config.Load(c.Config, os.LookupEnv)
	if problems.Errors() == 0 {
		return cfg, nil
	}
	return nil, c.BadConfig(problems)
}

// LoadToLook is LoadConfig for commands that only look: where nothing but variables and files are missing,
// stand-ins take their place, and it says so.
func (c *CLI) LoadToLook() (*config.Config, error) {
	cfg, problems := config.Load(c.Config, os.LookupEnv)
	if problems.Errors() == 0 {
		return cfg, nil
	}
	if cfg, others := config.LoadWithoutSecrets(c.Config, os.LookupEnv); cfg != nil && others.Errors() == 0 {
		c.Note("%s not set here; stand-ins take their place", StandInWords(cfg))
		return cfg, nil
	}
	return nil, c.BadConfig(problems)
}

// BadConfig prints every error of a config, with its line and hint.
func (c *CLI) BadConfig(problems yamlpos.Problems) error {
	if _, err := os.Stat(c.Config); errors.Is(err, os.ErrNotExist) {
		return exit.Fail(exit.Config, `make one with "nudgewire setup" or "nudgewire init", or name yours with --config`, "there is no %s", c.Config)
	}
	c.RenderProblems(problems)
	return exit.Silent(exit.Config)
}

func (c *CLI) RenderProblems(problems yamlpos.Problems) {
	if err := problems.Render(c.Err, c.color(c.Err)); err != nil {
		c.Note("print the problems: %v", err)
	}
}

// Storage finds the database that the config names. A config with mistakes elsewhere will
// do: the night when it is broken is the night when somebody asks why.
func (c *CLI) Storage() (dsn, country string, err error) {
	cfg, problems := config.Load(c.Config, os.LookupEnv)
	if cfg == nil || cfg.Storage == "" {
		return "", "", c.BadConfig(problems)
	}
	return cfg.Storage, cfg.Defaults.Country, nil
}

// StorageQuietly is storage for whoever can do without it: nothing is printed.
func (c *CLI) StorageQuietly() (dsn string, ok bool) {
	cfg, _ := config.Load(c.Config, os.LookupEnv)
	if cfg == nil || cfg.Storage == "" {
		return "", false
	}
	return cfg.Storage, true
}

// Remote returns a client of the daemon that --server names.
func (c *CLI) Remote() (ask *server.Client, done func(), err error) {
	ask, err = server.Remote(c.Server, os.Getenv("NUDGEWIRE_TOKEN"))
	if err != nil {
		return nil, nil, err
	}
	return ask, ask.Close, nil
}

// Daemon returns a client of the running daemon. The caller calls done.
func (c *CLI) Daemon() (ask *server.Client, done func(), err error) {
	if c.Server != "" {
		return c.Remote()
	}
	dsn, _, err := c.Storage()
	if err != nil {
		return nil, nil, err
	}
	ask = c.Dial(dsn)
	return ask, ask.Close, nil
}

// Reader returns a client of the running daemon, or of its database when none runs.
func (c *CLI) Reader(ctx context.Context) (ask *server.Client, done func(), err error) {
	if c.Server != "" {
		return c.Remote()
	}
	dsn, country, err := c.Storage()
	if err != nil {
		return nil, nil, err
	}
	ask = c.Dial(dsn)
	if _, err := server.ShowStatus.Call(ctx, ask, server.None{}); !errors.Is(err, server.ErrNoDaemon) {
		return ask, ask.Close, err
	}
	cfg, _ := config.Load(c.Config, os.LookupEnv)
	st, err := store.Open(ctx, store.Options{DSN: dsn, ReadOnly: true, Accounts: func(name string) bool {
		if cfg == nil {
			return true // not known
		}
		_, ok := cfg.Account(name)
		return ok
	}})
	if err != nil && engine.Away(err) == "" {
		if begins, err := awaitStart(ctx, ask, dsn, startFor); err != nil {
			return nil, nil, err
		} else if begins {
			return ask, ask.Close, nil
		}
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, store.ErrNoData) {
		return nil, nil, c.noDaemon(ctx)
	}
	if err := FailServer(err); err != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	o := server.AdminOptions{Store: st, Storage: engine.Path(dsn), Data: engine.Name(dsn), Country: country, Zone: c.Location, Now: st.Now, Log: zap.NewNop()}
	if cfg != nil {
		o.Jobs = app.JobsBeside(cfg, st, st.Now, true)
		o.Errors = func() *messaging.ErrorRules { return cfg.Errors }
		o.Reads = app.ReadsBeside(cfg)
	}
	ask = server.Local(server.Admin(o), access.Process("this command"))
	return ask, func() {
		if err := st.Close(); err != nil {
			c.Note("close the database: %v", err)
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
		if _, err := server.ShowStatus.Call(ctx, ask, server.None{}); !errors.Is(err, server.ErrNoDaemon) {
			return err == nil, err
		}
		if time.Now().After(until) {
			return false, exit.Fail(exit.TryLater, "try again in a moment", "the daemon is starting")
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return false, nil
}

// FailServer gives errors of a database server their exit statuses and the next step; nil for every other.
func FailServer(err error) error {
	hint := engine.Hint(err)
	if server, is := errors.AsType[*engine.ServerError](err); hint == "" && !is {
		return nil
	} else if is && !server.Passes {
		return exit.Fail(exit.Failed, "docs/cluster.md says what the server needs", "%w", err)
	}
	if engine.Away(err) != "" {
		return exit.Fail(exit.TryLater, hint, "%w", err)
	}
	return exit.Fail(exit.Failed, hint, "%w", err)
}

// StandInWords says how many values are not the real ones.
func StandInWords(cfg *config.Config) string {
	if n := cfg.StandIns(); n != 1 {
		return fmt.Sprintf("%d values are", n)
	}
	return "1 value is"
}
