package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// jobsReader is reader for what the config alone can tell: a job can be forecast before the
// daemon has run for the first time. Then an empty store in a folder of its own stands in,
// which knows of no run, no message and no blocked contact.
func (c commands) jobsReader(ctx context.Context) (ask *server.Client, done func(), err error) {
	ask, done, err = c.Reader(ctx)
	if ended, ok := errors.AsType[*exit.Error](err); !ok || ended.Code != exit.NoDaemon {
		return ask, done, err
	}
	cfg, err := c.LoadConfig()
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "nudgewire-forecast-")
	if err != nil {
		return nil, nil, err
	}
	st, err := store.Open(ctx, store.Options{DSN: "sqlite:" + filepath.Join(folder, "empty.db")})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	ask = server.Local(server.Admin(server.AdminOptions{
		Store: st, Country: cfg.Defaults.Country, Zone: c.Location, Now: st.Now, Log: zap.NewNop(), Jobs: app.JobsBeside(cfg, st, st.Now, false),
	}), access.Process("this command"))
	return ask, func() {
		if err := errors.Join(st.Close(), os.RemoveAll(folder)); err != nil {
			c.Note("clear up: %v", err)
		}
	}, nil
}
