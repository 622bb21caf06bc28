package terminal

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// ExportFlags are those of the exports of lists.
type ExportFlags struct {
	since, until, file string
	csv                bool
	Q                  server.ListQuery
}

func (f *ExportFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.since, "since", "", "only from this long ago (2h, 3d) or this date on")
	cmd.Flags().StringVar(&f.until, "until", "", "only before this long ago or this date")
	cmd.Flags().StringVarP(&f.file, "output", "o", "", "write to this file; it appears once it is whole")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "as CSV, which it is unless you say --json")
	cmd.Flags().StringVar(&f.Q.Phone, "phone", "", "only of this phone")
}

// ExportList writes what all gives, one after the other.
func (c *CLI) ExportList(cmd *cobra.Command, f *ExportFlags, what string, all func(*server.Client, server.ListQuery, *Export) error) error {
	if f.csv && c.JSON {
		return exit.Fail(exit.Usage, "", "--csv and --json cannot be together: keep one of them")
	}
	q := f.Q
	var err error
	if q.Since, err = ParseSince(f.since, c.Now()); err != nil {
		return err
	}
	if q.Until, err = ParseSince(f.until, c.Now()); err != nil {
		return exit.Fail(exit.Usage, "", "--until %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", f.until)
	}
	return c.WithReader(cmd.Context(), func(ask *server.Client) error {
		to, err := c.OpenExport(f.file)
		if err != nil {
			return err
		}
		err = all(ask, q, to)
		if err = errors.Join(err, to.Close(err == nil)); err != nil {
			return err
		}
		if to.Rows == 0 {
			return exit.Fail(exit.Nothing, "", "no %ss", what)
		}
		if to.Name != "" {
			c.Note("%s in %s", units.Count(to.Rows, what), to.Name)
		}
		return nil
	})
}

// An Export writes rows as CSV, or as JSON lines with --json.
type Export struct {
	Rows int64
	buf  *bufio.Writer
	csv  *csv.Writer
	json io.Writer
	temp *os.File // nil for standard output
	Name string
}

func (c *CLI) OpenExport(file string) (*Export, error) {
	e := &Export{Name: file}
	out := c.Out
	if file != "" {
		// It is made for its owner alone: who else may read the list is for them to say.
		f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
		if err != nil {
			return nil, exit.Fail(exit.Usage, "", "write %s: %w", file, err)
		}
		e.temp, out = f, f
	}
	e.buf = bufio.NewWriterSize(out, 1<<16)
	if c.JSON {
		e.json = e.buf
	} else {
		e.csv = csv.NewWriter(e.buf)
	}
	return e, nil
}

// Put writes one thing: as a line of JSON, or as rows of a table of that head.
func (e *Export) Put(v any, head []string, cells [][]string) error {
	e.Rows++
	if e.json != nil {
		return writeJSON(e.json, v)
	}
	if e.Rows == 1 {
		if err := e.csv.Write(head); err != nil {
			return err
		}
	}
	return e.csv.WriteAll(cells)
}

// Close keeps what was written when it is whole and holds a row; a file that is not goes away.
func (e *Export) Close(whole bool) (err error) {
	if e.csv != nil {
		e.csv.Flush()
		err = e.csv.Error()
	}
	if err == nil {
		err = e.buf.Flush()
	}
	if e.temp != nil {
		err = errors.Join(err, e.temp.Close())
		if err == nil && whole && e.Rows > 0 {
			err = os.Rename(e.temp.Name(), e.Name)
		} else {
			err = errors.Join(err, os.Remove(e.temp.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}
