package sqlite

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// SQLite reads its log up to the first frame that is not right, and takes the rest for the end of
// a write that a crash tore. Where the fault is in the middle of the log, commits are dropped without a word: their
// webhooks were answered, and what they say was sent would be sent again. So the log is read before the
// first connection opens it.
//
// A frame's checksum goes on from the one before it, so a frame that goes on from a commit was written after that commit
// was on disk. One such frame behind the fault proves that commits are lost. Without one, the
// fault is in the last write. That may be a torn end, of which nobody was told; unless the index
// beside the log, which SQLite writes after a commit is on disk, knows of more frames than can be read.
//
// The formats are those of https://sqlite.org/fileformat2.html#walformat and https://sqlite.org/walformat.html.

const (
	logHeader     = 32
	frameHeader   = 24
	logMagic      = 0x377f0682 // its last bit says that the words of checksums are big-endian
	logVersion    = 3007000
	indexHeader   = 48
	indexMoving   = 128  // nBackfillAttempted
	PageSize      = 4096 // that layOut sets
	logReadBuffer = 1 << 20
)

// A Fault is damage of the log by which commits are lost.
type Fault struct {
	Commits int       `json:"commits"` // lost at the most
	Until   time.Time `json:"until"`   // when the log was last written
}

// inspectLog reads the log beside the database at path; nil when everything that was committed can be read. It reads
// as a stream, because a log may be larger than the memory. Nobody may have the database open.
func inspectLog(path string) (*Fault, error) {
	index, err := readIndex(path + "-shm")
	if err != nil {
		return nil, err
	}
	fault := &Fault{}
	f, err := os.Open(path + "-wal")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fault.Commits = index.missing()
	case err != nil:
		return nil, fmt.Errorf("log: %w", err)
	default:
		defer func() { _ = f.Close() }() // read only: nothing can be lost by a bad close
		info, err := f.Stat()
		if err == nil {
			fault.Until = info.ModTime().UTC()
			fault.Commits, err = readLog(bufio.NewReaderSize(f, logReadBuffer), &index)
		}
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
	}
	if fault.Commits == 0 {
		return nil, nil
	}
	return fault, nil
}

// sums are the two halves of a checksum.
type sums [2]uint32

// on goes on over data, a multiple of 8 bytes.
func (s sums) on(order binary.ByteOrder, data []byte) sums {
	if order == binary.LittleEndian { // the usual one, without the calls of an interface
		for ; len(data) >= 8; data = data[8:] {
			s[0] += binary.LittleEndian.Uint32(data) + s[1]
			s[1] += binary.LittleEndian.Uint32(data[4:]) + s[0]
		}
		return s
	}
	for ; len(data) >= 8; data = data[8:] {
		s[0] += order.Uint32(data) + s[1]
		s[1] += order.Uint32(data[4:]) + s[0]
	}
	return s
}

func sumsAt(b []byte) sums { return sums{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])} }

// A frame is the bytes of one page in the log.
type frame []byte

func (f frame) commits() bool { return binary.BigEndian.Uint32(f[4:]) != 0 }
func (f frame) salts() []byte { return f[8:16] }
func (f frame) sums() sums    { return sumsAt(f[16:]) }

// after is what the sums of f are when it goes on from before.
func (f frame) after(order binary.ByteOrder, before sums) sums {
	return before.on(order, f[:8]).on(order, f[frameHeader:])
}

// readLog says how many commits at most are in the log and cannot be read; 0 when none is known to be.
func readLog(r io.Reader, index *Index) (lost int, err error) {
	head := make([]byte, logHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return index.missing(), ended(err)
	}
	magic, size := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[8:])
	var order binary.ByteOrder = binary.LittleEndian
	if magic == logMagic|1 {
		order = binary.BigEndian
	}
	last := sums{}.on(order, head[:24])
	whole := magic&^1 == logMagic && binary.BigEndian.Uint32(head[4:]) == logVersion && last == sumsAt(head[24:])
	if size < 512 || size > 1<<16 || size&(size-1) != 0 {
		whole, size = false, PageSize
	}
	salts := bytes.Clone(head[16:24])

	f := make(frame, frameHeader+size)
	frames, readable := 0, 0 // so far, and up to the last commit that can be read
	for ; whole; frames++ {
		if _, err := io.ReadFull(r, f); err != nil {
			return index.beyond(salts, readable), ended(err)
		}
		next := f.after(order, last)
		if !bytes.Equal(f.salts(), salts) || next != f.sums() || binary.BigEndian.Uint32(f) == 0 {
			break
		}
		if last = next; f.commits() {
			readable = frames + 1
		}
	}
	orders := []binary.ByteOrder{order}
	if !whole { // then SQLite takes nothing of it; the order of the bytes may be what was damaged
		orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}
		if _, err := io.ReadFull(r, f); err != nil {
			return index.missing(), ended(err)
		}
		salts = bytes.Clone(f.salts())
	}

	// f is the first frame that is not right. What goes on from it does so from the sums that it bears, or, where these
	// are what was damaged, from those that it should.
	bad, sure := 0, false
	should := f.after(order, last)
	for {
		if bytes.Equal(f.salts(), salts) && f.commits() {
			bad++
		}
		committed, bears := f.commits(), f.sums()
		if _, err := io.ReadFull(r, f); err != nil {
			if frames := index.beyond(salts, readable); frames > 0 && bad == 0 {
				bad = frames // cut off: of how many commits, nobody can say
			} else if frames == 0 && !sure {
				bad = 0
			}
			return bad, ended(err)
		}
		if committed && bytes.Equal(f.salts(), salts) {
			for _, order := range orders {
				sure = sure || f.sums() == f.after(order, bears) || f.sums() == f.after(order, should)
			}
		}
		should = bears
	}
}

// ended is no error where the log ends, in a frame or before one.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// An Index is what the index beside the log knows: the log by its salts, how many of its frames are committed and the sums
// of the last of them, how many pages the database has with them, how many frames are in the database, too, or
// are being moved there, and a count of commits, which goes on from log to log. The zero value knows nothing.
type Index struct {
	salts                        [8]byte
	sums                         sums
	frames, pages, moved, moving int
	commits                      uint32
}

// beyond is how many frames are missing of those that were committed to the log with these salts.
func (x *Index) beyond(salts []byte, readable int) int {
	if string(x.salts[:]) != string(salts) {
		return 0
	}
	return max(0, x.frames-readable)
}

// movedSince reports whether frames may have been moved into the database since the index was last.
func (x *Index) movedSince(last *Index) bool {
	switch {
	case *last == Index{}, last.moving > last.moved:
		return true // nothing is known of it, or it was under way
	case x.salts == last.salts:
		return x.moving != last.moving || x.moved != last.moved
	default: // The log began anew, which it does once all of it was moved. So last's log, if no commit was added to it, is as it was.
		commits := x.commits - last.commits
		added := commits > 1 || commits == 1 && x.frames == 0 // one is that with which this log began
		return added || last.moved < last.frames || x.moving > 0
	}
}

// missing is how many frames are lost where there is no log at all.
func (x *Index) missing() int { return max(0, x.frames-x.moved) }

// readIndex reads the index at path, where nobody has the database open.
func readIndex(path string) (x Index, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err == nil {
		x, err = indexFrom(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return x, fmt.Errorf("index of the log: %w", err)
	}
	return x, nil
}

// indexFrom reads the header of the index, which is in the byte order of this machine and stands there twice. One that is not
// right, as after a loss of power, says nothing.
func indexFrom(f io.ReaderAt) (Index, error) {
	b, err := readAt(f, 0, 2*indexHeader+4)
	if err != nil {
		return Index{}, err
	}
	moving, err := readAt(f, indexMoving, 4) // apart: the bytes between are locks, which on Windows nobody else may read
	if err != nil {
		return Index{}, err
	}
	order := binary.NativeEndian
	check := sums{}
	for at := 0; at < 40; at += 8 {
		check[0] += order.Uint32(b[at:]) + check[1]
		check[1] += order.Uint32(b[at+4:]) + check[0]
	}
	pair := func(at int) sums { return sums{order.Uint32(b[at:]), order.Uint32(b[at+4:])} }
	if !bytes.Equal(b[:indexHeader], b[indexHeader:2*indexHeader]) || order.Uint32(b) != logVersion || check != pair(40) {
		return Index{}, nil
	}
	return Index{
		commits: order.Uint32(b[8:]), salts: [8]byte(b[32:40]), sums: pair(24), frames: int(order.Uint32(b[16:])), pages: int(order.Uint32(b[20:])),
		moved: int(order.Uint32(b[2*indexHeader:])), moving: int(order.Uint32(moving)),
	}, nil
}
