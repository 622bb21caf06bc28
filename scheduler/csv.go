package scheduler

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/nudgewire/nudgewire/internal/phones"
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
	encoding := o.Encoding
	if encoding == "" || encoding == "auto" {
		encoding = sniffEncoding(head)
	}
	plain := bufio.NewReaderSize(decode(text, encoding), sample)
	head, err = plain.Peek(sample / 4)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	comma, told := excelHint(head)
	lines := int64(0)
	if told > 0 {
		if _, err := plain.Discard(told); err != nil {
			return nil, err
		}
		lines++
		head = head[told:]
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
	c := &csvRows{r: r, watch: watch, closer: closer, before: lines}
	if len(o.Header) > 0 {
		c.header = slices.Clone(o.Header)
		return c, nil
	}
	first, _, err := c.read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEmpty
	case err != nil:
		return nil, err
	}
	for i, name := range first {
		if digits := strings.TrimLeft(strings.TrimSpace(name), "+"); len(digits) >= 7 {
			if _, ok := phones.AppendFast(nil, "+"+digits, ""); ok {
				return nil, &wordError{fmt.Sprintf("line 1 has a phone number in cell %d where column names are expected", i+1), "name the columns: source.header: [phone, first_name]"}
			}
		}
		c.header = append(c.header, strings.TrimSpace(name))
	}
	return c, nil
}

type csvRows struct {
	r      *csv.Reader
	watch  *lineWatch
	closer io.Closer
	header []string
	before int64 // lines taken away in front of the reader
	line   int64
}

// Header are the names of the first line, or those that the job gives.
func (c *csvRows) Header() []string { return c.header }

// Next reads one row.
func (c *csvRows) Next() (Row, int64, error) {
	row, line, err := c.read()
	if err != nil {
		return nil, line, err
	}
	if len(row) == len(c.header) {
		return row, line, nil
	}
	if len(row) > len(c.header) {
		extra := row[len(c.header):]
		if !slices.ContainsFunc(extra, func(s string) bool { return strings.TrimSpace(s) != "" }) {
			return row[:len(c.header)], line, nil // a spreadsheet's trailing commas
		}
	}
	return nil, line, &RowError{fmt.Sprintf("the row has %d cells and the header %d", len(row), len(c.header))}
}

func (c *csvRows) read() (Row, int64, error) {
	c.watch.left = longestLine
	row, err := c.r.Read()
	if err == nil {
		if len(row) > 0 {
			at, _ := c.r.FieldPos(0)
			c.line = int64(at) + c.before
		}
		for _, cell := range row {
			if !utf8.ValidString(cell) {
				return nil, c.line, &wordError{fmt.Sprintf("line %d is not written in UTF-8", c.line), "set source.encoding, for instance windows-1252"}
			}
		}
		return row, c.line, nil
	}
	bad, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return nil, c.line, err
	}
	line := int64(bad.StartLine) + c.before
	switch {
	case errors.Is(bad.Err, csv.ErrBareQuote):
		return nil, line, &wordError{fmt.Sprintf("line %d has a quote inside a cell that does not begin with one", int64(bad.Line)+c.before), "double the quote and put the cell into quotes, or set source.quoting: lazy"}
	case errors.Is(bad.Err, csv.ErrQuote) && int64(bad.Line)+c.before > line+1000, errors.Is(err, errLongLine):
		return nil, line, &wordError{fmt.Sprintf("the quote that opens a cell in line %d is never closed", line), "close it, or set source.quoting: lazy"}
	case errors.Is(bad.Err, csv.ErrQuote):
		return nil, line, &wordError{fmt.Sprintf("line %d has a quote that is not closed, or text behind a closing one", line), "double quotes inside a cell, or set source.quoting: lazy"}
	default:
		return nil, line, err
	}
}

// Close closes the file.
func (c *csvRows) Close() error { return c.closer.Close() }

var errLongLine = errors.New("one row is longer than 16 MB: is a quote not closed?")

// lineWatch bounds what one row may read.
type lineWatch struct {
	r    io.Reader
	left int
}

func (w *lineWatch) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errLongLine
	}
	n, err := w.r.Read(p)
	w.left -= n
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

// The encodings of a text.
const (
	utf8Text    = "utf-8"
	utf16Text   = "utf-16"    // by its BOM, else little endian
	utf16BEText = "utf-16-be" // found out only
	westernText = "windows-1252"
)

// sniffEncoding guesses how a text is written: by its BOM, by the zeros between Latin letters
// in UTF-16, and by what cannot be UTF-8.
func sniffEncoding(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return utf8Text
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return utf16Text
	}
	even, odd := 0, 0
	for i, b := range head {
		if b == 0 {
			if i%2 == 0 {
				even++
			} else {
				odd++
			}
		}
	}
	switch {
	case odd*3 > len(head) && even < odd/4:
		return utf16Text
	case even*3 > len(head) && odd < even/4:
		return utf16BEText
	}
	cut := head
	for range utf8.UTFMax - 1 { // the sample may end inside a letter
		if len(cut) < sample || utf8.Valid(cut) {
			break
		}
		cut = cut[:len(cut)-1]
	}
	if utf8.Valid(cut) {
		return utf8Text
	}
	return westernText
}

// decode makes UTF-8 without a BOM of a text.
func decode(r *bufio.Reader, encoding string) io.Reader {
	switch encoding {
	case utf16Text:
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case utf16BEText:
		return transform.NewReader(r, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder())
	case westernText:
		return charmap.Windows1252.NewDecoder().Reader(r)
	default:
		if head, err := r.Peek(3); err == nil && string(head) == "\xef\xbb\xbf" {
			_, _ = r.Discard(3) // it was just seen
		}
		return r
	}
}

// excelHint reads the "sep=;" line with which Excel tells itself the delimiter. length is that
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

// sniffDelimiter picks the sign that parts the first lines most evenly: the one that each of
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
