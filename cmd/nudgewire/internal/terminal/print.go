package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// Everything that a command prints goes through this file, because nearly all of it may hold what
// strangers wrote. Say, Warn and Table clean each value; Print writes JSON, which stays data.

// A Painted text is ours to the last character: cleaned, and with colour where that is wanted.
type Painted string

// A Block is a value of several lines, such as a payload: its line breaks and tabs are kept.
type Block string

// cleaned are the values of a format, safe for a terminal. What is written into the format itself
// is ours.
func cleaned(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case nil, Painted:
			out[i] = a
		case string:
			out[i] = plain.Text(a)
		case []byte:
			out[i] = plain.Text(string(a))
		case Block:
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

// Say writes to standard output, each value on one line and without what steers a terminal.
func (c *CLI) Say(format string, args ...any) { fmt.Fprintf(c.Out, format, cleaned(args)...) }

// Warn is Say to standard error.
func (c *CLI) Warn(format string, args ...any) { fmt.Fprintf(c.Err, format, cleaned(args)...) }

// Print writes v as one line of JSON.
func (c *CLI) Print(v any) error { return writeJSON(c.Out, v) }

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

// PrintAll writes each of the rows as one line of JSON.
func PrintAll[T any](c *CLI, rows []T) error {
	for i := range rows {
		if err := c.Print(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// List writes rows as JSON, or as a table of their cells. None is an error that says nothing; both ways,
// because a script wants to know, too.
func List[T any](c *CLI, rows []T, nothing error, head string, cells func(row T) []string) error {
	if len(rows) == 0 {
		return nothing
	}
	if c.JSON {
		return PrintAll(c, rows)
	}
	out := make([][]string, len(rows))
	for i := range rows {
		out[i] = cells(rows[i])
	}
	return c.Table(head, out)
}

// Table writes rows in columns under a head.
func (c *CLI) Table(head string, rows [][]string) error {
	w := tabwriter.NewWriter(c.Out, 0, 4, 2, ' ', 0)
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

// Sanitized is a text of somebody else's for a table, no wider than that.
func Sanitized(text string) string { return plain.Text(Truncated(text, widest)) }

// Truncated is text in at most that many characters; NoColumns is as many as it has.
func Truncated(text string, width int) string {
	if all := []rune(text); width != NoColumns && len(all) > width {
		return string(all[:width-1]) + "…"
	}
	return text
}

func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// color reports whether words on w may carry colour.
func (c *CLI) color(w io.Writer) bool {
	return !c.NoColor && os.Getenv("NO_COLOR") == "" && IsTerminal(w)
}

// Paint puts text in an ANSI colour where colour is wanted.
func (c *CLI) Paint(w io.Writer, code, text string) Painted {
	text = plain.Text(text)
	if !c.color(w) {
		return Painted(text)
	}
	return Painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func Indent(text, by string) Block {
	return Block(by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by))
}
