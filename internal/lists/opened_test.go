package lists

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A list is a regular file; one that a pattern finds lies in the folder of the pattern, also behind a link. What is refused is
// refused at once, and no cell of it is told.
func TestAListIsARegularFileInItsFolder(t *testing.T) {
	folder := t.TempDir()
	lists := filepath.Join(folder, "lists")
	outside := put(t, "outside.csv", []byte("phone\n+447700900999\n"))
	for _, one := range []string{lists, filepath.Join(folder, "bad"), filepath.Join(folder, "pipes"), filepath.Join(folder, "devices")} {
		if err := os.Mkdir(one, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(lists, "a.csv"), []byte("phone\n+447700900101\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipes", "l.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"lists/inside.csv": "a.csv", "bad/link.csv": outside, "devices/zero.csv": "/dev/zero", "named.csv": outside, "environ.csv": "/proc/self/environ",
	} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]struct {
		rows int
		end  string
	}{
		"lists/*.csv":      {2, ""},
		"*/a.csv":          {1, ""},
		"l*ts/*.csv":       {2, ""},
		"bad/*.csv":        {0, "bad/link.csv: is a link that leads out of the folder of the lists"},
		"b*/*.csv":         {0, "is a link that leads out of the folder of the lists"},
		"devices/*.csv":    {0, "devices/zero.csv: is a link that leads out"},
		"devices/zero.cs*": {0, "is a link that leads out"},
		"pipes/*.csv":      {0, "pipes/l.csv: is no regular file: a list has to be a file"},
		"pipes/l.csv":      {0, "pipes/l.csv: is no regular file"},
		"environ.csv":      {0, "environ.csv: is no regular file"},
		"devices/zero.csv": {0, "devices/zero.csv: is no regular file"},
		"named.csv":        {1, ""}, // whoever wrote the config means it
	} {
		got := readBelow(t, folder, Origin{CSV: pattern})
		if len(got.Rows) != want.rows || want.end == "" && got.End != "" || !strings.Contains(got.End, want.end) {
			t.Errorf("%s: %d rows, ended with %q; want %d and %q", pattern, len(got.Rows), got.End, want.rows, want.end)
		}
	}
	if got := readBelow(t, folder, Origin{SQLite: "pipes/l.csv", Query: "select 1"}); !strings.Contains(got.End, "is no file") {
		t.Errorf("a database that is a pipe: %q", got.End)
	}
}

// readBelow is readAll for relative paths below a folder.
func readBelow(t *testing.T, folder string, o Origin) list {
	t.Helper()
	s, err := newSource(o, folder)
	if err != nil {
		return list{End: err.Error()}
	}
	return readSource(t, s)
}
