package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) backup() *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Put all data into one file, while the daemon runs or not", Args: cobra.ExactArgs(1),
		Long: `backup writes one file with the database as it is at one moment, the files that runs still need, and the key by which
forgotten contacts are known again. The daemon goes on meanwhile. The file is read back before it gets its name, and never
takes the place of another without --yes. It is a tar archive compressed by zstd, and it is not encrypted: it holds
everything that is known of your contacts.

With --verify nothing is written: the file is read whole, every byte against its hash, the database page by page.

"nudgewire restore FILE" puts it back. The config and its secrets are not in it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if verify {
				return c.verifyBackup(cmd.Context(), args[0])
			}
			return c.makeBackup(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "read a backup whole and say what it holds")
	return cmd
}

// A backupView is a backup for programs.
type backupView struct {
	Path    string        `json:"path"`
	Bytes   int64         `json:"bytes"`
	At      time.Time     `json:"at"`      // the moment that it shows
	Checked time.Time     `json:"checked"` // when all of it was read
	Version string        `json:"version"`
	Files   int           `json:"files"`
	Data    backup.Copied `json:"data"`
}

func (c commands) makeBackup(ctx context.Context, path string) error {
	dsn, _, err := c.Storage()
	if err != nil {
		return err
	}
	if err := onlyFile(dsn, "pg_basebackup or pg_dump make a backup of it"); err != nil {
		return err
	}
	show, end := c.progress("making the backup")
	r, err := backup.Make(ctx, path, backup.Options{DSN: dsn, Version: c.Version, Replace: c.Yes, Progress: show})
	if end(); err != nil {
		return c.failBackup(err)
	}
	if err := backup.Note(dsn, r); err != nil {
		c.Warn("nudgewire: %v\n", err)
	}
	return c.tellBackup(r)
}

// onlyFile refuses a command for files where the data is in PostgreSQL. instead is what to do there.
func onlyFile(dsn, instead string) error {
	if !engine.OnServer(dsn) {
		return nil
	}
	return exit.Fail(exit.Usage, instead+": docs/cluster.md shows how", "this command is for a file of SQLite, and the data is in %s", engine.Name(dsn))
}

func (c commands) verifyBackup(ctx context.Context, path string) error {
	show, end := c.progress("reading the backup")
	r, err := backup.Check(ctx, path, show)
	if end(); err != nil {
		return c.failBackup(err)
	}
	if dsn, ok := c.StorageQuietly(); ok {
		if last, err := backup.ReadLast(dsn); err == nil && last.File == r.Path && last.At.Equal(r.Manifest.At) {
			if err := backup.Note(dsn, r); err != nil {
				c.Warn("nudgewire: %v\n", err)
			}
		}
	}
	return c.tellBackup(r)
}

func (c commands) tellBackup(r backup.Report) error {
	m := r.Manifest
	if c.JSON {
		return c.Print(backupView{r.Path, r.Bytes, m.At, r.Checked, m.Version, len(m.Files), m.Data})
	}
	c.Say("%s  %s of %s, read back and whole\n", r.Path, sizeWords(r.Bytes), c.Clock(m.At))
	c.Say("  %s, %s waiting, %s in doubt, %s\n", units.Count(m.Data.Events, "event"), units.Number(m.Data.Waiting), units.Number(m.Data.InDoubt),
		units.Count(max(0, len(m.Files)-1), "further file"))
	if m.Data.AuditEntry > 0 {
		c.Say("  the audit ends with %d:%s\n", m.Data.AuditEntry, m.Data.AuditHash)
	}
	return nil
}

// sizeWords is a size for people.
func sizeWords(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	}
}

// progress is terminal.Working for what counts bytes.
func (c commands) progress(doing string) (show func(doing string, done, all int64), end func()) {
	detail, end := c.Working(doing)
	return func(doing string, done, all int64) {
		if all > 0 {
			detail(fmt.Sprintf("%s %d%% of %s", doing, done*100/all, sizeWords(all)))
			return
		}
		detail(doing + " " + sizeWords(done))
	}, end
}

// failBackup gives the errors of backups their exit statuses.
func (c commands) failBackup(err error) error {
	if bad, ok := errors.AsType[*backup.FileError](err); ok {
		return exit.Fail(exit.Failed, bad.Hint(), "%w", bad)
	}
	if there, ok := errors.AsType[*backup.ExistsError](err); ok {
		return exit.Fail(exit.Usage, there.Hint(), "%w", there)
	}
	if held, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return exit.Fail(exit.TryLater, "", "%w", held)
	}
	if why := sqlite.DiskTrouble(err); why != "" {
		return exit.Fail(exit.TryLater, "nothing was changed; make room, or choose a folder on another disk (a backup needs about twice the size of the database until it is packed)", "%s: %w", why, err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return exit.Fail(exit.Usage, "", "%w", err)
	}
	return err
}
