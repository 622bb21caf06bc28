package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/schema"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

func made(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(folder), Version: "test"}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestARestoredDatabaseIsWholeAndKnowsThatItIsOne(t *testing.T) {
	from := stocked(t, 20)
	write(t, filepath.Join(from, "nudgewire.db.forgotten-key"), strings.Repeat("ab", 32)+"\n")
	path := made(t, from)
	to := filepath.Join(t.TempDir(), "of", "another")
	r, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(to)})
	if err != nil || r.Aside != "" {
		t.Fatalf("%+v (%v)", r, err)
	}
	for _, name := range []string{"nudgewire.db", "nudgewire.db.forgotten-key", "nudgewire.db.restored", "data-requests/event-7.json"} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v (%v)", name, info, err)
		}
	}
	for round := range 2 {
		s := open(t, to)
		v, review := s.InReview()
		if !review || v.How != "it was restored from b.tar.zst" || v.ID != 1 || !v.CopiedAt.Equal(r.Manifest.At.Truncate(1000)) || v.LastEvent != 20 {
			t.Errorf("start %d: %+v", round, v)
		}
		run, err := s.Run(t.Context(), 1)
		if err != nil || run.State != "uploading" {
			t.Errorf("the run is %s (%v)", run.State, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// The data that it was made of goes on undisturbed.
	s := open(t, from)
	if _, review := s.InReview(); review {
		t.Error("the data that was backed up is in review")
	}
	// And while somebody has it, nothing is put in its place.
	var held *sqlite.LockedError
	if _, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(from), Replace: true}); !errors.As(err, &held) {
		t.Errorf("beside a daemon: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var there *ExistsError
	if _, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(from)}); !errors.As(err, &there) {
		t.Errorf("over data: %v", err)
	}
	if r, err = Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(from), Replace: true}); err != nil || r.Aside == "" {
		t.Fatalf("%+v (%v)", r, err)
	}
	for _, name := range []string{"nudgewire.db", "nudgewire.db.instance", "nudgewire.db.forgotten-key"} {
		if _, err := os.Stat(filepath.Join(r.Aside, name)); err != nil {
			t.Errorf("aside: %v", err)
		}
	}
	// Two within a second have different names, and both are told.
	second, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(from), Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	asides, err := Asides(dsnOf(from))
	if err != nil || len(asides) != 2 || asides[0].Path != r.Aside || asides[1].Path != second.Aside {
		t.Fatalf("%+v (%v)", asides, err)
	}
	for _, one := range asides {
		if one.Bytes < 100_000 || time.Since(one.At) > time.Hour {
			t.Errorf("%+v", one)
		}
	}
	if asides, err := Asides(dsnOf(filepath.Join(from, "nowhere", "n.db"))); err != nil || asides != nil {
		t.Errorf("of no folder: %v (%v)", asides, err)
	}
}

// Wherever a restoration is killed, either the data is as it was, or no daemon starts over it until the restoration was done again,
// and what was there before is still somewhere.
func TestARestorationThatIsKilled(t *testing.T) {
	path := made(t, stocked(t, 5))
	killed := errors.New("killed")
	for at := 0; ; at++ {
		to := stocked(t, 3)
		steps, name := 0, ""
		_, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(to), Replace: true, step: func(step string) error {
			if steps++; steps > at {
				name = step
				return killed
			}
			return nil
		}})
		if err == nil {
			if at < 6 {
				t.Errorf("there are %d steps only", at)
			}
			break
		}
		if !errors.Is(err, killed) {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), store.Options{DSN: dsnOf(to), Settle: settle})
		var cut *place.CutOffError
		switch {
		case name == "unpacked":
			if _, review := s.InReview(); err != nil || review {
				t.Errorf("killed before anything changed: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		case !errors.As(err, &cut) || !strings.Contains(err.Error(), "nudgewire restore "+path):
			t.Errorf("killed after %s, a start says: %v", name, err)
		}
		if _, err := Make(t.Context(), filepath.Join(t.TempDir(), "b"), Options{DSN: dsnOf(to)}); name != "unpacked" && !errors.As(err, &cut) {
			t.Errorf("killed after %s, a backup says: %v", name, err)
		}
		if _, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(to), Replace: name == "unpacked"}); err != nil {
			t.Errorf("killed after %s, once more: %v", name, err)
			continue
		}
		s = open(t, to)
		if v, review := s.InReview(); !review || v.LastEvent != 5 {
			t.Errorf("killed after %s and done again: %+v", name, v)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		aside, _ := filepath.Glob(filepath.Join(to, "nudgewire.db.before-*", "nudgewire.db"))
		if len(aside) == 0 {
			t.Errorf("killed after %s: what was there is gone", name)
		}
	}
}

// What cannot be used changes nothing.
func TestABackupThatCannotBeUsedIsNotRestored(t *testing.T) {
	to := stocked(t, 3)
	was := sum(t, filepath.Join(to, "nudgewire.db"))
	whole, err := os.ReadFile(made(t, stocked(t, 50)))
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, whole...)
	changed[len(changed)/2] ^= 1
	path := filepath.Join(t.TempDir(), "b")
	for name, text := range map[string][]byte{
		"a changed byte": changed, "cut off": whole[:len(whole)/2], "another file": []byte("phone,name\n"), "a way out": archiveOf(t, map[string]string{"data-requests/../../x": "x"}),
		"not a database": archiveOf(t, map[string]string{entryDatabase: "SQLite format 3\x00"}),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(to), Replace: true})
		var bad *FileError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
		if sum(t, filepath.Join(to, "nudgewire.db")) != was {
			t.Fatalf("%s: the data was changed", name)
		}
		left, _ := filepath.Glob(filepath.Join(to, "*.re*"))
		if len(left) != 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
	if _, err := Restore(t.Context(), path+".gone", RestoreOptions{DSN: dsnOf(to), Replace: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A backup of an older version is brought up to date by the daemon's start; one of a newer version is refused.
func TestABackupOfAnotherVersion(t *testing.T) {
	for _, by := range []int64{-1, 1} {
		from := stocked(t, 3)
		s := open(t, from)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		setSchema(t, from, schema.Version()+by)
		path := made(t, from)
		_, err := Restore(t.Context(), path, RestoreOptions{DSN: dsnOf(t.TempDir())})
		var bad *FileError
		if by > 0 && (!errors.As(err, &bad) || !strings.Contains(err.Error(), fmt.Sprintf("holds data of version %d", schema.Version()+1))) {
			t.Errorf("newer: %v", err)
		}
		if by < 0 && err != nil {
			t.Errorf("older: %v", err)
		}
	}
}
