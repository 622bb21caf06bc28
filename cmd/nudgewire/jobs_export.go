package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c *cli) jobsExport() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "export RUN", Short: "Every row of a run with what became of it, and the excluded rows, as CSV or JSON lines", Args: cobra.ExactArgs(1),
		Long: `export writes every row of a run: first those that it kept, in the order in which they are sent
(number), then those that it excluded, with the reason. row is the row of the list as a spreadsheet
shows it, where the column names are row 1. Phones are whole: it is your own list, so keep the file
as you keep the list.

The rows of a run that uploads files come from those files, and stand as their part stands; what
became of one message is known only where the service's answer named it with its phone. A file
that is gone or was changed is named, the others are written, and the command ends with status 1.`,
		Example: "  nudgewire jobs export 12 -o winback.csv\n  nudgewire jobs export 12 --json | jq 'select(.status == \"failed\")'",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.withReader(cmd.Context(), func(ask *server.Client) error {
				to, err := c.openExport(file)
				if err != nil {
					return err
				}
				err = ask.Rows(cmd.Context(), id, to.put)
				if err = errors.Join(err, to.close(err == nil)); err != nil {
					return err
				}
				return c.exported(id, to)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file; it appears once it is whole")
	return cmd
}

// exported says how an export ended.
func (c *cli) exported(id messaging.RunID, to *export) error {
	if to.rows == 0 {
		return fail(exitNothing, fmt.Sprintf("its counts are kept: nudgewire jobs show %d", id), "run %d has no rows, or they are not kept any more", id)
	}
	if to.name != "" {
		c.note("%s in %s", units.Count(to.rows, "row"), to.name)
	}
	return nil
}

// An export writes rows as CSV, or as JSON lines with --json.
type export struct {
	rows int64
	buf  *bufio.Writer
	csv  *csv.Writer
	json io.Writer
	temp *os.File // nil for standard output
	name string
}

func (c *cli) openExport(file string) (*export, error) {
	e := &export{name: file}
	var out io.Writer = c.out
	if file != "" {
		// It is made for its owner alone: who else may read the list is for them to say.
		f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
		if err != nil {
			return nil, fail(exitUsage, "", "write %s: %w", file, err)
		}
		e.temp, out = f, f
	}
	e.buf = bufio.NewWriterSize(out, 1<<16)
	if c.json {
		e.json = e.buf
	} else {
		e.csv = csv.NewWriter(e.buf)
	}
	return e, nil
}

func (e *export) put(r *server.RowView) error {
	return e.putOne(r, server.RowHead, [][]string{r.Cells()})
}

// putOne writes one thing: as a line of JSON, or as rows of a table of that head.
func (e *export) putOne(v any, head []string, cells [][]string) error {
	e.rows++
	if e.json != nil {
		return writeJSON(e.json, v)
	}
	if e.rows == 1 {
		if err := e.csv.Write(head); err != nil {
			return err
		}
	}
	return e.csv.WriteAll(cells)
}

// close keeps what was written when it is whole and holds a row; a file that is not goes away.
func (e *export) close(whole bool) (err error) {
	if e.csv != nil {
		e.csv.Flush()
		err = e.csv.Error()
	}
	if err == nil {
		err = e.buf.Flush()
	}
	if e.temp != nil {
		err = errors.Join(err, e.temp.Close())
		if err == nil && whole && e.rows > 0 {
			err = os.Rename(e.temp.Name(), e.name)
		} else {
			err = errors.Join(err, os.Remove(e.temp.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}
