package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A change of three files in two folders: one is edited, one comes, one is edited, one goes.
var (
	filesToday = map[string]string{"config.yaml": "today", "more/b.yaml": "b today", "more/c.yaml": "c today"}
	filesOlder = []history.ConfigFile{{Name: "config.yaml", Text: "older"}, {Name: "more/a.yaml", Text: "a older"}, {Name: "more/b.yaml", Text: "b older"}}
)

// filesIn are the files below a folder, by name.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		found[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// plannedChange is the change of today's files to older ones, in a folder, before anything is written.
func plannedChange(t *testing.T, folder string) *fileChange {
	t.Helper()
	var names []string
	for name, text := range filesToday {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		names = append(names, path)
	}
	w := &fileChange{config: filepath.Join(folder, "config.yaml")}
	if err := w.plan(filesOlder, names, time.Now()); err != nil {
		t.Fatal(err)
	}
	return w
}

// areToday holds the files against those of today, and nothing else.
func areToday(t *testing.T, folder string) {
	t.Helper()
	if diff := cmp.Diff(filesToday, filesIn(t, folder)); diff != "" {
		t.Error(diff)
	}
	for name := range filesToday {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("mode of %s: %v, %v", name, info.Mode(), err)
		}
	}
}

// Wherever a crash cuts a rollback off, the next start has the files as they were before it. Which of the files had been changed by then is any
// of the possibilities.
func TestARollbackThatACrashCutOffIsUndone(t *testing.T) {
	t.Parallel()
	for done := range 1 << 4 {
		t.Run(fmt.Sprint(done), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			w := plannedChange(t, folder)
			if err := w.write(); err != nil {
				t.Fatal(err)
			}
			if now := filesIn(t, folder); now["config.yaml"] != "older" || now["more/a.yaml"] != "a older" || now["more/b.yaml"] != "b older" || now["more/c.yaml"] != "" {
				t.Fatalf("written: %v", now)
			}
			for i := range w.files { // as if the crash had come before these
				if done>>i&1 == 0 {
					if err := w.putBack(&w.files[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 2 { // and a second start
				if err := endRollback(Options{ConfigFile: w.config, Log: zap.NewNop()}); err != nil {
					t.Fatal(err)
				}
				areToday(t, folder)
			}
		})
	}
}

// A disk that is full from any write of a rollback on, also while what was written is put back, leaves today's files and nothing beside them.
func TestADiskThatIsFullInTheMiddleOfARollback(t *testing.T) {
	t.Parallel()
	for room := range 10 {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			w := plannedChange(t, folder)
			left := room
			w.put = func(path string, text []byte) error {
				if left--; left < 0 {
					return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
				}
				return disk.WriteFile(path, text)
			}
			err := w.write()
			if room >= 7 { // three are kept, the note, three are written
				if err != nil {
					t.Errorf("with room: %v", err)
				}
				return
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("it says %v", err)
			}
			if err := w.undo(); err != nil {
				t.Errorf("not put back: %v", err)
			}
			areToday(t, folder)
		})
	}
}

// What cannot be put back is named, and so is where it lies. It is not written over by another rollback, and the next start puts it back.
func TestARollbackThatCannotBeUndoneIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	w := plannedChange(t, folder)
	if err := w.write(); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(folder, "more", "b.yaml", "in", "the", "way")
	if err := errors.Join(os.Remove(filepath.Join(folder, "more", "b.yaml")), os.MkdirAll(block, 0o700)); err != nil {
		t.Fatal(err)
	}
	left := w.undo()
	if left == nil {
		t.Fatal("a folder gave way to a file")
	}
	told := errors.AsType[*server.RollbackError]
	if err, is := told(w.notPutBack(syscall.EIO, left)); !is || !strings.Contains(err.Words, "not all files could be put back") || !strings.Contains(err.Next, ".b.yaml.until-") || !strings.Contains(err.Next, w.note()) {
		t.Errorf("it says %+v", err)
	}
	if now := filesIn(t, folder); now["config.yaml"] != "today" || now["more/c.yaml"] != "c today" {
		t.Errorf("what could be put back: %v", now)
	}
	next := fileChange{config: w.config}
	if err := next.plan(filesOlder, nil, time.Now()); err == nil || !strings.Contains(err.Error(), rollbackNote) {
		t.Errorf("another rollback: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "more", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := endRollback(Options{ConfigFile: w.config, Log: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	areToday(t, folder)
}

// A note that cannot be read keeps the daemon from starting by files of two configs.
func TestANoteOfARollbackThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, rollbackNote), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := endRollback(Options{ConfigFile: filepath.Join(folder, "config.yaml"), Log: zap.NewNop()}); err == nil {
		t.Error("it starts")
	}
}
