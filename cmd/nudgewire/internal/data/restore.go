package data

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) restore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the data, where no daemon runs", Args: cobra.ExactArgs(1),
		Long: `restore checks the whole backup first, moves the data that is there aside (with --yes, and nothing of it is deleted),
and puts the backup in its place, where storage: in the config says.

The daemon that starts over it takes webhooks and sends nothing: nobody knows what was sent after the backup was made.
"nudgewire review" shows what to look at, and "nudgewire resume --reviewed" lets it go on. See docs/backup.md.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn, _, err := c.Storage()
			if err != nil {
				return err
			}
			if err := onlyFile(dsn, "pg_restore puts a dump into a new database"); err != nil {
				return err
			}
			show, end := c.progress("restoring")
			r, err := backup.Restore(cmd.Context(), args[0], backup.RestoreOptions{DSN: dsn, Replace: c.Yes, Progress: show})
			if end(); err != nil {
				return c.failBackup(err)
			}
			return c.tellRestored(r)
		},
	}
}

func (c commands) tellRestored(r backup.Restored) error {
	m := r.Manifest
	if c.JSON {
		return c.Print(struct {
			Data  string     `json:"data"`
			Aside string     `json:"aside,omitempty"`
			From  backupView `json:"from"`
		}{r.Data, r.Aside, backupView{r.Path, r.Bytes, m.At, r.Checked, m.Version, len(m.Files), m.Data}})
	}
	c.Say("%s is as it was at %s: %s, %s waiting\n", r.Data, c.Clock(m.At), units.Count(m.Data.Events, "event"), units.Number(m.Data.Waiting))
	if r.Aside != "" {
		c.Say("what was there before is in %s\n", r.Aside)
	}
	c.Note(`"nudgewire serve" takes webhooks and sends nothing until the data is reviewed: nudgewire review`)
	return nil
}
