package lists

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// What a source can end with, for errors.Is.
var (
	// ErrChanged is a list that was written to while it was read.
	ErrChanged = errors.New("changed while it was read")
	// ErrEmpty is a list without even a line of column names.
	ErrEmpty = errors.New("is empty: it does not even have column names")
	// ErrTooLarge is a list beyond source.max_bytes.
	ErrTooLarge = errors.New("is larger than source.max_bytes")
)

// A RowError is one row that cannot be used, in words for the person whose list it is.
type RowError struct {
	Reason string
	// Short is a row that ends before the header does: spreadsheets leave empty cells at the end out. Where all cells that
	// are asked for are there, it is as good as any.
	Short bool
}

func (e *RowError) Error() string { return e.Reason }

// A wordError is a list that cannot be read, and the hint.
type wordError struct{ msg, hint string }

func (e *wordError) Error() string { return e.msg }

// Hint is what to do about it.
func (e *wordError) Hint() string { return e.hint }

func words(err error) (msg, hint string) {
	if w, ok := errors.AsType[*wordError](err); ok {
		return w.msg, w.hint
	}
	return err.Error(), ""
}

// within names the source in an error.
func within(source string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", source, err)
}

// Names are columns in an error: the first twenty, each cut where it is long. Where a list has no line of names they are cells.
func Names(columns []string) string {
	if len(columns) == 0 {
		return "no columns"
	}
	var b strings.Builder
	for i, c := range columns {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(columns)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if utf8.RuneCountInString(c) > 40 {
			c = string([]rune(c)[:39]) + "…"
		}
		b.WriteString(mask.Quote(c))
	}
	return b.String()
}

// maxShown is how much of a cell is quoted, in bytes.
const maxShown = 100

// Shorten cuts a cell that is quoted.
func Shorten(cell string) string {
	if len(cell) <= maxShown {
		return cell
	}
	return strings.ToValidUTF8(cell[:maxShown], "") + "…"
}
