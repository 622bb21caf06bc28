package lists

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

const workbookMagic = "PK\x03\x04"

// readWorkbook reads one worksheet. The rows own closer.
func readWorkbook(ctx context.Context, r io.Reader, closer io.Closer, o Origin) (Rows, error) {
	book, err := openWorkbook(ctx, r)
	if err != nil {
		return nil, err
	}
	w := &bookRows{book: book, closer: closer}
	w.hidden = o.Hidden == "send"
	sheets := book.GetSheetList()
	name := o.Worksheet
	if name == "" && len(sheets) > 0 {
		if name, err = firstShown(book, sheets); err != nil {
			return nil, errors.Join(err, book.Close())
		}
	}
	if !slices.Contains(sheets, name) {
		return nil, errors.Join(&wordError{fmt.Sprintf("has no worksheet %q", name), "it has " + Names(sheets)}, book.Close())
	}
	if others := slices.DeleteFunc(sheets, func(one string) bool { return one == name }); o.Worksheet == "" && len(others) > 0 {
		w.notes = []string{fmt.Sprintf("only the worksheet %s is read, not %s (source.worksheet)", Names([]string{name}), Names(others))}
	}
	if w.shown, err = book.Rows(name); err == nil {
		w.stored, err = book.Rows(name)
	}
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	if len(o.Header) > 0 {
		w.header = slices.Clone(o.Header)
		return w, nil
	}
	first, _, err := w.read()
	if errors.Is(err, io.EOF) {
		if err = ErrEmpty; len(w.notes) > 0 {
			err = &wordError{"its worksheet " + Names([]string{name}) + " is empty", "name another one in source.worksheet; it has " + Names(book.GetSheetList())}
		}
	}
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	for _, one := range first {
		w.header = append(w.header, strings.TrimSpace(one))
	}
	return w, nil
}

// bookRows walks a worksheet twice at once: as its cells look, which makes dates readable,
// and as they are stored, because a phone in a number cell looks like 4.47911E+11 while its
// digits are all there.
type bookRows struct {
	book          *excelize.File
	shown, stored *excelize.Rows
	closer        io.Closer
	header        []string
	line          int64
	row           []string
	notes         []string
	hidden        bool // hidden rows are rows as others
	dates         dates
}

// firstShown is the first worksheet that the workbook shows.
func firstShown(book *excelize.File, sheets []string) (string, error) {
	for _, name := range sheets {
		if shown, err := book.GetSheetVisible(name); err != nil || shown {
			return name, err
		}
	}
	return "", &wordError{"every worksheet is hidden", "name the one to read in source.worksheet; it has " + Names(sheets)}
}

// errHidden is a row that a filter or a person hid: whoever saved the list did not see it.
var errHidden = &RowError{Reason: "the row is hidden in the workbook (source.hidden)"}

// Notes say which worksheets are not read, and how dates were.
func (w *bookRows) Notes() []string { return append(slices.Clone(w.notes), w.dates.notes(w.header)...) }

// Header are the names in the first row, or those that the job gives.
func (w *bookRows) Header() []string { return w.header }

// Next reads one row; empty ones are passed over.
func (w *bookRows) Next() (Row, int64, error) {
	row, line, err := w.read()
	if err != nil {
		return nil, line, err
	}
	if !w.hidden && w.shown.GetRowOpts().Hidden {
		return row, line, errHidden
	}
	if len(row) > len(w.header) {
		if slices.ContainsFunc(row[len(w.header):], func(s string) bool { return strings.TrimSpace(s) != "" }) {
			return row, line, ragged(len(row), len(w.header), "empty the cells that have no column name")
		}
		row = row[:len(w.header)]
	}
	return row, line, nil
}

func (w *bookRows) read() (Row, int64, error) {
	for w.shown.Next() {
		w.line++
		if !w.stored.Next() {
			return nil, w.line, errors.Join(errors.New("the worksheet ended early"), w.stored.Error())
		}
		shown, err := w.shown.Columns()
		if err != nil {
			return nil, w.line, fmt.Errorf("row %d: %w", w.line, err)
		}
		stored, err := w.stored.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return nil, w.line, fmt.Errorf("row %d: %w", w.line, err)
		}
		w.row = w.row[:0]
		filled := false
		for i, cell := range shown {
			if cell == "" { // most cells of a wide row
				w.row = append(w.row, cell)
				continue
			}
			if i < len(stored) && shortened.MatchString(cell) {
				cell = unshorten(cell, stored[i])
			}
			if i < len(stored) && w.header != nil {
				w.dates.add(i, cell, stored[i], w.line)
			}
			filled = filled || strings.TrimSpace(cell) != ""
			w.row = append(w.row, cell)
		}
		if filled {
			return w.row, w.line, nil
		}
	}
	if err := w.shown.Error(); err != nil {
		return nil, w.line, err
	}
	return nil, w.line, io.EOF
}

// shortened is how a spreadsheet shows a long number.
var shortened = regexp.MustCompile(`^-?\d+([.,]\d+)?E\+?\d+$`)

// unshorten gives the stored digits of a number that is shown shortened, where they are all
// there; else the cell as it looks, which will be refused in words.
func unshorten(shown, stored string) string {
	f, err := strconv.ParseFloat(stored, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1e15 {
		return shown
	}
	if mantissa, _, found := strings.Cut(strings.ToUpper(stored), "E"); found && strings.EqualFold(stored, shown) && len(mantissa) < 12 {
		return shown // this is all that was ever stored
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// Close closes the workbook and removes what was unpacked.
func (w *bookRows) Close() error {
	return errors.Join(w.shown.Close(), w.stored.Close(), w.book.Close(), w.closer.Close())
}
