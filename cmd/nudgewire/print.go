package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/nudgewire/nudgewire/internal/units"
)

// print writes v as one line of JSON.
func (c *cli) print(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
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

// table writes rows in columns under a head.
func (c *cli) table(head string, rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(head, " | ", "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// widest is how much of a text of somebody else's stands in a table, in characters.
const widest = 40

// tamed is a text of somebody else's for a table. A list may hold anything: line breaks, and what
// makes a terminal change its colours or worse.
func tamed(text string) string {
	signs := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(signs) > widest {
		signs = append(signs[:widest-1], '…')
	}
	for i, r := range signs {
		if !unicode.IsPrint(r) {
			signs[i] = '·'
		}
	}
	return string(signs)
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
func (c *cli) paint(w io.Writer, code, text string) string {
	if !c.color(w) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// clock is a moment as people at this machine read it: the time alone for today, with the date
// otherwise.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t = t.Local()
	if now := time.Now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// parseSince reads "2h", "3d" or a date as the moment a list begins.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var d units.Duration
	if err := d.UnmarshalText([]byte(text)); err == nil {
		return now.Add(-d.D()), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fail(exitUsage, "", "--since %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", text)
}
