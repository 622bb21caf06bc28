package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Everything that a command prints goes through this file, because nearly all of it may hold what
// strangers wrote. say, warn and table clean each value; print writes JSON, which stays data.

// A painted text is ours to the last character: cleaned, and with colour where that is wanted.
type painted string

// A block is a value of several lines, such as a payload: its line breaks and tabs are kept.
type block string

// cleaned are the values of a format, safe for a terminal. What is written into the format itself
// is ours.
func cleaned(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case nil, painted:
			out[i] = a
		case string:
			out[i] = plain.Text(a)
		case []byte:
			out[i] = plain.Text(string(a))
		case block:
			out[i] = plain.Lines(string(a))
		case error:
			out[i] = plain.Text(a.Error())
		default:
			switch v := reflect.ValueOf(arg); v.Kind() {
			case reflect.String, reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Array:
				out[i] = plain.Text(fmt.Sprint(arg))
			default: // numbers and truths, and ours that are named ones
				out[i] = arg
			}
		}
	}
	return out
}

// say writes to standard output, each value on one line and without what steers a terminal.
func (c *cli) say(format string, args ...any) { fmt.Fprintf(c.out, format, cleaned(args)...) }

// warn is say to standard error.
func (c *cli) warn(format string, args ...any) { fmt.Fprintf(c.err, format, cleaned(args)...) }

// print writes v as one line of JSON.
func (c *cli) print(v any) error { return writeJSON(c.out, v) }

// writeJSON writes v as one line of JSON that no terminal stumbles over.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
}

// printAll writes each of the rows as one line of JSON.
func printAll[T any](c *cli, rows []T) error {
	for i := range rows {
		if err := c.print(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// list writes rows as JSON, or as a table of their cells. None is an error that says nothing; both ways,
// because a script wants to know, too.
func list[T any](c *cli, rows []T, nothing error, head string, cells func(row T) []string) error {
	if len(rows) == 0 {
		return nothing
	}
	if c.json {
		return printAll(c, rows)
	}
	out := make([][]string, len(rows))
	for i := range rows {
		out[i] = cells(rows[i])
	}
	return c.table(head, out)
}

// table writes rows in columns under a head.
func (c *cli) table(head string, rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(head, " | ", "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plain.Text(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// widest is how much of a text of somebody else's stands in a table, in characters.
const widest = 40

// sanitized is a text of somebody else's for a table, no wider than that.
func sanitized(text string) string { return plain.Text(truncated(text, widest)) }

// truncated is text in at most that many characters; noColumns is as many as it has.
func truncated(text string, width int) string {
	if all := []rune(text); width != noColumns && len(all) > width {
		return string(all[:width-1]) + "…"
	}
	return text
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// color reports whether words on w may carry colour.
func (c *cli) color(w io.Writer) bool {
	return !c.noColor && os.Getenv("NO_COLOR") == "" && isTerminal(w)
}

// paint puts text in an ANSI colour where colour is wanted.
func (c *cli) paint(w io.Writer, code, text string) painted {
	text = plain.Text(text)
	if !c.color(w) {
		return painted(text)
	}
	return painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

// location is the zone that times are shown and read in: defaults.timezone, UTC where no config says one.
func (c *cli) location() *time.Location {
	if c.zone == nil {
		c.zone = time.UTC
		if cfg, _ := config.Load(c.config, os.LookupEnv); cfg != nil {
			c.zone = zoneOf(cfg.Defaults.Timezone)
		}
	}
	return c.zone
}

// zoneOf is a zone by its name, UTC where there is none of that name.
func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (c *cli) now() time.Time { return time.Now().In(c.location()) }

// clock is a moment for people, in the one zone of the config.
func (c *cli) clock(t time.Time) string { return clockIn(t, c.location()) }

// clockOrNever is a time that may not have come.
func (c *cli) clockOrNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return c.clock(*t)
}

// clockIn is a moment with its date and the zone's offset, so that nobody takes it for another zone's.
func clockIn(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	t = t.In(zone)
	if zone == time.UTC {
		return t.Format("2006-01-02 15:04:05 UTC")
	}
	return t.Format("2006-01-02 15:04:05 -07:00")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// parseSince reads "2h", "3d" or a date in the zone of now as the moment a list begins.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var d units.Duration
	if err := d.UnmarshalText([]byte(text)); err == nil {
		return now.Add(-d.D()), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fail(exitUsage, "", "--since %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", text)
}
