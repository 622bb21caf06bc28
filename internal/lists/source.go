package lists

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A Source is a list that can be read from the start as often as wanted.
type Source interface {
	// Open begins to read. ctx bounds all of the reading, not only Open.
	Open(ctx context.Context) (Rows, error)
	// String names the source for people, without secrets: "csv ./lists/*.csv".
	String() string
}

// Rows are the rows of a list, read once from the front. Memory does not grow with them.
type Rows interface {
	// Header are the names of the columns.
	Header() []string
	// Next gives the next row and its number, by which people find it. In a file it is the row that
	// a spreadsheet shows: the first is 1, the column names count and so does an empty row, the
	// further lines of a cell do not. Elsewhere it is the place in the list, from 1. The row holds
	// until the next call; its texts may be kept. io.EOF ends the list when it was read whole and did
	// not change meanwhile. A *RowError is about one row only, which comes along as far as it could
	// be read: reading goes on. Any other error ends the reading, and what was read so far must
	// not be used.
	Next() (row Row, number int64, err error)
	Close() error
}

// InFiles are rows of files. File names the one that the last row came from.
type InFiles interface{ File() string }

// fromText are rows of text. ReadAs is its encoding and its separator, for people.
type fromText interface{ ReadAs() string }

// noted are rows with something worth a look although the list was read whole.
type noted interface{ Notes() []string }

// ReadAs says how the text of a list was read; "" for a list that is no text. It is whole once the
// rows were read to their end, and so are Notes.
func ReadAs(rows Rows) string {
	if text, ok := rows.(fromText); ok {
		return text.ReadAs()
	}
	return ""
}

// Notes are what is worth a look although the list was read whole; at most MaxNotes.
func Notes(rows Rows) []string {
	if one, ok := rows.(noted); ok {
		return one.Notes()
	}
	return nil
}

// textWays gathers how the texts of a list were read.
type textWays struct {
	words []string
	files []int
}

// add counts a text that was read to its end; rows that are no text count nothing.
func (w *textWays) add(rows Rows) {
	way := ReadAs(rows)
	if way == "" {
		return
	}
	at := slices.Index(w.words, way)
	if at < 0 {
		at = len(w.words)
		w.words, w.files = append(w.words, way), append(w.files, 0)
	}
	w.files[at]++
}

// String is the one way, or every way with how many files were read in it.
func (w *textWays) String() string {
	if len(w.words) < 2 {
		return strings.Join(w.words, "")
	}
	var all []string
	for i, one := range w.words {
		all = append(all, one+" ("+units.Count(w.files[i], "file")+")")
	}
	return strings.Join(all, ", ")
}

// A Row is the cells of one row. It may be shorter than the header where a format leaves
// trailing empty cells out.
type Row []string

// inFolder is path, and below folder where it is relative.
func inFolder(folder, path string) string {
	if path == "" || folder == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// literal is folder as a pattern that only folder itself fits.
func literal(folder string) string {
	if filepath.Separator != '/' {
		return folder // there \ separates folders, and no pattern can hold one of its characters as itself
	}
	return patternCharacters.Replace(folder)
}

var patternCharacters = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
