package scheduler

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"reflect"

	"github.com/gocarina/gocsv"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
)

// A partWriter writes rows into as few files as hold them, none of them larger than max bytes
// and each with the header. It is a gocsv.CSVWriter: gocsv gives it the cells of a row, and
// it cuts by the bytes that they became, never through a row.
type partWriter struct {
	make   maker
	max    int64
	header []byte
	parts  []nudgewire.Part
	kept   int64                   // rows written
	first  int64                   // most rows of the first part; 0 for as many as fit
	name   func(number int) string // of the file of the part with that number, from 1
	refuse func(i int)
	took   func(p *nudgewire.Part, i int) error

	encoded bytes.Buffer // one row
	csv     *csv.Writer

	at  files.Writer
	buf *bufio.Writer
	sum hash.Hash
	i   int   // of the row within its batch
	err error // the first failure; kept for gocsv's Error
}

// newPartWriter writes files that to begins, and header at the top of each file. refuse and took are called for each row, with its
// number in its batch: it is larger than a part may be, or it is the newest of the part.
func newPartWriter(to maker, limit int64, header []string, refuse func(i int), took func(p *nudgewire.Part, i int) error) (*partWriter, error) {
	p := &partWriter{make: to, max: limit, name: partName, refuse: refuse, took: took, sum: sha256.New(), buf: bufio.NewWriterSize(nil, 256<<10)}
	p.csv = csv.NewWriter(&p.encoded)
	if err := p.encode(header); err != nil {
		return nil, err
	}
	p.header = bytes.Clone(p.encoded.Bytes())
	return p, nil
}

func partName(number int) string { return fmt.Sprintf("part-%04d.csv", number) }

func (p *partWriter) encode(row []string) error {
	p.encoded.Reset()
	if err := p.csv.Write(row); err != nil {
		return err
	}
	p.csv.Flush()
	return p.csv.Error()
}

// Write takes one row.
func (p *partWriter) Write(row []string) error {
	if p.err != nil {
		return p.err
	}
	i := p.i
	p.i++
	if p.err = p.encode(row); p.err != nil {
		return p.err
	}
	size := int64(p.encoded.Len())
	if int64(len(p.header))+size > p.max {
		p.refuse(i)
		return nil
	}
	if p.at != nil && (p.last().Bytes+size > p.max || p.first > 0 && p.kept == p.first) {
		if p.err = p.finish(); p.err != nil {
			return p.err
		}
	}
	if p.at == nil {
		if p.err = p.begin(); p.err != nil {
			return p.err
		}
	}
	if p.err = p.put(p.encoded.Bytes()); p.err != nil {
		return p.err
	}
	p.last().Rows++
	p.kept++
	p.err = p.took(p.last(), i)
	return p.err
}

// Flush does nothing: parts are flushed when they are full.
func (p *partWriter) Flush() {}

// Error is the first failure.
func (p *partWriter) Error() error { return p.err }

func (p *partWriter) last() *nudgewire.Part { return &p.parts[len(p.parts)-1] }

func (p *partWriter) put(b []byte) error {
	if _, err := p.buf.Write(b); err != nil {
		return p.failed(err)
	}
	p.last().Bytes += int64(len(b))
	return nil
}

func (p *partWriter) begin() error {
	number := len(p.parts) + 1
	name := p.name(number)
	f, err := p.make(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	p.at = f
	p.sum.Reset()
	p.buf.Reset(io.MultiWriter(f, p.sum))
	p.parts = append(p.parts, nudgewire.Part{Number: number, File: name, First: p.kept + 1, State: nudgewire.PartBuilt})
	return p.put(p.header)
}

// finish keeps the part at hand. Its numbers are only right afterwards.
func (p *partWriter) finish() error {
	if p.at == nil {
		return nil
	}
	f := p.at
	p.at = nil
	err := p.buf.Flush()
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return errors.Join(p.failed(err), f.Abandon())
	}
	p.last().SHA256 = hex.EncodeToString(p.sum.Sum(nil))
	return nil
}

func (p *partWriter) failed(err error) error {
	return fmt.Errorf("write %s: %w", p.last().File, diskFull(err))
}

// abandon gives up the part at hand.
func (p *partWriter) abandon() error {
	if p.at == nil {
		return nil
	}
	f := p.at
	p.at = nil
	return f.Abandon()
}

// A contactRow is a row of a part. Its phone has no type of its own: gocsv writes a type that has
// a String method by that method, and a phone's hides it one day. It is an alias, so that the type
// that newEncoder makes, which differs in its tags alone, is the same to the conversion.
type contactRow = struct {
	Phone     string
	Variables []string
}

// An encoder hands batches of rows to gocsv.
type encoder struct {
	rows  []contactRow
	typed reflect.Value // the same memory as gocsv wants it
	out   *partWriter
}

// newEncoder makes an encoder of rows with that many cells beside the phone. How many a job has is known only
// when it is compiled, and gocsv takes the length of a list from its tag.
func newEncoder(width int, out *partWriter) *encoder {
	fields := reflect.VisibleFields(reflect.TypeFor[contactRow]())
	fields[0].Tag = `csv:"phone"`
	fields[1].Tag = reflect.StructTag(fmt.Sprintf(`csv:"var" csv[]:"%d"`, width))
	if width == 0 {
		fields[1].Tag = `csv:"-"` // else it would be one column
	}
	rows := make([]contactRow, batchRows)
	return &encoder{rows: rows, typed: reflect.ValueOf(rows).Convert(reflect.SliceOf(reflect.StructOf(fields))), out: out}
}

// write encodes a batch.
func (e *encoder) write(b *batch) error {
	e.out.i = 0
	n := len(b.sent)
	for i := range n {
		e.rows[i] = contactRow{b.sent[i], b.vars[i*b.width : (i+1)*b.width]}
	}
	return gocsv.MarshalCSVWithoutHeaders(e.typed.Slice(0, n).Interface(), e.out)
}
