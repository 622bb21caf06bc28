package contacts

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"

	letters "unicode"

	"github.com/gocarina/gocsv"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// phoneColumns are what exports call the column of the phone.
var phoneColumns = []string{
	"phone", "phone number", "mobile", "mobile phone", "mobile number", "cell", "cell phone", "telephone", "tel", "msisdn", "number",
}

// A phoneList is the phones of a file, with the line of each.
type phoneList struct {
	phones []string
	lines  []int
}

// A listedPhone is a row of such a file.
type listedPhone struct {
	Phone string `csv:"phone"`
}

// readPhones reads one phone a line, or the phones of a CSV file: those of the named column, or
// of the one whose header says phone, or of the first where there is no header. Lines that are
// empty or begin with # are passed over. name is the file's, for errors.
func readPhones(in io.Reader, name, column string) (list phoneList, err error) {
	r, err := spreadsheet(in, name)
	if err != nil {
		return list, err
	}
	rows, err := gocsv.NewUnmarshaller(r, listedPhone{})
	if errors.Is(err, io.EOF) {
		return list, nil
	}
	if err != nil {
		return list, fmt.Errorf("read %s: %w", name, err)
	}
	line, _ := r.FieldPos(0)
	first := rows.Headers
	header := !slices.ContainsFunc(first, phoneLike)
	at, err := phoneColumn(first, header, fmt.Sprintf("%s:%d", name, line), column)
	if err != nil {
		return list, err
	}
	take := func(row listedPhone) {
		if phone := strings.TrimSpace(row.Phone); phone != "" {
			line, _ := r.FieldPos(0)
			list.phones, list.lines = append(list.phones, phone), append(list.lines, line)
		}
	}
	if !header {
		take(listedPhone{first[at]})
	}
	// Whatever the column is called, it is the phone's, and no other is.
	if err := rows.RenormalizeHeaders(func(names []string) []string {
		names = make([]string, len(names))
		names[at] = "phone"
		return names
	}); err != nil {
		return list, fmt.Errorf("read %s: %w", name, err)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, fmt.Errorf("read %s: %w", name, err)
		}
		take(row.(listedPhone)) //nolint:forcetypeassert // what the reader was made for
	}
}

// spreadsheet reads a file as spreadsheets save CSV: with a mark that says UTF-8 or UTF-16, or none, and any of the usual
// separators. Lines that begin with # are passed over.
func spreadsheet(in io.Reader, name string) (*csv.Reader, error) {
	text := bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(encoding.Nop.NewDecoder())), 1<<16)
	if begin, _ := text.Peek(1 << 12); bytes.IndexByte(begin, '\n') < 0 && bytes.IndexByte(begin, '\r') >= 0 {
		return nil, exit.Fail(exit.Usage, "save it with lines that end as on Unix or Windows", "%s: its lines end with CR alone", name)
	}
	r := csv.NewReader(text)
	r.Comma, r.Comment = delimiter(text), '#'
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace, r.ReuseRecord = -1, true, true, true
	return r, nil
}

// delimiter is what parts the columns of the first lines; a comma where nothing does.
func delimiter(text *bufio.Reader) rune {
	begin, _ := text.Peek(1 << 12) // a shorter file is all there
	best, most := ',', 0
	for _, mark := range ",;\t|" {
		if n := strings.Count(string(begin), string(mark)); n > most {
			best, most = mark, n
		}
	}
	return best
}

// phoneLike reports whether a cell of a first line is a phone, and the line therefore no header.
func phoneLike(cell string) bool {
	digits := 0
	for _, c := range cell {
		if letters.IsDigit(c) {
			digits++
		}
	}
	return digits >= 5
}

// fold is the name of a column without regard to case and to what separates its words.
func fold(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c == '_' || c == '-' || letters.IsSpace(c) }), " ")
}

// phoneColumn is the place of the phone in the rows, from 0.
func phoneColumn(first []string, header bool, place, column string) (int, error) {
	names := make([]string, len(first))
	for i := range first {
		names[i] = strings.TrimSpace(first[i])
	}
	switch {
	case !header && column != "":
		return 0, exit.Fail(exit.Usage, "leave --column out: without a header the first column is read", "%s: there is no header, so no column is called %q", place, column)
	case !header:
		return 0, nil
	case column != "":
		if i := slices.IndexFunc(names, func(n string) bool { return fold(n) == fold(column) }); i >= 0 {
			return i, nil
		}
		hint := "there are " + strings.Join(names, ", ")
		if near := nearest.Of(column, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return 0, exit.Fail(exit.Usage, hint, "%s: no column %q", place, column)
	}
	for _, known := range phoneColumns {
		if i := slices.IndexFunc(names, func(n string) bool { return fold(n) == known }); i >= 0 {
			return i, nil
		}
	}
	if len(names) == 1 {
		return 0, nil
	}
	return 0, exit.Fail(exit.Usage, "name it, as in --column "+quoteIf(names[len(names)-1]), "%s: which column holds the phone? There are %s", place, strings.Join(names, ", "))
}

// quoteIf is a word as a shell takes it.
func quoteIf(word string) string {
	if strings.ContainsFunc(word, func(c rune) bool { return !letters.IsLetter(c) && !letters.IsDigit(c) && c != '_' && c != '-' }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
