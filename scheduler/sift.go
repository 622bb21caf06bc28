package scheduler

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A file that a retry made of another is called after it and after its own slot:
// part-0002.retry-1-of-run-12.csv. So the two are known as one file, which goes out once.

// ofSlot is the name of a file that a retry makes in place of another.
func ofSlot(file, slot string) string {
	name, _, _ := strings.Cut(file, ".")
	return name + "." + fileName(slot) + ".csv"
}

// ofRetry is the name of the file that stands beside part as file does beside the first one.
func ofRetry(file, part string) string {
	_, rest, _ := strings.Cut(part, ".")
	name, _, _ := strings.Cut(file, ".")
	return name + "." + rest
}

// fileOf is the name of the file that a run built, of which a retry may have made another.
func fileOf(file string) string {
	name, _, _ := strings.Cut(file, ".")
	return name + ".csv"
}

// An Ask says of each phone why it is excluded by now, as Excluder.Excluded does. It is asked for up
// to 512 phones at a time.
type Ask func(ctx context.Context, phones []nudgewire.Phone) ([]Why, error)

// Sift excludes from a retry that uploads files who must not be sent to by now: between the run and
// its retry a contact may have been blocked, or messaged by another campaign. With write it makes new files
// in place of those that lose rows; without, it only counts. A file that cannot be read stays in:
// its upload will say what is wrong with it.
func (t *Retry) Recheck(ctx context.Context, ask Ask, write bool) (err error) {
	s := newRechecking(t.Run.Folder, ask)
	defer func() { err = errors.Join(err, s.positions.close()) }()
	if write {
		if err := s.write(ofSlot(excludedFile, t.Run.Slot), ofSlot(positionsFile, t.Run.Slot)); err != nil {
			return err
		}
		defer func() {
			if err != nil || s.reasons.count() == 0 {
				err = errors.Join(err, s.discard())
			}
		}()
	}
	parts := t.Parts
	t.Parts, t.Run.Tally.Kept, t.Run.Tally.Bytes = nil, 0, 0
	for _, p := range parts {
		if p, err = s.part(ctx, p, ofSlot(p.File, t.Run.Slot)); err != nil {
			return err
		}
		if p.Rows == 0 {
			if err := s.remove(p); err != nil {
				return err
			}
			continue
		}
		p.Number, p.First = len(t.Parts)+1, t.Run.Tally.Kept+1
		t.Parts = append(t.Parts, p)
		t.Run.Tally.Kept += p.Rows
		t.Run.Tally.Bytes += p.Bytes
	}
	t.Run.Tally.Parts, t.Run.Tally.Excluded = len(t.Parts), s.files.short(s.reasons.list())
	if len(t.Parts) == 0 {
		top := t.Run.Tally.Excluded[0]
		return nothingLeft(t.Run.RetryOf, fmt.Sprintf("nobody on its files is left to send to: of %s %s because %s", units.Count(s.reasons.count(), "row"), units.Number(top.Count), top.Reason))
	}
	if !write || s.reasons.count() == 0 {
		return nil
	}
	return s.settle()
}

func removeFiles(folder string, names ...string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}

// A rechecking goes through parts on disk and excludes who must not be sent to by now.
type rechecking struct {
	folder    string
	ask       Ask
	reasons   excludedReasons
	lost      func(phone string) // is called for each who is excluded; nil for nobody
	positions positionsReader
	files     fileNames
	excluded  *excludedList // nil to count only
	kept      *positions
}

func newRechecking(folder string, ask Ask) *rechecking {
	return &rechecking{folder: folder, ask: ask, positions: positionsReader{folder: folder}}
}

// write has it make files, not only count: lists of those names, of the rows that are excluded and of
// where the others stand. What was left of them by a rechecking that was cut off is removed.
func (s *rechecking) write(excludedName, keptName string) error {
	to := &diskFolder{s.folder}
	s.excluded, s.kept = &excludedList{folder: to, name: excludedName}, &positions{folder: to, name: keptName}
	return removeFiles(s.folder, excludedName, keptName)
}

// discard removes the lists.
func (s *rechecking) discard() error {
	return errors.Join(s.excluded.close(), s.kept.abandon(), removeFiles(s.folder, s.excluded.name, s.kept.name))
}

// settle makes the lists durable, and the names of all files.
func (s *rechecking) settle() error {
	if err := errors.Join(s.excluded.close(), s.kept.close()); err != nil {
		return err
	}
	return (&diskFolder{s.folder}).settle()
}

// remove takes the file of a part away that nobody is left on.
func (s *rechecking) remove(p nudgewire.Part) error {
	if s.excluded == nil {
		return nil
	}
	return removeFiles(s.folder, p.File)
}

// part gives the part as it is now: with fewer rows and another file, of that name, where somebody on
// it is excluded by now.
func (s *rechecking) part(ctx context.Context, p nudgewire.Part, name string) (_ nudgewire.Part, err error) {
	path := filepath.Join(s.folder, p.File)
	if intact(path, p) != "" {
		return p, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	needed := false
	to := &recheckedFile{name: name, sum: sha256.New(), out: io.Discard}
	if s.excluded != nil {
		if err := to.create(s.folder); err != nil {
			return p, err
		}
		defer func() {
			if closed := to.close(); err == nil {
				err = closed
			}
			if err != nil || !needed {
				err = errors.Join(err, removeFiles(s.folder, to.name))
			}
		}()
	}
	if err := s.rows(ctx, p, csv.NewReader(bufio.NewReaderSize(f, 1<<16)), to); err != nil {
		return p, fmt.Errorf("read %s again: %w", p.File, err)
	}
	if needed = to.rows < p.Rows; !needed {
		return p, nil
	}
	p.Rows, p.Bytes = to.rows, to.bytes
	if s.excluded != nil {
		p.File, p.SHA256 = to.name, hex.EncodeToString(to.sum.Sum(nil))
	}
	return p, nil
}

// rows passes on the rows of a part that still may go.
func (s *rechecking) rows(ctx context.Context, p nudgewire.Part, from *csv.Reader, to *recheckedFile) error {
	header, err := from.Read()
	if err == nil {
		err = to.write(header)
	}
	for number := int64(0); err == nil; {
		var rows [][]string
		var phones []nudgewire.Phone
		for len(rows) < batchRows && err == nil {
			var row []string
			if row, err = from.Read(); err == nil {
				rows, phones = append(rows, row), append(phones, nudgewire.Phone(row[0]))
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		answers, failed := s.ask(ctx, phones)
		if failed != nil {
			return failed
		}
		for i, row := range rows {
			number++
			at, _ := s.positions.of(p.File, number) // where that is not known any more, the row goes or stays all the same
			if err := s.row(p.First+number, at, row, answers[i], to); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = to.flush()
	}
	return err
}

// row passes one row on, or excludes it.
func (s *rechecking) row(nth int64, at nudgewire.Position, row []string, why Why, to *recheckedFile) error {
	s.files.see(at.File)
	if why.Reason != "" {
		s.reasons.add(KindContact, "the contact "+why.Reason, position{at, int(nth)})
		if s.lost != nil {
			s.lost(row[0])
		}
		if s.excluded == nil {
			return nil
		}
		s.excluded.add(ExcludedRow{Position: at, Reason: why.whole(), Phone: row[0], Digits: row[0]})
		return s.excluded.failed()
	}
	if err := to.write(row); err != nil {
		return err
	}
	to.rows++
	if s.kept == nil || at == (nudgewire.Position{}) {
		return nil
	}
	return s.kept.add(to.name, to.rows, at)
}

// A recheckedFile is the file that a part becomes. To count only, it goes nowhere.
type recheckedFile struct {
	name  string
	rows  int64
	bytes int64
	sum   hash.Hash
	file  sink // nil to count only
	out   io.Writer
	buf   *bufio.Writer
	csv   *csv.Writer
}

func (t *recheckedFile) create(folder string) error {
	if err := removeFiles(folder, t.name); err != nil {
		return err
	}
	f, err := (&diskFolder{folder}).create(t.name)
	if err != nil {
		return fmt.Errorf("create %s: %w", t.name, err)
	}
	t.file, t.out = f, io.MultiWriter(f, t.sum)
	return nil
}

func (t *recheckedFile) write(row []string) error {
	if t.csv == nil {
		t.buf = bufio.NewWriterSize(counting{t}, 1<<16)
		t.csv = csv.NewWriter(t.buf)
	}
	return t.csv.Write(row)
}

// counting passes bytes on and counts them.
type counting struct{ t *recheckedFile }

func (c counting) Write(b []byte) (int, error) {
	n, err := c.t.out.Write(b)
	c.t.bytes += int64(n)
	return n, err
}

func (t *recheckedFile) flush() error {
	t.csv.Flush()
	return diskFull(errors.Join(t.csv.Error(), t.buf.Flush()))
}

func (t *recheckedFile) close() error { return diskFull(errors.Join(t.file.Sync(), t.file.Close())) }
