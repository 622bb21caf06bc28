package lists

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestAFolderThatCannotBeReadIsNoEmptyOne(t *testing.T) {
	disk := fstest.MapFS{"lists/may/a.csv": {}, "lists/may/b.txt": {}, "lists/june/c.csv": {}, "lists/note": {}, "lists/[x]/d.csv": {}}
	closed := ""
	find := func(pattern string) ([]string, error) {
		return expand(pattern, disk.Stat, func(folder string) ([]string, error) {
			if folder == closed {
				return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrPermission}
			}
			if folder == "lists/note" {
				return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrNotExist}
			}
			return namesOf(disk.ReadDir(folder))
		})
	}
	for pattern, want := range map[string][]string{
		"lists/*/*.csv":     {"lists/[x]/d.csv", "lists/june/c.csv", "lists/may/a.csv"},
		"lists/m*/?.csv":    {"lists/may/a.csv"},
		`lists/\[x\]/*.csv`: {"lists/[x]/d.csv"},
		"lists/may/a.csv":   {"lists/may/a.csv"},
		"lists/may/z.csv":   nil,
		"nowhere/*.csv":     nil,
		"*":                 {"lists"},
	} {
		if got, err := find(pattern); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}
	closed = "lists/may"
	if got, err := find("lists/*/*.csv"); err == nil || err.Error() != "look for lists/*/*.csv: open lists/may: permission denied" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := find("lists/[.csv"); err == nil {
		t.Error("a broken pattern is taken")
	}
}

func TestAFolderThatMayNotBeReadEndsTheRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "l.csv"), []byte("phone\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A link to itself is a folder that nobody can read, root neither.
	if err := os.Symlink("b", filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, Origin{CSV: filepath.Join(dir, "*", "*.csv")}); got.End == "" {
		t.Errorf("%+v", got)
	}
}
