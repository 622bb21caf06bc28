package scheduler

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/store"
)

// oldFolders is a Store whose folders were all left at one time.
type oldFolders struct {
	others
	left    time.Time
	folders []string
	asked   int
	removed []string
	at      time.Time
	fails   error
}

func (o *oldFolders) OldFolders(_ context.Context, before time.Time) ([]string, error) {
	o.asked++
	if !o.left.Before(before) {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(o.folders), func(f string) bool { return slices.Contains(o.removed, f) }), nil
}

func (o *oldFolders) FolderRemoved(_ context.Context, folder string, at time.Time) error {
	if o.fails != nil {
		return o.fails
	}
	o.removed, o.at = append(o.removed, folder), at
	return nil
}

func (o *oldFolders) EndCancelled(context.Context) (int64, bool, error) { return 0, false, nil }

func TestOldFoldersAreRemoved(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "runs"), filepath.Join(base, "elsewhere")
	first, second := filepath.Join(root, "winback", "1-x"), filepath.Join(root, "winback", "2-x")
	young := filepath.Join(root, "winback", "3-x")
	gone := filepath.Join(root, "birthday", "4-x")
	for _, folder := range []string{first, second, young, outside} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "part-0001.csv"), []byte("phone\n447700900101\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	keep := 30 * 24 * time.Hour
	runs := &oldFolders{left: began, folders: []string{first, outside, gone, filepath.Join(base, "moved", "5-x")}}
	s := New(Options{Store: runs, Keep: func() time.Duration { return keep }, Files: files.InFolder(root), Owner: "me"})
	tick := func(now time.Time) {
		t.Helper()
		if _, err := s.Tick(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	there := func(folder string) bool {
		_, err := os.Stat(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}

	tick(began.Add(keep))
	if !there(first) || runs.asked != 1 {
		t.Fatalf("after just %s the folder is there: %v; the store was asked %d times", keep, there(first), runs.asked)
	}
	tick(began.Add(keep + 59*time.Minute))
	if runs.asked != 1 {
		t.Errorf("the store was asked %d times within the hour", runs.asked)
	}
	now := began.Add(keep + time.Hour)
	runs.fails = errors.New("the disk is full")
	if _, err := s.Tick(t.Context(), now); !errors.Is(err, runs.fails) || there(first) {
		t.Fatalf("a note that cannot be made: %v; the folder is there: %v", err, there(first))
	}
	runs.fails = nil
	now = now.Add(time.Hour)
	tick(now)
	want := []string{first, gone, filepath.Join(base, "moved", "5-x")}
	if !slices.Equal(runs.removed, want) || !runs.at.Equal(now) {
		t.Errorf("removed %v at %s, want %v", runs.removed, runs.at, want)
	}
	if !there(outside) || !there(second) || !there(young) {
		t.Errorf("what was not named: outside %v, others %v %v", there(outside), there(second), there(young))
	}

	// Another life: the shorter time of a reload holds at once, and an empty job folder goes.
	runs.folders = append(runs.folders, second, young)
	keep = time.Hour
	tick(now.Add(time.Hour))
	if there(filepath.Join(root, "winback")) || !there(root) {
		t.Errorf("the job's folder is there: %v, the root: %v", there(filepath.Join(root, "winback")), there(root))
	}
}

// What lies in the database goes by the same rule.
func TestOldFilesAreRemovedFromTheDatabase(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	in := files.InDatabase(st)
	old, young := files.Join(in.Root(), "winback/1-x"), files.Join(in.Root(), "winback/2-x")
	for _, folder := range []string{old, young} {
		putText(t, in, files.Join(folder, "part-0001.csv"), strings.Repeat("447700900101\n", 300_000))
	}
	began := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	runs := &oldFolders{left: began, folders: []string{old}}
	s := New(Options{Store: runs, Keep: func() time.Duration { return time.Hour }, Files: in, Owner: "me"})
	if _, err := s.Tick(t.Context(), began.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if a, b := namesIn(t, in, old), namesIn(t, in, young); len(a) != 0 || len(b) != 1 || !slices.Equal(runs.removed, []string{old}) {
		t.Errorf("left %q and %q, noted %q", a, b, runs.removed)
	}
}

func TestALinkDoesNotLeadOutOfTheRunsFolder(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "runs"), filepath.Join(base, "precious", "1-x")
	for _, folder := range []string{root, outside} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(root, "winback")); err != nil {
		t.Fatal(err)
	}
	if err := files.InFolder(root).RemoveFolder(t.Context(), filepath.Join(root, "winback", "1-x")); err == nil {
		t.Error("a folder behind a link was removed")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
