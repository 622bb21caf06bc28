package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A GoneError says that the data is not any more where it was opened. What is written goes to a file that
// nobody finds again, so nothing is taken and nothing is sent until it is back.
type GoneError struct {
	Path     string
	Replaced bool // another file is there
}

// Error says what is gone and the next step.
func (e *GoneError) Error() string {
	if e.Replaced {
		return e.Path + " was replaced by another file while the daemon runs; start the daemon anew to use that one, or put the old one back"
	}
	return e.Path + " was moved away or deleted while the daemon runs; put it back, or start the daemon anew to begin with what is there"
}

// A DamagedError says that a file of the data is not as the last commit left it: cut off, written over by another
// program, or malformed. What is written after that may not be found again, so nothing is taken and nothing is sent
// until the daemon is started anew.
type DamagedError struct {
	Path  string
	Cause error // what SQLite said of it; nil where the file itself shows it
}

// Error says what is damaged. Hint has the next step.
func (e *DamagedError) Error() string {
	if e.Cause != nil {
		return e.Path + " is damaged: " + e.Cause.Error()
	}
	return e.Path + " was cut off, or written over by another program, while the daemon runs"
}

func (e *DamagedError) Unwrap() error { return e.Cause }

const DamagedHint = "stop the daemon, keep a copy of the data's folder, and start it anew: it says what is lost; where it cannot start, restore the last backup"

// Damaged reports whether SQLite found the data malformed, or a look at its files did.
func Damaged(err error) bool {
	if _, is := errors.AsType[*DamagedError](err); is {
		return true
	}
	code, _ := Code(err)
	return code == codeCorrupt || code == NotData
}

// A Guard knows the files of the data as they were opened (the database, its log and index, and the lock, without which a
// second daemon would start), and what the last commit left in them. SQLite does not look again at what it has in memory, so
// it would go on for hours over a file that was cut off.
type Guard struct {
	files []guardedFile
	// For reading, for as long as SQLite has the files open: whoever closes one ends the locks of the whole process on that file
	// (https://sqlite.org/howtocorrupt.html, 2.2), and another program would take itself for the last user and end the log.
	database, log, index *os.File

	damage atomic.Pointer[DamagedError] // for good
	mu     sync.Mutex
	last   fileState
}

type guardedFile struct {
	path string
	info os.FileInfo
}

// A fileState is how the files were at one moment.
type fileState struct {
	index   Index
	size    int64 // of the database
	written time.Time
}

// NewGuard looks at the files of a database that is open.
func NewGuard(path string) (g *Guard, err error) {
	g = &Guard{}
	for _, one := range []struct {
		side string
		file **os.File
	}{{"", &g.database}, {"-wal", &g.log}, {"-shm", &g.index}, {".lock", nil}} {
		info, err := os.Stat(path + one.side)
		if err == nil && one.file != nil {
			*one.file, err = os.Open(path + one.side)
		}
		if err != nil {
			return g, fmt.Errorf("storage file: %w", err)
		}
		g.files = append(g.files, guardedFile{path + one.side, info})
	}
	return g, nil
}

// Close gives the files back, once SQLite has closed them.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, f := range []*os.File{g.database, g.log, g.index} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Check is a *GoneError when one of the files is not where it was, and a *DamagedError once one is not what it was. It
// takes some microseconds.
func (g *Guard) Check() error {
	if d := g.damage.Load(); d != nil {
		return d
	}
	for i := range g.files {
		now, err := os.Stat(g.files[i].path)
		if err != nil {
			return &GoneError{Path: g.files[i].path}
		}
		if !os.SameFile(now, g.files[i].info) {
			return &GoneError{Path: g.files[i].path, Replaced: true}
		}
	}
	return g.look()
}

// Saw passes an error of SQLite on, and remembers that it found the data malformed.
func (g *Guard) Saw(err error) error {
	if err == nil || g == nil || !Damaged(err) {
		return err
	}
	g.damage.CompareAndSwap(nil, &DamagedError{g.database.Name(), err})
	return g.damage.Load()
}

// IsDamaged reports whether damage was found.
func (g *Guard) IsDamaged() bool { return g != nil && g.damage.Load() != nil }

// maxChecks is how often a look is made again that met a commit or a checkpoint half-way.
const maxChecks = 8

// look compares the files with what the index of the log says must be in them, and with the last look.
func (g *Guard) look() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for range maxChecks {
		before, err := indexFrom(g.index)
		if err != nil || before == (Index{}) {
			continue // SQLite itself makes an index anew that is not right
		}
		now := fileState{index: before}
		fault, err := g.fault(&now)
		if after, changed := indexFrom(g.index); err != nil || changed != nil || after != before {
			continue
		}
		if fault != nil {
			g.damage.CompareAndSwap(nil, &DamagedError{Path: fault.Name()})
			return g.damage.Load()
		}
		g.last = now
		return nil
	}
	return nil // the next look sees more
}

// fault is the file that is not as it must be; nil for none. now has the index, and gets the rest.
func (g *Guard) fault(now *fileState) (*os.File, error) {
	if good, err := g.databaseIsGood(now); err != nil || !good {
		return g.database, err
	}
	if good, err := g.logIsGood(&now.index); err != nil || !good {
		return g.log, err
	}
	return nil, nil
}

// databaseIsGood: only a checkpoint writes to the database, and it notes in the index how far it wants to come before it begins,
// and how far it came at its end. What changed without that was written by somebody else.
func (g *Guard) databaseIsGood(now *fileState) (bool, error) {
	info, err := g.database.Stat()
	if err != nil {
		return false, err //nolint:wrapcheck // a look that failed says nothing
	}
	now.size = info.Size()
	if runtime.GOOS != "windows" { // which writes times down when it suits
		now.written = info.ModTime()
	}
	begins, err := readAt(g.database, 0, len(fileBegins))
	if err != nil {
		return false, err
	}
	x := &now.index
	same := now.size == g.last.size && now.written.Equal(g.last.written)
	whole := x.moved < x.frames || now.size >= int64(x.pages)*PageSize
	return string(begins) == fileBegins && whole && (same || x.movedSince(&g.last.index)), nil
}

// logIsGood: while the log holds what is not in the database, its head must be there, the frame that ended the last commit, and the
// one that ended the last commit of the look before. SQLite writes the next frames behind a log that was cut off without a look at it.
func (g *Guard) logIsGood(x *Index) (bool, error) {
	if x.frames == x.moved {
		return true, nil
	}
	head, err := readAt(g.log, 0, logHeader)
	if err != nil || string(head[16:24]) != string(x.salts[:]) || binary.BigEndian.Uint32(head)&^1 != logMagic {
		return false, err
	}
	last := &g.last.index
	if last.salts != x.salts || last.frames > x.frames {
		last = x
	}
	for _, end := range []*Index{last, x} {
		if end.frames == 0 {
			continue
		}
		f, err := readAt(g.log, logHeader+int64(end.frames-1)*(frameHeader+PageSize), frameHeader)
		if err != nil || frame(f).sums() != end.sums || string(frame(f).salts()) != string(end.salts[:]) {
			return false, err
		}
	}
	return true, nil
}

// readAt reads n bytes; what is behind the end of the file is 0.
func readAt(f io.ReaderAt, at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, at)
	return b, ended(err)
}
