package scheduler

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
)

// positionsFile is the name of the list of where the rows of parts stand in the source. A part is
// uploaded as it is and has no column for that.
const positionsFile = "rows.csv"

// positionsHead names its columns: from the row with that number in its part on, each row stands one
// below the one before it. So the list is as long as the excluded rows are many,
// however long the parts are.
var positionsHead = []string{"part", "number", "row", "file"}

// positions writes that list.
type positions struct {
	make maker
	name string // "" for positionsFile
	to   tableFile
	part string
	last nudgewire.Position
}

// add notes where the row with that number in a part stands.
func (p *positions) add(part string, number int64, at nudgewire.Position) error {
	follows := part == p.part && at.Row == p.last.Row+1 && at.File == p.last.File
	p.part, p.last = part, at
	if !follows {
		p.to.write(p.make, cmp.Or(p.name, positionsFile), positionsHead, []string{part, strconv.FormatInt(number, 10), strconv.FormatInt(at.Row, 10), at.File})
	}
	return p.to.err
}

// close keeps the file.
func (p *positions) close() error { return p.to.close() }

// abandon gives the file up.
func (p *positions) abandon() error { return p.to.abandon() }

// A tableFile is a CSV file that is made with its first row. The first failure is kept.
type tableFile struct {
	at  files.Writer
	buf *bufio.Writer
	csv *csv.Writer
	err error
}

func (t *tableFile) write(to maker, name string, head, row []string) {
	if t.err == nil && t.at == nil {
		if t.at, t.err = to(name); t.err != nil {
			t.at = nil
			return
		}
		t.buf = bufio.NewWriterSize(t.at, 64<<10)
		t.csv = csv.NewWriter(t.buf)
		t.err = t.csv.Write(head)
	}
	if t.err == nil {
		t.err = t.csv.Write(row)
	}
}

// close keeps the file, if there is one.
func (t *tableFile) close() error {
	if t.at == nil {
		return diskFull(t.err)
	}
	t.csv.Flush()
	err := t.err
	if err == nil {
		err = t.csv.Error()
	}
	if err == nil {
		err = t.buf.Flush()
	}
	if err == nil {
		err = t.at.Commit()
	}
	return errors.Join(diskFull(err), t.abandon())
}

// abandon gives the file up, if it is not kept.
func (t *tableFile) abandon() error {
	if t.at == nil {
		return nil
	}
	f := t.at
	t.at = nil
	return f.Abandon()
}

// A positionRow is one row of positionsFile.
type positionRow struct {
	part   string
	number int64
	at     nudgewire.Position
}

// A positionsReader finds the rows of parts in positionsFile. It reads on from where it is, so rows
// that are asked for in their order cost one reading of the file.
type positionsReader struct {
	in        files.Store
	folder    string
	name      string
	file      io.ReadCloser // nil before the first question, and where there is none
	csv       *csv.Reader
	now, next positionRow // now is the newest that was passed; next.part is "" at the end
}

// of is where the row with that number in a part stands; zero where that is not known.
func (p *positionsReader) of(ctx context.Context, part string, number int64) (nudgewire.Position, error) {
	name := ofRetry(positionsFile, part)
	for again := range 2 { // on from here, then once more from the beginning
		if p.file == nil || p.name != name || again > 0 {
			p.name = name
			if err := p.open(ctx); err != nil || p.file == nil {
				return nudgewire.Position{}, err
			}
		}
		for {
			if p.now.holds(part, number) && !p.next.holds(part, number) {
				at := p.now.at
				at.Row += number - p.now.number
				return at, nil
			}
			if p.next.part == "" {
				break
			}
			if err := p.step(); err != nil {
				return nudgewire.Position{}, err
			}
		}
	}
	return nudgewire.Position{}, nil
}

// holds reports whether the row lies in the part at p or below.
func (p *positionRow) holds(part string, number int64) bool {
	return p.part == part && p.number <= number
}

func (p *positionsReader) open(ctx context.Context) error {
	if err := p.close(); err != nil {
		return err
	}
	f, err := p.in.Open(ctx, files.Join(p.folder, p.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went with the other files of the run
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	p.file, p.csv = f, csv.NewReader(bufio.NewReaderSize(f, 1<<16))
	p.csv.FieldsPerRecord = len(positionsHead)
	p.now, p.next = positionRow{}, positionRow{}
	if _, err := p.csv.Read(); err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	return p.step()
}

// step moves on by one row.
func (p *positionsReader) step() error {
	row, err := p.csv.Read()
	p.now, p.next = p.next, positionRow{}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p.name, err)
	}
	number, bad := strconv.ParseInt(row[1], 10, 64)
	at, worse := strconv.ParseInt(row[2], 10, 64)
	if bad != nil || worse != nil {
		return fmt.Errorf("%s was changed on disk after it was built", p.name)
	}
	p.next = positionRow{row[0], number, nudgewire.Position{Row: at, File: row[3]}}
	return nil
}

func (p *positionsReader) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// A PositionFinder finds the rows of runs in their sources. It reads on from where it is, so rows
// that are asked for in their order cost one reading. Its zero value with Files and a Store is ready; it is
// used by one goroutine at a time and closed at the end.
type PositionFinder struct {
	Files files.Store
	Store interface {
		Run(ctx context.Context, id nudgewire.RunID) (nudgewire.Run, error)
		Parts(ctx context.Context, id nudgewire.RunID) ([]nudgewire.Part, error)
	}
	run    nudgewire.RunID
	parts  []nudgewire.Part
	at     int // of the part that was asked about last
	reader positionsReader
}

// Of is where the row with that number among the kept rows of a run stands in the source. It is
// zero where that is not known any more: the files of the run were removed.
func (f *PositionFinder) Of(ctx context.Context, run nudgewire.RunID, number int64) (nudgewire.Position, error) {
	if f.run != run {
		r, err := f.Store.Run(ctx, run)
		if err != nil {
			return nudgewire.Position{}, err
		}
		parts, err := f.Store.Parts(ctx, run)
		if err != nil {
			return nudgewire.Position{}, err
		}
		if err := f.Close(); err != nil {
			return nudgewire.Position{}, err
		}
		f.run, f.parts, f.at, f.reader = run, parts, 0, positionsReader{in: f.Files, folder: r.Folder}
	}
	for range f.parts { // mostly the same part as before
		if p := &f.parts[f.at]; number >= p.First && number < p.First+p.Rows {
			return f.reader.of(ctx, p.File, number-p.First+1)
		}
		f.at = (f.at + 1) % len(f.parts)
	}
	return nudgewire.Position{}, nil
}

// Close closes the file that was read last.
func (f *PositionFinder) Close() error { return f.reader.close() }
