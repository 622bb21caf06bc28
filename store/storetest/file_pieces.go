package storetest

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
)

// Files of runs in the database: package files has the tests of what they are for.
func (s suite) filePieces(t *testing.T) {
	l := s.open(t)
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	gone := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	names := func(folder string) (all []string) {
		t.Helper()
		ok("list", l.FilesIn(l.ctx, folder, func(folder, name string) { all = append(all, folder+" "+name) }))
		return all
	}
	first, second := bytes.Repeat([]byte{1}, 256<<10), []byte{0, 2, 255}
	ok("begin", l.BeginFile(l.ctx, 7, "runs/1", "part.csv.new"))
	ok("grow", l.GrowFile(l.ctx, 7, 0, first))
	ok("grow", l.GrowFile(l.ctx, 7, 1, second))
	_, _, err := l.File(l.ctx, "runs/1", "part.csv")
	gone("before it has its name", err)
	ok("name", l.NameFile(l.ctx, 7, "part.csv"))
	id, size, err := l.File(l.ctx, "runs/1", "part.csv")
	ok("find", err)
	same(t, "id and size", []int64{7, 256<<10 + 3}, []int64{id, size})
	for n, want := range [][]byte{first, second} {
		piece, err := l.FilePiece(l.ctx, 7, int64(n))
		ok("read", err)
		if !bytes.Equal(piece, want) {
			t.Errorf("piece %d came back as %d bytes", n, len(piece))
		}
	}
	_, err = l.FilePiece(l.ctx, 7, 2)
	gone("a third piece", err)

	// Another file takes its name, and one that is begun twice belongs to who came last.
	ok("begin", l.BeginFile(l.ctx, 8, "runs/1", "part.csv.new"))
	ok("begin", l.BeginFile(l.ctx, 9, "runs/1", "part.csv.new"))
	gone("the first of two writers", l.GrowFile(l.ctx, 8, 0, second))
	gone("its name", l.NameFile(l.ctx, 8, "part.csv"))
	ok("grow", l.GrowFile(l.ctx, 9, 0, second))
	ok("name", l.NameFile(l.ctx, 9, "part.csv"))
	if id, size, err = l.File(l.ctx, "runs/1", "part.csv"); id != 9 || size != 3 || err != nil {
		t.Errorf("%d with %d bytes, %v", id, size, err)
	}
	_, err = l.FilePiece(l.ctx, 7, 0)
	gone("a piece of the one before", err)

	ok("begin", l.BeginFile(l.ctx, 10, "runs/10", "part.csv"))
	ok("grow", l.GrowFile(l.ctx, 10, 0, second))
	same(t, "of a folder", []string{"runs/1 part.csv"}, names("runs/1"))
	same(t, "of all", []string{"runs/1 part.csv", "runs/10 part.csv"}, names(""))
	for n := range 20 { // more than go in a commit
		ok("grow", l.GrowFile(l.ctx, 9, int64(n)+1, second))
	}
	ok("remove", l.RemoveFile(l.ctx, "runs/1", "part.csv"))
	ok("remove what is gone", l.RemoveFile(l.ctx, "runs/1", "part.csv"))
	gone("to one that was removed", l.GrowFile(l.ctx, 9, 30, second))
	for _, n := range []int64{0, 20} {
		_, err = l.FilePiece(l.ctx, 9, n)
		gone("a piece of it", err)
	}
	ok("remove a folder", l.RemoveFiles(l.ctx, "runs/10"))
	same(t, "in the end", []string(nil), names(""))
}
