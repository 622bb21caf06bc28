package data

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/transfer"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) storeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Move the data to another engine", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.storeCopy())
	return cmd
}

func (c commands) storeCopy() *cobra.Command {
	var o transfer.Options
	cmd := &cobra.Command{
		Use: "copy --from PLACE --to PLACE", Short: "Copy the data of stopped daemons from SQLite to PostgreSQL, or back", Args: cobra.NoArgs,
		Long: `copy moves all that is stored to another engine, while no daemon runs. One place is sqlite: and a path, the other
postgres://user@server/database#FOLDER, where FOLDER is node.folder of this machine. PGPASSWORD may hold the password.

Every table is read back and compared by count and hash. The old data is marked then, and no daemon starts on it any more.
A copy that was cut off has changed nothing: give the same command again. See docs/operate.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.From == "" || o.To == "" {
				return exit.Fail(exit.Usage, `such as --from sqlite:./data/nudgewire.db --to "postgres://user@server/database#./data"`, "store copy needs --from and --to")
			}
			for _, place := range []string{o.From, o.To} {
				if address, folder, _ := strings.Cut(place, "#"); strings.HasPrefix(address, "postgres") && folder == "" {
					return exit.Fail(exit.Usage, `add # and the folder of this machine behind the address: postgres://user@server/database#./data`, "the PostgreSQL address has no node.folder")
				}
			}
			detail, end := c.Working("copying")
			o.Progress = func(doing string, rows int64) { detail(doing + " " + units.Number(rows)) }
			began := time.Now()
			done, err := transfer.Run(cmd.Context(), o)
			if end(); err != nil {
				return failTransfer(err)
			}
			return c.tellTransferred(&done, time.Since(began))
		},
	}
	cmd.Flags().StringVar(&o.From, "from", "", "where the data is")
	cmd.Flags().StringVar(&o.To, "to", "", "where it goes; nothing may be there")
	return cmd
}

func failTransfer(err error) error {
	if bad, ok := errors.AsType[*place.TransferError](err); ok {
		return exit.Fail(exit.Usage, bad.Hint, "%w", err)
	}
	if _, held := errors.AsType[*sqlite.LockedError](err); held {
		return exit.Fail(exit.TryLater, "", "%w", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Fail(exit.Nothing, "", "%w", err)
	}
	return err
}

func (c commands) tellTransferred(done *transfer.Result, took time.Duration) error {
	if c.JSON {
		return c.Print(struct {
			Tables  []transfer.Table `json:"tables"`
			Cleaned int64            `json:"cleaned"`
			TookMS  int64            `json:"took_ms"`
		}{done.Tables, done.Cleaned, took.Milliseconds()})
	}
	for _, t := range done.Tables {
		if t.Rows > 0 {
			c.Say("%-20s %12s  %s\n", t.Name, units.Number(t.Rows), t.Hash)
		}
	}
	c.Say("%s in %d tables, the same on both sides; took %s\n", units.Count(done.Rows(), "row"), len(done.Tables), took.Round(time.Millisecond))
	if done.Cleaned > 0 {
		c.Note("%s had bytes that PostgreSQL does not keep, and has U+FFFD there", units.Count(done.Cleaned, "text"))
	}
	c.Note("name the new place under storage: before a daemon starts; the old data is marked")
	return nil
}
