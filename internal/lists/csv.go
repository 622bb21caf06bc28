package lists

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/units"
)

// sample is how much of a text is looked at to find out how it is written, in bytes.
const sample = 64 << 10

// longestLine bounds one row of a CSV file, and with it memory: a quote that is never closed
// would otherwise make one row of the rest.
const longestLine = 16 << 20

// readCSV reads text whose encoding, delimiter and line ends are as o says, or as they look.
func readCSV(text *bufio.Reader, closer io.Closer, o Origin) (Rows, error) {
	head, err := text.Peek(sample)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) == 0 {
		return nil, ErrEmpty
	}
	is := charsetOf(head, o.Encoding, o.Country)
	plain := bufio.NewReaderSize(decode(text, is.is), sample)
	head, err = plain.Peek(sample / 4)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	comma, hint := excelHint(head)
	lines := int64(0)
	if hint > 0 {
		if _, err := plain.Discard(hint); err != nil {
			return nil, err
		}
		lines++
		head = head[hint:]
	}
	switch {
	case o.Delimiter != "":
		comma = delimiterOf(o.Delimiter)
	case comma == 0:
		comma = sniffDelimiter(head)
	}
	var in io.Reader = plain
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		in = &returns{plain}
	}
	watch := &lineWatch{r: in}
	r := csv.NewReader(watch)
	r.Comma = comma
	r.LazyQuotes = o.Quoting == "lazy"
	r.ReuseRecord = true
	r.FieldsPerRecord = -1
	watch.separator = []byte(string(comma))
	c := &csvRows{r: r, watch: watch, closer: closer, before: lines, charset: is}
	if len(o.Header) > 0 {
		c.header = slices.Clone(o.Header)
		return c, nil
	}
	first, at, err := c.read()
	if _, ok := errors.AsType[*RowError](err); ok {
		return nil, &wordError{c.place() + ", the column names, is not written in UTF-8", "save the list as UTF-8, or set source.encoding: windows-1252"}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEmpty
	case err != nil:
		return nil, err
	}
	for i, name := range first {
		if digits := strings.TrimLeft(strings.TrimSpace(name), "+"); len(digits) >= 7 {
			if _, err := phones.Read("+"+digits, phones.Home{}); err == nil {
				return nil, &wordError{fmt.Sprintf("row %d has a phone number in cell %d where column names are expected", at, i+1), "name the columns: source.header: [phone, first_name]"}
			}
		}
		c.header = append(c.header, strings.TrimSpace(name))
	}
	return c, nil
}

type csvRows struct {
	r       *csv.Reader
	watch   *lineWatch
	closer  io.Closer
	header  []string
	charset charset
	before  int64  // lines taken away in front of the reader
	further int64  // lines so far that go on with a cell: a spreadsheet gives them no row
	begin   int64  // line of the reader in which the row at hand begins
	open    bool   // with lazy quotes: the last cell of the row at hand has several lines
	opened  string // its place
	multi   int64  // with lazy quotes: rows with a cell of several lines
	first   int64  // of them
}

// sawLines notes a row that has a cell of several lines. Where quotes need not be closed, such a cell may be other
// rows that it swallowed.
func (c *csvRows) sawLines(row Row, at int64) {
	several := func(cell string) bool { return strings.IndexByte(cell, '\n') >= 0 }
	if c.open = several(row[len(row)-1]); c.open {
		c.opened = c.place()
	}
	if slices.ContainsFunc(row, several) {
		if c.multi++; c.multi == 1 {
			c.first = at
		}
	}
}

// Notes say where rows may have been swallowed.
func (c *csvRows) Notes() (notes []string) {
	if c.charset.letters != "" && !c.charset.set {
		notes = append(notes, fmt.Sprintf("read as windows-1252, with letters such as %q; where they are wrong, say in source.encoding how the list is written", c.charset.letters))
	}
	if c.multi == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf("%s with a cell of several lines, the first is row %d: with quoting: lazy, a quote that is not closed swallows rows", units.Count(c.multi, "row"), c.first))
}

// Header are the names of the first line, or those that the job gives.
func (c *csvRows) Header() []string { return c.header }

// Next reads one row.
func (c *csvRows) Next() (Row, int64, error) {
	row, at, err := c.read()
	if err != nil || len(row) == len(c.header) {
		return row, at, err
	}
	if len(row) > len(c.header) {
		extra := row[len(c.header):]
		if !slices.ContainsFunc(extra, func(s string) bool { return strings.TrimSpace(s) != "" }) {
			return row[:len(c.header)], at, nil // a spreadsheet's trailing commas
		}
	}
	return row, at, ragged(len(row), len(c.header), fmt.Sprintf("put a cell that holds %s into quotes", separatorName(c.r.Comma)))
}

// ragged is a row with more or fewer cells than there are column names.
func ragged(cells, names int, hint string) *RowError {
	if cells < names {
		hint = "write the empty cells, too"
	}
	return &RowError{fmt.Sprintf("the row has %s and the header %d: %s", units.Count(cells, "cell"), names, hint), cells < names}
}

// read reads one row and numbers it. One in another charset comes with a *RowError.
func (c *csvRows) read() (Row, int64, error) {
	c.watch.left, c.watch.separators = longestLine, maxSeparators
	row, err := c.r.Read()
	if errors.Is(err, io.EOF) && c.open && c.watch.tail != '"' {
		return nil, 0, &wordError{"the quote that opens a cell in " + c.opened + " is never closed, so all behind it was taken for that cell", "close it"}
	}
	if err == nil {
		begin, _ := c.r.FieldPos(0)
		last, _ := c.r.FieldPos(len(row) - 1)
		c.begin = int64(begin)
		at := c.begin - c.further
		if c.r.LazyQuotes {
			c.sawLines(row, at)
		}
		err := c.charset.read(row, c.place)
		c.further += int64(last-begin) + int64(strings.Count(row[len(row)-1], "\n"))
		return row, at, err
	}
	if errors.Is(err, errManySeparators) {
		return nil, 0, &wordError{fmt.Sprintf("the row behind row %d has more than a million separators %s", c.begin-c.further, separatorName(c.r.Comma)), "set source.delimiter, or take the row out"}
	}
	if errors.Is(err, errLongLine) {
		return nil, 0, &wordError{fmt.Sprintf("the row behind row %d is longer than 16 MB: a quote that opens a cell in it is never closed", c.begin-c.further), "close it, or set source.quoting: lazy"}
	}
	bad, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return nil, 0, err
	}
	c.begin = int64(bad.StartLine)
	at, inside := c.begin-c.further, c.place()
	if bad.Line != bad.StartLine {
		inside = fmt.Sprintf("row %d (line %d of the file)", at, int64(bad.Line)+c.before)
	}
	switch {
	case errors.Is(bad.Err, csv.ErrBareQuote):
		return nil, at, &wordError{inside + " has a quote inside a cell that does not begin with one", "double the quote and put the cell into quotes, or set source.quoting: lazy"}
	case errors.Is(bad.Err, csv.ErrQuote) && bad.Line > bad.StartLine+1000:
		return nil, at, &wordError{"the quote that opens a cell in " + c.place() + " is never closed", "close it, or set source.quoting: lazy"}
	case errors.Is(bad.Err, csv.ErrQuote):
		return nil, at, &wordError{inside + " has a quote that is not closed, or text behind a closing one", "double quotes inside a cell, or set source.quoting: lazy"}
	default:
		return nil, at, err
	}
}

// place names the row at hand as a spreadsheet does, and its line where a text editor counts
// otherwise.
func (c *csvRows) place() string {
	row, line := c.begin-c.further, c.begin+c.before
	if row == line {
		return fmt.Sprintf("row %d", row)
	}
	return fmt.Sprintf("row %d (line %d of the file)", row, line)
}

// ReadAs says how the text was taken, as far as it was read.
func (c *csvRows) ReadAs() string {
	return c.charset.String() + " with " + separatorName(c.r.Comma) + " between cells"
}

// separatorName names a delimiter for people.
func separatorName(delimiter rune) string {
	if delimiter == '\t' {
		return "tabs"
	}
	return strconv.Quote(string(delimiter))
}

// Close closes the file.
func (c *csvRows) Close() error { return c.closer.Close() }

var (
	errLongLine       = errors.New("one row is longer than 16 MB")
	errManySeparators = errors.New("one row has too many cells")
)

// maxSeparators bounds the cells of one row of CSV: a cell takes forty times the memory of its separator.
const maxSeparators = 1 << 20

// lineWatch bounds what one row may read.
type lineWatch struct {
	r          io.Reader
	left       int
	separator  []byte // of cells; nil where that does not matter
	separators int    // how many more of them the row may have
	last       byte   // that was read
	tail       byte   // that was read and is no line end
	blank      int    // how much white space goes before
}

// maxBlank bounds white space between the tokens of JSON: its reader looks at all of it again for each read.
const maxBlank = 1 << 20

func (w *lineWatch) Read(p []byte) (int, error) {
	switch {
	case w.left <= 0 || w.blank > maxBlank:
		return 0, errLongLine
	case w.separators < 0:
		return 0, errManySeparators
	}
	n, err := w.r.Read(p)
	w.left -= n
	if w.separator == nil {
		w.blank += n
		if len(bytes.TrimSpace(p[:n])) > 0 {
			w.blank = 0
		}
	} else if n > 0 {
		w.separators -= bytes.Count(p[:n], w.separator)
		w.last = p[n-1]
		if text := bytes.TrimRight(p[:n], "\r\n"); len(text) > 0 {
			w.tail = text[len(text)-1]
		}
	}
	return n, err
}

// returns reads the line ends of old Macs as those of everybody else.
type returns struct{ r io.Reader }

func (r *returns) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	for i := range p[:n] {
		if p[i] == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// excelHint reads the "sep=;" line with which Excel names itself the separator. length is that
// of the line with its end; 0 where there is none.
func excelHint(head []byte) (comma rune, length int) {
	line, _, found := bytes.Cut(head, []byte("\n"))
	text := strings.TrimSpace(string(line))
	if !found || len(text) != 5 || !strings.EqualFold(text[:4], "sep=") {
		return 0, 0
	}
	return rune(text[4]), len(line) + 1
}

const delimiters = ",;\t|"

func delimiterOf(text string) rune {
	if text == "tab" || text == `\t` {
		return '\t'
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// sniffDelimiter picks the separator of the first lines: the one that each of
// them holds equally often outside quotes, and of several such the most frequent.
func sniffDelimiter(head []byte) rune {
	const lines = 20
	var counts [lines][len(delimiters)]int
	line, quoted, filled := 0, false, false
	whole := 0
	for _, b := range head {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n' || b == '\r':
			if filled {
				line++
				whole = line
			}
			filled = false
		default:
			filled = true
			if i := strings.IndexByte(delimiters, b); i >= 0 {
				counts[line][i]++
			}
		}
		if line == lines {
			break
		}
	}
	if whole == 0 {
		whole = 1 // one line without an end
	}
	best, bestScore := 0, 0
	for i := range len(delimiters) {
		same, first := 0, counts[0][i]
		for l := range whole {
			if counts[l][i] == first {
				same++
			}
		}
		if score := same*1000 + min(first, 999); first > 0 && score > bestScore {
			best, bestScore = i, score
		}
	}
	return rune(delimiters[best])
}
