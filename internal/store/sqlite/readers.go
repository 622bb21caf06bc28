package sqlite

import "encoding/binary"

// Where the index has the marks of readers, and the locks that say that somebody reads by them: of the file format of the index,
// https://sqlite.org/walformat.html#walidxfmt.
const (
	readMarks = 100
	readLocks = 123
	marksMost = 5
)

// Reader is the process that reads what keeps the log from being moved: 0 for none but this one, -1 where the system does not say which.
func (g *Guard) Reader(x *Index) (pid int, known bool, err error) {
	marks, err := readAt(g.index, readMarks, 4*marksMost)
	if err != nil {
		return 0, false, err
	}
	for i := range marksMost {
		mark := binary.NativeEndian.Uint32(marks[4*i:])
		if i > 0 && int(mark) != x.moved { // by the first one reads who needs nothing of the log
			continue
		}
		if pid, known, err = lockHolder(g.index, readLocks+int64(i)); err != nil || pid != 0 {
			return pid, known, err
		}
	}
	return 0, known, nil
}

// Index is what the index of the log says now.
func (g *Guard) Index() (Index, error) { return indexFrom(g.index) }

// GoesOn reports whether nothing waits to be moved, or something was since the index was last.
func (x *Index) GoesOn(last *Index) bool {
	return x.moved == x.frames || x.salts != last.salts || x.moved != last.moved
}

// Kept is how many bytes of the log wait to be moved.
func (x *Index) Kept() int64 { return int64(x.frames-x.moved) * (frameHeader + PageSize) }
