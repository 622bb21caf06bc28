package backup

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A backup never takes the place of the data that it is of, nor goes where the next one would take it in.
func TestABackupIsNotWrittenOverItsData(t *testing.T) {
	data := stocked(t, 3)
	home := data // a folder
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(home, other); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{
		"nudgewire.db", "nudgewire.db-wal", "nudgewire.db.instance", "nudgewire.db.forgotten-key", "nudgewire.db.backup", "nudgewire.db.lock",
		entryRequests + "/one.tar.zst",
	} {
		for _, folder := range []string{home, other} {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			_, err := Make(t.Context(), path, Options{DSN: dsnOf(data), Replace: true})
			if there, ok := errors.AsType[*ExistsError](err); !ok || there.Hint() == "" {
				t.Errorf("%s: %v", path, err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("%s was changed", path)
			}
		}
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Make(t.Context(), socket, Options{DSN: dsnOf(data), Replace: true}); err == nil || !strings.Contains(err.(*ExistsError).Hint(), "no ordinary file") { //nolint:errorlint // of Make itself
		t.Errorf("a device or a socket: %v", err)
	}
	for _, name := range []string{"nudgewire.db.tar.zst", "one.tar.zst"} {
		if _, err := Make(t.Context(), filepath.Join(home, name), Options{DSN: dsnOf(data)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
