// Package filestest is the suite that every place for the files of runs must pass, and a storage that speaks S3 for tests.
package filestest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nudgewire/nudgewire/internal/files"
)

// Run runs the suite. fresh makes an empty place and gives what opens it, as each of several processes would.
func Run(t *testing.T, fresh func(t *testing.T) (open func() files.Store)) {
	for name, test := range map[string]func(*testing.T, func() files.Store){
		"a file is there whole or not at all":                whole,
		"a file that is given up leaves nothing":             givenUp,
		"files of every size come back as they were":         sizes,
		"a reader that has begun is not given the next file": replaced,
		"listing and removing":                               listing,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

func whole(t *testing.T, open func() files.Store) {
	s := open()
	folder := files.Join(s.Root(), "winback/1-x")
	path := files.Join(folder, "part-0001.csv")
	if in, name := files.Split(path); in != folder || name != "part-0001.csv" {
		t.Errorf("split: %q %q", in, name)
	}
	missing(t, s, path)
	Write(t, s, path, "before")
	w, err := s.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("phone\n"), 1<<20)); err != nil { // more than a piece, and than a slice
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	other := open() // the writer may as well be dead by now
	if got := Read(t, other, path); got != "before" {
		t.Errorf("while it is written it is %d bytes", len(got))
	}
	left := names(t, other, folder)
	if len(left) != 2 || !files.Unfinished(left[1]) || files.Unfinished(left[0]) {
		t.Fatalf("listed: %q", left)
	}
	if err := other.Remove(t.Context(), files.Join(folder, "part-0001.csv.new")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, other, folder); !slices.Equal(got, []string{"winback/1-x/part-0001.csv"}) {
		t.Errorf("after what was left was removed: %q", got)
	}
	_ = w.Abandon() // it may say that it is gone
	Write(t, other, path, "after")
	if got := Read(t, s, path); got != "after" {
		t.Errorf("in the place of it: %q", got)
	}
}

func givenUp(t *testing.T, open func() files.Store) {
	s := open()
	path := files.Join(s.Root(), "winback/1-x/excluded.csv")
	w, err := s.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 6<<20)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Abandon(), w.Abandon()); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err == nil {
		t.Error("what was given up can be committed")
	}
	missing(t, s, path)
	if got := names(t, s, ""); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func sizes(t *testing.T, open func() files.Store) {
	s := open()
	for _, size := range []int{1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 5 << 20, 9_900_000} {
		text := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(text)
		path := files.Join(s.Root(), fmt.Sprintf("winback/1-x/%d.csv", size))
		w, err := s.Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for some := range slices.Chunk(text, 1<<16-7) {
			if n, err := w.Write(some); err != nil || n != len(some) {
				t.Fatal(n, err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				if got := Read(t, open(), path); got != string(text) {
					t.Errorf("%d bytes came back as %d others", size, len(got))
				}
			})
		}
		readers.Wait()
	}
}

func replaced(t *testing.T, open func() files.Store) {
	s := open()
	path := files.Join(s.Root(), "winback/1-x/part-0001.csv")
	first, second := strings.Repeat("1", 6<<20), strings.Repeat("2", 6<<20)
	Write(t, s, path, first)
	r, err := s.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 100)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	Write(t, s, path, second)
	rest, err := io.ReadAll(r) // all of the first, or an error
	if strings.Contains(string(rest), "2") || err == nil && len(rest) != len(first)-100 {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if Read(t, s, path) != second {
		t.Error("the second is not there")
	}
}

func listing(t *testing.T, open func() files.Store) {
	s := open()
	ctx := t.Context()
	if err := files.Try(ctx, s); err != nil || len(names(t, s, "")) != 0 {
		t.Errorf("tried: %v, left %q", err, names(t, s, ""))
	}
	all := []string{"birthday/1-x/part-0001.csv", "winback/1-x/excluded.csv", "winback/1-x/part-0001.csv", "winback/12-x/part-0001.csv"}
	for _, name := range all {
		Write(t, s, files.Join(s.Root(), name), name)
	}
	if got := names(t, s, ""); !slices.Equal(got, all) {
		t.Errorf("all: %q", got)
	}
	one := files.Join(s.Root(), "winback/1-x")
	if got := names(t, s, one); !slices.Equal(got, all[1:3]) {
		t.Errorf("of a folder: %q", got)
	}
	if got := names(t, s, files.Join(s.Root(), "nobody/1-x")); len(got) != 0 {
		t.Errorf("of one that is not there: %q", got)
	}
	if err := s.Remove(ctx, files.Join(one, "excluded.csv"), files.Join(one, "nothing.csv")); err != nil {
		t.Fatal(err)
	}
	missing(t, s, files.Join(one, "excluded.csv"))
	w, err := s.Create(ctx, files.Join(one, "rows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 6<<20)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.RemoveFolder(ctx, one), s.RemoveFolder(ctx, one)); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, ""); !slices.Equal(got, []string{all[0], all[3]}) {
		t.Errorf("after a folder was removed: %q", got)
	}
	if err := w.Commit(); err == nil { // somebody else has the run by now
		t.Error("a file of a folder that was removed was committed")
	}
}

// Write keeps a file.
func Write(t *testing.T, s files.Store, path, text string) {
	t.Helper()
	w, err := s.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Commit(), w.Abandon()); err != nil { // the latter has nothing to do any more
		t.Fatal(err)
	}
}

// Read is all of a file.
func Read(t *testing.T, s files.Store, path string) string {
	t.Helper()
	r, err := s.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func missing(t *testing.T, s files.Store, path string) {
	t.Helper()
	if r, err := s.Open(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			_ = r.Close()
		}
		t.Errorf("%s can be opened: %v", path, err)
	}
}

// names are those that List gives, below the root.
func names(t *testing.T, s files.Store, folder string) []string {
	t.Helper()
	paths, err := s.List(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, s.Root())), "/")
	}
	slices.Sort(paths)
	return paths
}
