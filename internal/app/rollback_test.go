package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/store"
)

// Wherever a crash cuts a rollback off, the next start has the files as they were before it. Which of the files had been changed by then is any
// of the possibilities.
func TestARollbackThatACrashCutOffIsUndone(t *testing.T) {
	t.Parallel()
	today := map[string]string{"config.yaml": "today", "more/b.yaml": "b today", "more/c.yaml": "c today"}
	older := []store.ConfigFile{{Name: "config.yaml", Text: "older"}, {Name: "more/a.yaml", Text: "a older"}, {Name: "more/b.yaml", Text: "b older"}}
	for done := range 1 << 4 {
		t.Run(fmt.Sprint(done), func(t *testing.T) {
			folder := t.TempDir()
			read := func() map[string]string {
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
			var names []string
			for name, text := range today {
				path := filepath.Join(folder, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
					t.Fatal(err)
				}
				names = append(names, path)
			}
			w := fileChange{config: filepath.Join(folder, "config.yaml")}
			if err := w.plan(older, names, time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := w.write(); err != nil {
				t.Fatal(err)
			}
			if now := read(); now["config.yaml"] != "older" || now["more/a.yaml"] != "a older" || now["more/b.yaml"] != "b older" || now["more/c.yaml"] != "" {
				t.Fatalf("written: %v", now)
			}
			for i := range w.files { // as if the crash had come before these
				if done>>i&1 == 0 {
					if err := w.files[i].putBack(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := endRollback(Options{ConfigFile: w.config, Log: zap.NewNop()}); err != nil {
				t.Fatal(err)
			}
			now := read()
			for name, text := range today {
				if now[name] != text {
					t.Errorf("%s is %q", name, now[name])
				}
			}
			if len(now) != len(today) {
				t.Errorf("files %v", now)
			}
			if info, err := os.Stat(w.config); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if err := endRollback(Options{ConfigFile: w.config, Log: zap.NewNop()}); err != nil || len(read()) != len(today) {
				t.Errorf("a second start: %v, %v", err, read())
			}
		})
	}
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
