package store

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Whatever is done to the files under the daemon, by which nothing that SQLite has in memory changes: nothing is taken and
// nothing is claimed from then on, and the end of the daemon leaves the files as they are.
func TestNothingIsTakenFromDamagedData(t *testing.T) {
	over := func(path string, text []byte) error { // as cp does
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err == nil {
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		return err
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for how, do := range map[string]func(path string) error{
		"cut to nothing": func(path string) error { return os.Truncate(path, 0) },
		"cut in half":    func(path string) error { return os.Truncate(path, size(path)/2) },
		"zeros":          func(path string) error { return over(path, make([]byte, size(path))) },
		"noise": func(path string) error {
			text := make([]byte, size(path))
			_, _ = rand.Read(text) // it never fails
			return over(path, text)
		},
	} {
		for _, side := range []string{"", "-wal"} {
			for _, moved := range []bool{false, true} {
				if moved && side != "" {
					continue // SQLite needs nothing of such a log
				}
				t.Run(fmt.Sprintf("nudgewire.db%s %s, all moved: %v", side, how, moved), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "nudgewire.db")
					s := openAt(t, path)
					for i := range 20 {
						if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))}); err != nil {
							t.Fatal(err)
						}
					}
					if moved {
						besides(t, path, passive)
						if err := s.Present(); err != nil {
							t.Fatal(err)
						}
					}
					if err := do(path + side); err != nil {
						t.Fatal(err)
					}
					mustBeClosed(t, s, path+side)
					was, err := os.ReadFile(path + side)
					if err == nil {
						err = s.Close()
					}
					if now, again := os.ReadFile(path + side); err != nil || again != nil || !bytes.Equal(was, now) {
						t.Errorf("the end changed the file (%v, %v)", err, again)
					}
				})
			}
		}
	}
}

// mustBeClosed takes it that the file at path is damaged.
func mustBeClosed(t *testing.T, s *Store, path string) {
	t.Helper()
	check := func(what string, err error) {
		t.Helper()
		if d, ok := errors.AsType[*sqlite.DamagedError](err); !ok || d.Path != path || s.Hint(err) != sqlite.DamagedHint {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.Accept(t.Context(), []messaging.Plan{testPlan("while")})
	check("an event", err)
	check("ping", s.Ping(t.Context()))
	check("present", s.Present())
	got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: time.Now(), Lease: time.Minute, Authentication: 9, Utility: 9, Marketing: 9})
	check("claim", err)
	if len(got) != 0 {
		t.Errorf("%d claimed", len(got))
	}
	check("a person's halt", s.Hold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}))
}

// Writes go on behind a log that was cut off in the middle, and the file is as long as before: what ended the commit before is not there
// any more.
func TestALogThatWasCutOffBetweenTwoLooksIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	e := s.writer.engine.(*engine.SQLite)
	for i := range 20 {
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(path+"-wal", 100*FrameSize); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Run("BEGIN IMMEDIATE"), e.Run("UPDATE counts SET value = value + 1"), e.Run("COMMIT")); err != nil {
		t.Fatal(err)
	}
	mustBeClosed(t, s, path+"-wal")
}

// What SQLite calls malformed in any statement, of the writer or of a reader, closes the door.
func TestWhatSQLiteCallsMalformedClosesTheDoor(t *testing.T) {
	for name, meet := range map[string]func(s *Store) error{
		"a reader's query": func(s *Store) error {
			return s.Rows(t.Context(), `SELECT id FROM events`, nil, func(*engine.Row) error { return nil })
		},
		"a reader's row": func(s *Store) error { _, err := s.WaitingFor(t.Context(), ""); return err },
		"the writer": func(s *Store) error {
			_, err := s.Accept(t.Context(), []messaging.Plan{testPlan("2"), testPlan("3")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "nudgewire.db")
			s := openAt(t, path)
			if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan("1")}); err != nil {
				t.Fatal(err)
			}
			besides(t, path, "PRAGMA writable_schema = 1", "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 99999, 'CREATE TABLE y')", "PRAGMA schema_version = 4711")
			if err := meet(s); !sqlite.Damaged(err) {
				t.Fatalf("it is met as %v", err)
			}
			mustBeClosed(t, s, path)
		})
	}
}

// Other programs may read the data beside the daemon, move the log and end, before and after a backup: nothing is damaged by that.
func TestOtherProgramsBesideTheDaemonDoNoHarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	n := 0
	goesOn := func(after string) {
		t.Helper()
		for range 30 {
			n++
			if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(n))}); err != nil {
				t.Fatalf("after %s: %v", after, err)
			}
		}
	}
	const count = "SELECT count(*) FROM events"
	for _, statements := range [][]string{{count}, {passive}, {"PRAGMA wal_checkpoint(RESTART)"}, {"PRAGMA wal_checkpoint(TRUNCATE)"}, {"PRAGMA busy_timeout = 60000", "VACUUM"}} {
		goesOn("a start")
		besides(t, path, statements...)
		goesOn(statements[len(statements)-1])
		if err := CopyTo(t.Context(), "sqlite:"+path, filepath.Join(t.TempDir(), "copy.db")); err != nil {
			t.Fatal(err)
		}
		besides(t, path, count)
		goesOn("a backup and another reader")
	}
	if err := errors.Join(s.Check(t.Context()), s.Ping(t.Context())); err != nil {
		t.Error(err)
	}
}

// Whatever this process itself does with the log between two looks, in whatever order, is no damage: a commit, a checkpoint that the
// log goes on behind, and one that begins it anew, as forgetting makes them on a connection of its own while others ask whether the data is well.
func TestNoOrderOfCommitsAndCheckpointsIsDamage(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	db := sql.OpenDB(&s.file.more)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	exec := func(statement string) func() error {
		return func() error { _, err := db.ExecContext(t.Context(), statement); return err }
	}
	n := 0
	steps := []struct {
		name string
		do   func() error
	}{
		{"an event", func() error { // its commit looks
			n++
			_, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(n))})
			return err
		}},
		{"a commit beside", exec("UPDATE counts SET value = value + 1")},
		{"a checkpoint", exec(passive)},
		{"the log is emptied", exec("PRAGMA wal_checkpoint(TRUNCATE)")},
		{"a look", s.Present},
	}
	const long = 5
	count := 1
	for range long {
		count *= len(steps)
	}
	for order := range count {
		names := make([]string, 0, long)
		for rest := order; len(names) < long; rest /= len(steps) {
			step := steps[rest%len(steps)]
			names = append(names, step.name)
			if err := step.do(); err != nil {
				t.Fatalf("after %v: %v", names, err)
			}
		}
		if err := s.Present(); err != nil {
			t.Fatalf("after %v: %v", names, err)
		}
	}
}

// besides runs statements on the database at path in a process of its own, as a person's sqlite3 does.
func besides(t *testing.T, path string, statements ...string) {
	t.Helper()
	if out, err := another(path, statements...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func another(path string, statements ...string) *exec.Cmd {
	return exec.Command(os.Args[0], append([]string{"-test.run=^TestAsAnotherProgram$", "--", path}, statements...)...)
}

// untilTold has the other program say that it came so far, and wait until it is told to go on.
const untilTold = "until told"

// TestAsAnotherProgram is the other program; without arguments it does nothing.
func TestAsAnotherProgram(t *testing.T) {
	i := 0
	for i < len(os.Args) && os.Args[i] != "--" {
		i++
	}
	if i+1 >= len(os.Args) {
		return
	}
	db, err := engine.OpenFile(os.Args[i+1])
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range os.Args[i+2:] {
		if statement == untilTold {
			fmt.Println(statement)
			_, _ = io.Copy(io.Discard, os.Stdin)
			continue
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// An empty file with a log, or where data was, is no place to begin anew: SQLite would remove the log, and with it what was answered.
func TestAFileThatWasEmptiedIsNotBegunAnew(t *testing.T) {
	for name, remove := range map[string][]string{"with its log": nil, "without": {"-wal", "-shm"}} {
		t.Run(name, func(t *testing.T) {
			path := crashed(t, 5)
			for _, side := range remove {
				if err := os.Remove(path + side); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			_, starts := Open(t.Context(), Options{DSN: "sqlite:" + path})
			_, reads := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
			copies := CopyTo(t.Context(), "sqlite:"+path, filepath.Join(t.TempDir(), "copy.db"))
			for what, err := range map[string]error{"start": starts, "read": reads, "copy": copies} {
				if !errors.Is(err, place.ErrEmptied) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if _, err := os.Stat(path + "-wal"); (err == nil) != (remove == nil) {
				t.Errorf("the log: %v", err)
			}
		})
	}
}

// passive moves what the log holds into the database, as far as that waits for nobody.
const passive = "PRAGMA wal_checkpoint(PASSIVE)"
