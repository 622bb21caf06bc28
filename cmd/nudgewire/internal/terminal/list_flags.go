package terminal

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/server"
)

// ListFlags are the flags of every list.
type ListFlags struct {
	since string
	Limit int
}

func (f *ListFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.since, "since", "", "only from this long ago (2h, 3d) or this date on")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "most rows")
}

func (f *ListFlags) Query(now time.Time) (server.ListQuery, error) {
	since, err := ParseSince(f.since, now)
	if err != nil {
		return server.ListQuery{}, err
	}
	if f.Limit < 1 || f.Limit > server.MaxRows {
		return server.ListQuery{}, exit.Fail(exit.Usage, "", "--limit %d: want 1 to %d", f.Limit, server.MaxRows)
	}
	return server.ListQuery{Since: since, Limit: f.Limit}, nil
}

// NoteLimit ends a list: one that is as long as was asked for may go on. Nobody counts what is not shown:
// that would walk all of history.
func (c *CLI) NoteLimit(err error, n, limit int) error {
	if err == nil && n >= limit {
		c.Warn("the newest %d; --limit shows more, if there are more\n", limit)
	}
	return err
}
