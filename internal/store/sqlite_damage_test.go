package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// crashed copies the files of a store that is open, as a kill leaves them: some commits in the log, each of a few frames.
func crashed(t *testing.T, commits int) (path string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, from)
	// Nothing is moved into the database: the log holds everything.
	KeepLog(s)
	for i := range commits {
		p := testPlan(fmt.Sprint(i))
		p.Event.ReceivedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
		p.Event.Payload = []byte(strings.Repeat(fmt.Sprint(i, " "), 3000))
		if _, err := s.Accept(t.Context(), []messaging.Plan{p}); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "nudgewire.db")
	for _, side := range []string{"", "-wal", "-shm"} {
		text, err := os.ReadFile(from + side)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+side, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Its own, or it would be a copy, which is reviewed first.
	text, err := os.ReadFile(place.InstanceFile(from))
	if err == nil {
		err = os.WriteFile(place.InstanceFile(path), text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// damage flips a byte of a file.
func damage(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 16
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func middle(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() / 2
}

// After commits were lost nothing is sent, over restarts and over the end of the damaged log, until a person says that
// the loss was reviewed. Webhooks are taken.
func TestNothingIsSentAfterCommitsWereLost(t *testing.T) {
	path := crashed(t, 20)
	damage(t, path+"-wal", middle(t, path+"-wal"))

	// Whoever reads first, before the daemon starts, ends nobody's evidence and is told.
	for range 2 {
		r, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if halts, err := r.Holds(t.Context()); err != nil || len(halts) != 1 || halts[0].Kind != messaging.HoldDamage {
			t.Errorf("a reader sees %+v (%v)", halts, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}

	claim := func(s *Store) int {
		t.Helper()
		got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: time.Now(), Lease: time.Minute, Authentication: 100, Utility: 100, Marketing: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	open := func() *Store {
		t.Helper()
		s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Settle: planAll})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for round := range 3 {
		s := open()
		h, damaged := s.Damaged()
		if !damaged || !strings.Contains(h.Reason, "the log of the database was damaged: up to 1") || !strings.Contains(h.Reason, "after 2026-03-01 12:00:") {
			t.Errorf("start %d: %+v", round, h)
		}
		p := testPlan("new " + string(rune('a'+round)))
		p.Proposals[0].Message.Category = messaging.Authentication // codes wait, too
		if _, err := s.Accept(t.Context(), []messaging.Plan{p}); err != nil {
			t.Errorf("start %d: an event is refused: %v", round, err)
		}
		if n := claim(s); n != 0 {
			t.Errorf("start %d: %d claimed", round, n)
		}
		if _, halted, err := s.RunHeld(t.Context(), &messaging.Run{Job: "any"}); err != nil || !halted {
			t.Errorf("start %d: uploads go on (%v)", round, err)
		}
		if err := s.Hold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}); err != nil {
			t.Error(err)
		}
		if err := s.EndHold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}); err != nil {
			t.Error(err)
		}
		if n := claim(s); n != 0 {
			t.Errorf("start %d: resume let %d go", round, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(sqlite.FaultFile(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file of the fault is still there (%v)", err)
		}
	}
	s := open()
	if err := s.Hold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage}); err == nil {
		t.Error("somebody can halt for damage")
	}
	if err := s.EndHold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage}); err != nil {
		t.Fatal(err)
	}
	if n := claim(s); n < 3 {
		t.Errorf("reviewed, and %d claimed", n)
	}
	if err := s.EndHold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage}); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("reviewed twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, damaged := openAt(t, path).Damaged(); damaged {
		t.Error("the review did not last")
	}
}

// What is known of the damage is on disk before the first connection opens the log: a start that is killed right after
// has told the next one.
func TestTheFaultIsWrittenDownBeforeTheLogIsOpened(t *testing.T) {
	path := crashed(t, 20)
	damage(t, path+"-wal", middle(t, path+"-wal"))
	if fault, err := sqlite.FindFault(path, func() (bool, error) { return true, nil }); err != nil || fault == nil {
		t.Fatalf("%+v, %v", fault, err)
	}
	for _, side := range []string{"-wal", "-shm"} { // as the close of a last connection leaves it
		if err := os.Remove(path + side); err != nil {
			t.Fatal(err)
		}
	}
	if _, damaged := openAt(t, path).Damaged(); !damaged {
		t.Error("nobody knows of the damage any more")
	}
}

func TestAKillAloneRaisesNoAlarm(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"killed":   func(string) error { return nil },
		"no index": func(path string) error { return os.Remove(path + "-shm") },
		"garbage as index": func(path string) error {
			return os.WriteFile(path+"-shm", []byte(strings.Repeat("garbage ", 4096)), 0o600)
		},
		"an index of zeros": func(path string) error { return os.WriteFile(path+"-shm", make([]byte, 32<<10), 0o600) },
		"power lost, torn": func(path string) error {
			return errors.Join(os.Remove(path+"-shm"), os.Truncate(path+"-wal", 1<<16+100))
		},
		"an empty log":      func(path string) error { return errors.Join(os.Remove(path+"-shm"), os.Truncate(path+"-wal", 0)) },
		"a log of 31 bytes": func(path string) error { return errors.Join(os.Remove(path+"-shm"), os.Truncate(path+"-wal", 31)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := crashed(t, 20)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if h, damaged := openAt(t, path).Damaged(); damaged {
				t.Errorf("alarm: %+v", h)
			}
		})
	}
	t.Run("a clean end", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "nudgewire.db")
		if err := openAt(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		if h, damaged := openAt(t, path).Damaged(); damaged {
			t.Errorf("alarm: %+v", h)
		}
	})
}

// KeepLog has the log hold everything from now on.
func KeepLog(s *Store) { s.writer.engine.(*engine.SQLite).KeepLog() }

// MostPages bounds the file; one that is larger keeps what it has.
func MostPages(s *Store, pages int) error {
	return s.writer.engine.(*engine.SQLite).Run(fmt.Sprint("PRAGMA max_page_count = ", pages))
}

// FrameSize is that of a page in the log with its head, and logHead what stands before the first.
const (
	FrameSize = 24 + sqlite.PageSize
	logHead   = 32
)

// CommitEnds lists the offsets behind the commits of a log.
func CommitEnds(log []byte) (ends []int) {
	for at := logHead; at+FrameSize <= len(log); at += FrameSize {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			ends = append(ends, at+FrameSize)
		}
	}
	return ends
}
