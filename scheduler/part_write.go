package scheduler

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"reflect"

	"github.com/gocarina/gocsv"
)

// A contactRow is a row of a file. Its phone has no type of its own: gocsv writes a type that has
// a String method by that method, and a phone's hides it one day. It is an alias, so that the type
// that newEncoder makes, which differs in its tags alone, is the same to the conversion.
type contactRow = struct {
	Phone     string
	Variables []string
}

// An encoder makes the bytes of rows, as they stand in a file. It is a gocsv.CSVWriter: gocsv gives it the cells of a row, and each gets
// what they became, with the place of the row among those of the call. The bytes hold until the next.
type encoder struct {
	each  func(i int, row []byte) error
	rows  []contactRow
	typed reflect.Value // the same memory as gocsv wants it

	encoded bytes.Buffer
	csv     *csv.Writer
	i       int
	err     error // the first failure; kept for gocsv's Error
}

// newEncoder makes an encoder of rows with that many cells beside the phone. How many a list has is known only
// when it is read, and gocsv takes the length of a list from its tag.
func newEncoder(width int, each func(i int, row []byte) error) *encoder {
	fields := reflect.VisibleFields(reflect.TypeFor[contactRow]())
	fields[0].Tag = `csv:"phone"`
	fields[1].Tag = reflect.StructTag(fmt.Sprintf(`csv:"var" csv[]:"%d"`, width))
	if width == 0 {
		fields[1].Tag = `csv:"-"` // else it would be one column
	}
	rows := make([]contactRow, batchRows)
	e := &encoder{each: each, rows: rows, typed: reflect.ValueOf(rows).Convert(reflect.SliceOf(reflect.StructOf(fields)))}
	e.csv = csv.NewWriter(&e.encoded)
	return e
}

// head is the first row of a file.
func (e *encoder) head(columns []string) ([]byte, error) {
	err := e.encode(append([]string{"phone"}, columns...))
	return bytes.Clone(e.encoded.Bytes()), err
}

func (e *encoder) encode(row []string) error {
	e.encoded.Reset()
	if err := e.csv.Write(row); err != nil {
		return err
	}
	e.csv.Flush()
	return e.csv.Error()
}

// write encodes n rows, at most batchRows, which row gives.
func (e *encoder) write(n int, row func(i int) contactRow) error {
	e.i = 0
	for i := range n {
		e.rows[i] = row(i)
	}
	return gocsv.MarshalCSVWithoutHeaders(e.typed.Slice(0, n).Interface(), e)
}

// Write implements gocsv.CSVWriter.
func (e *encoder) Write(row []string) error {
	if e.err != nil {
		return e.err
	}
	i := e.i
	e.i++
	if e.err = e.encode(row); e.err == nil {
		e.err = e.each(i, e.encoded.Bytes())
	}
	return e.err
}

// Flush does nothing: each row is passed on as it comes.
func (e *encoder) Flush() {}

// Error is the first failure.
func (e *encoder) Error() error { return e.err }

// A measure counts the files that rows would become, none of them larger than most bytes and each with the header.
type measure struct {
	most, head int64
	last       int64 // bytes of the newest file
	parts      int
	bytes      int64
}

// fits adds a row of that many bytes; false, and nothing is added, for one that is alone larger than a file.
func (m *measure) fits(row int64) bool {
	if m.head+row > m.most {
		return false
	}
	if m.parts == 0 || m.last+row > m.most {
		m.parts++
		m.last = m.head
		m.bytes += m.head
	}
	m.last += row
	m.bytes += row
	return true
}
