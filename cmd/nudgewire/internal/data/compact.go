package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A compacted is what compact did.
type compacted struct {
	Before int64 `json:"before_bytes"`
	After  int64 `json:"after_bytes"`
	TookMS int64 `json:"took_ms"`
}

func (c commands) compact() *cobra.Command {
	return &cobra.Command{
		Use: "compact", Short: "Write the database anew without free space, while no daemon runs", Args: cobra.NoArgs,
		Long: `compact writes the database file of a stopped daemon anew, without the space that removed rows left.
It is needed once for a file that a version without retention made: from then on the running daemon gives
free space back by itself. It takes ten to twenty seconds a gigabyte, and up to twice the file's size in
room on the disk. Nothing that is stored changes.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, _, err := c.Storage()
			if err != nil {
				return err
			}
			return c.compactFile(cmd.Context(), dsn)
		},
	}
}

func (c commands) compactFile(ctx context.Context, dsn string) error {
	if err := onlyFile(dsn, "PostgreSQL uses free space again by itself (autovacuum)"); err != nil {
		return err
	}
	path := engine.Path(dsn)
	info, err := os.Stat(path)
	if err != nil {
		return exit.Fail(exit.Nothing, "the daemon makes it when it first starts", "there is no database at %s", path)
	}
	if free, _, err := disk.Space(path); err == nil && int64(free) < 2*info.Size() {
		return exit.Fail(exit.Failed, "make room, or move the file to another disk", "%s is %.1f MB, and only %.1f MB are free beside it: twice its size may be needed", path, float64(info.Size())/1e6, float64(free)/1e6)
	}
	began := time.Now()
	_, end := c.Working("writing the database anew")
	before, after, err := store.Compact(ctx, dsn)
	end()
	if _, held := errors.AsType[*sqlite.LockedError](err); held {
		return exit.Fail(exit.TryLater, `stop the daemon, then "nudgewire compact", then start it anew`, "%w", err)
	}
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	v := compacted{before.File, after.File, time.Since(began).Milliseconds()}
	if c.JSON {
		return c.Print(v)
	}
	c.Say("%s: %.1f MB, was %.1f MB; took %s\n", path, float64(v.After)/1e6, float64(v.Before)/1e6, time.Since(began).Round(time.Millisecond))
	return nil
}
