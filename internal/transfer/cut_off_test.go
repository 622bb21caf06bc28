//go:build unix

package transfer_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/transfer"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// copyingChild is set for the process that copies until it is killed: from and to, with a space between.
const copyingChild = "NUDGEWIRE_COPYING_CHILD"

// copyUntilKilled says so when it has copied a table, and does no more.
func copyUntilKilled(places string) {
	from, to, _ := strings.Cut(places, " ")
	_, err := transfer.Run(context.Background(), transfer.Options{From: from, To: to, Progress: func(doing string, _ int64) {
		if doing == "copy decisions" {
			fmt.Println("copying")
			select {}
		}
	}})
	fmt.Println("ended", err)
	os.Exit(1)
}

// A copy that ends before its end leaves the old place as it was, and a new one that no daemon begins on and no command takes for empty. The
// same command does it again.
func TestACopyThatIsCutOff(t *testing.T) {
	if places := os.Getenv(copyingChild); places != "" {
		copyUntilKilled(places)
	}
	halfway := func(do func()) func(string, int64) {
		return func(doing string, _ int64) {
			if doing == "copy decisions" {
				do()
			}
		}
	}
	ends := map[string]func(t *testing.T, w *testserver.Wire, from, to string){
		"its context ends": func(t *testing.T, _ *testserver.Wire, from, to string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := transfer.Run(ctx, transfer.Options{From: from, To: to, Progress: halfway(cancel)}); !errors.Is(err, context.Canceled) {
				t.Errorf("the copy: %v", err)
			}
		},
		"the database goes": func(t *testing.T, w *testserver.Wire, from, to string) {
			if _, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to, Progress: halfway(w.Cut)}); err == nil {
				t.Error("the copy ended without its database")
			}
		},
		"it is killed": func(t *testing.T, _ *testserver.Wire, from, to string) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestACopyThatIsCutOff$")
			cmd.Env = append(os.Environ(), copyingChild+"="+from+" "+to)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "copying" {
				t.Errorf("the child: %q", lines.Text())
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the child was not killed")
			}
		},
	}
	for name, end := range ends {
		t.Run("to PostgreSQL, "+name, func(t *testing.T) {
			w, to := wired(t)
			to += "/of this machine/that is new"
			from := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
			acceptEvents(t, from, 1, 50)
			end(t, w, from, to)
			refusesToServe(t, to)
			acceptEvents(t, from, 51, 60) // the old place goes on
			again(t, from, to)
			acceptEvents(t, to, 61, 70)
			folderOf(t, to)
		})
		t.Run("to a file, "+name, func(t *testing.T) {
			w, from := wired(t)
			to := "sqlite:" + filepath.Join(t.TempDir(), "that is new", "b.db")
			acceptEvents(t, from, 1, 50)
			end(t, w, from, to)
			refusesToServe(t, to)
			acceptEvents(t, from, 51, 60)
			again(t, from, to)
			acceptEvents(t, to, 61, 70)
			folderOf(t, to)
		})
	}
	t.Run("to PostgreSQL, and the commit does not come there", func(t *testing.T) {
		w, to := wired(t)
		from := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
		acceptEvents(t, from, 1, 50)
		lost := func() { w.Lose(testserver.NeverArrives, false) }
		if _, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to, Progress: halfway(lost)}); err == nil {
			t.Error("the copy ended without its commit")
		}
		refusesToServe(t, to)
		if _, err := store.Open(t.Context(), store.Options{DSN: from, Settle: always}); !errors.As(err, new(*place.MovedError)) {
			t.Errorf("the old file: %v", err)
		}
		again(t, from, to)
		acceptEvents(t, to, 51, 60)
	})
	t.Run("to PostgreSQL, and the answer to the commit gets lost", func(t *testing.T) {
		w, to := wired(t)
		from := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
		acceptEvents(t, from, 1, 50)
		lost := func() { w.Lose(testserver.AnswerLost, false) }
		if _, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to, Progress: halfway(lost)}); err == nil {
			t.Error("the copy ended without an answer")
		}
		if _, err := whenFree(t, from, to); !errors.As(err, new(*place.MovedError)) {
			t.Errorf("the command once more: %v", err)
		}
		acceptEvents(t, to, 51, 60)
	})
}

// acceptEvents opens the data, stores events by number, and finds all that came before them.
func acceptEvents(t *testing.T, dsn string, from, to int64) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Settle: always})
	for end := time.Now().Add(time.Minute); errors.As(err, new(*place.TransferError)) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s, err = store.Open(t.Context(), store.Options{DSN: dsn, Settle: always}) // the server has not seen yet that the copy is gone
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= to; n++ {
		got, err := s.Accept(t.Context(), []messaging.Plan{plan(n)})
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Duplicate != (n < from) {
			t.Errorf("event %d: %+v", n, got[0])
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// refusesToServe opens a place where a copy did not end, as a daemon and as a command do.
func refusesToServe(t *testing.T, dsn string) {
	t.Helper()
	for _, readOnly := range []bool{false, true} {
		var err error
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			var s *store.Store
			if s, err = store.Open(t.Context(), store.Options{DSN: dsn, Settle: always, ReadOnly: readOnly}); err == nil {
				_ = s.Close()
			}
			if !errors.As(err, new(*place.TransferError)) { // the server has not seen yet that the other side is gone
				break
			}
		}
		if !errors.As(err, new(*place.UnfinishedError)) || !strings.Contains(err.Error(), "give the same command again") {
			t.Errorf("the new place, only read %v: %v", readOnly, err)
		}
	}
}

// whenFree gives the command again, until the server has seen that whoever gave it before is gone.
func whenFree(t *testing.T, from, to string) (done transfer.Result, err error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		done, err = transfer.Run(t.Context(), transfer.Options{From: from, To: to})
		if bad, held := errors.AsType[*place.TransferError](err); !held || bad.Words != "a nudgewire uses this database" {
			break
		}
	}
	return done, err
}

func again(t *testing.T, from, to string) {
	t.Helper()
	if done, err := whenFree(t, from, to); err != nil || done.Rows() < 100 {
		t.Fatalf("the command once more: %d rows, %v", done.Rows(), err)
	}
}

// folderOf wants the new folder to be open to its owner alone.
func folderOf(t *testing.T, dsn string) {
	t.Helper()
	if info, err := os.Stat(filepath.Dir(engine.Path(dsn))); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new folder: %v, %v", info, err)
	}
}
