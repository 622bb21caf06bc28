package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/schema"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Settle: planAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func planAll(w messaging.Proposal, _ messaging.Facts) messaging.Settlement {
	return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: w.Decision.Outcome == messaging.Planned}
}

func TestOpenRefusesWhatIsNotAFile(t *testing.T) {
	tests := map[string]string{
		"":                            `storage: want "sqlite:" and a path, as in "sqlite:./data/nudgewire.db", or "postgres://user:password@server/database"`,
		"./data/nudgewire.db":         `storage: want "sqlite:" and a path, as in "sqlite:./data/nudgewire.db", or "postgres://user:password@server/database"`,
		"sqlite:":                     `storage: the data must live in a file, as in "sqlite:./data/nudgewire.db"`,
		"sqlite::memory:":             `storage: the data must live in a file, as in "sqlite:./data/nudgewire.db"`,
		"postgres://me:secret@db:x/n": "storage: cannot read the address of the database; write postgres://user:password@server:5432/database",
		"mysql:root:secret@tcp(x)/y":  `storage: cannot open "mysql:…"; want "sqlite:" and a path, as in "sqlite:./data/nudgewire.db", or "postgres://user:password@server/database"`,
	}
	for dsn, words := range tests {
		t.Run("the storage "+dsn, func(t *testing.T) {
			_, err := Open(t.Context(), Options{DSN: dsn})
			if fmt.Sprint(err) != words {
				t.Errorf("got  %v\nwant %s", err, words)
			}
		})
	}
}

func TestASecondWriterIsToldWhoHoldsTheData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	_, err := Open(t.Context(), Options{DSN: "sqlite:" + path})
	want := fmt.Sprintf("%s: another nudgewire already uses this data (process %d holds %s.lock); stop it first, or give this one its own storage", path, os.Getpid(), path)
	if fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if locked, ok := errors.AsType[*sqlite.LockedError](err); !ok || locked.PID != os.Getpid() {
		t.Errorf("not a LockedError with our pid: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path) // the lock was given back
}

func TestAReaderNeedsData(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none.db")
	_, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
	if err == nil || !strings.HasPrefix(err.Error(), path+": no data here yet; the daemon makes it when it first starts: ") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the reader made a file (%v)", err)
	}
	other := filepath.Join(dir, "other.db")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), Options{DSN: "sqlite:" + other, ReadOnly: true}); err == nil || s != nil || !strings.Contains(err.Error(), "no nudgewire data here") {
		t.Errorf("store %v, error %v", s, err)
	}
}

func TestDataIsForItsOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "da?ta #1 100%")
	s := openAt(t, filepath.Join(dir, "nudgewire.db"))
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{"": 0o700, "nudgewire.db": 0o600, "nudgewire.db-wal": 0o600, "nudgewire.db-shm": 0o600, "nudgewire.db.lock": 0o600}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

// The settings that durability and size rest on are read back from the connections
// themselves, because drivers ignore options that they do not know.
func TestConnectionsAreSetUp(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	ask := func(db *sql.DB, pragma string) (got string) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "page_size": "4096", "auto_vacuum": "2", "query_only": "1"} {
		if got := ask(s.reads.DB, pragma); got != want {
			t.Errorf("reads: %s = %s, want %s", pragma, got, want)
		}
	}
	w := s.writer.engine.(*engine.SQLite)
	for pragma, want := range map[string]int64{"synchronous": 2, "wal_autocheckpoint": 32000, "busy_timeout": 10000} {
		stmt, err := w.Conn().Prepare("PRAGMA " + pragma)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := stmt.Query(nil) //nolint:staticcheck // the driver's own interface, without a context
		if err != nil {
			t.Fatal(err)
		}
		dest := make([]driver.Value, 1)
		if err := rows.Next(dest); err != nil || dest[0] != want {
			t.Errorf("writer: %s = %v, want %d (%v)", pragma, dest[0], want, err)
		}
		if err := errors.Join(rows.Close(), stmt.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestDataOfANewerVersionIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rawExec(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	words := fmt.Sprintf("the data has schema version 99 and this nudgewire knows versions up to %d; use the newer nudgewire that wrote it", schema.Version())
	for _, readOnly := range []bool{false, true} {
		_, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: readOnly})
		if fmt.Sprint(err) != path+": "+words {
			t.Errorf("got  %v\nwant %s", err, words)
		}
	}
	rawExec(t, path, `DELETE FROM goose_db_version WHERE version_id > 0`)
	_, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
	if _, ok := errors.AsType[*engine.NewerSchemaError](err); !ok || !strings.HasSuffix(err.Error(), "start the daemon once to bring it up to date") {
		t.Errorf("error %v", err)
	}
}

// rawExec changes data behind the store's back.
func rawExec(t *testing.T, path, statement string, args ...any) {
	t.Helper()
	if err := TryExec(t, path, statement, args...); err != nil {
		t.Fatal(err)
	}
}

// TryExec runs a statement in a file beside its store.
func TryExec(t *testing.T, path, statement string, args ...any) error {
	t.Helper()
	db, err := engine.OpenFile(path, "PRAGMA busy_timeout = 10000")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(context.Background(), statement, args...)
	return errors.Join(err, db.Close())
}

// The schema holds the law of states by itself, whatever a later version's code does.
func TestSchemaRefusesUnlawfulRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	for i := range 2 {
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(time.Hour)
	got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "o", Now: now, Lease: time.Hour, Marketing: 1})
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	a := messaging.Attempt{MessageID: got[0].ID, Owner: "o", Number: 1, State: messaging.StateAccepted, At: now, Message: &messaging.Message{ServiceID: "7"}}
	if err := s.Finish(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for name, statement := range map[string]string{
		"an unknown state":                    `UPDATE messages SET state = 'lost' WHERE id = 2`,
		"sending without a lease":             `UPDATE messages SET state = 'sending', owner = 'x', attempt = 1, claimed_at = 1 WHERE id = 2`,
		"sending without an owner":            `UPDATE messages SET state = 'sending', lease_ends = 1, attempt = 1, claimed_at = 1 WHERE id = 2`,
		"sending without an attempt":          `UPDATE messages SET state = 'sending', lease_ends = 1, owner = 'x' WHERE id = 2`,
		"accepted without an attempt":         `UPDATE messages SET state = 'accepted' WHERE id = 2`,
		"waiting with a lease":                `UPDATE messages SET lease_ends = 1 WHERE id = 2`,
		"waiting without a due time":          `UPDATE messages SET due_at = 0 WHERE id = 2`,
		"cancelled without a reason":          `UPDATE messages SET state = 'cancelled' WHERE id = 2`,
		"an unknown category":                 `UPDATE messages SET category = 'gossip' WHERE id = 2`,
		"a status before it was accepted":     `UPDATE messages SET status = 'sent' WHERE id = 2`,
		"accepted without a status":           `UPDATE messages SET state = 'accepted', attempt = 1, claimed_at = 1, accepted_at = 1 WHERE id = 2`,
		"accepted at no time":                 `UPDATE messages SET accepted_at = 0 WHERE id = 1`,
		"polled before it was accepted":       `UPDATE messages SET next_poll_at = 1, message_id = '8' WHERE id = 2`,
		"no longer accepted":                  `UPDATE messages SET state = 'rejected', reason = 'x' WHERE id = 1`,
		"failed and polled":                   `UPDATE messages SET status = 'failed' WHERE id = 1`,
		"polled without an id":                `UPDATE messages SET message_id = '' WHERE id = 1`,
		"named by a file and not accepted":    `UPDATE messages SET run_id = 1, part = 1 WHERE id = 2`,
		"in the place of a later one":         `UPDATE messages SET replaces = 3 WHERE id = 2`,
		"an event without a dedupe key":       `UPDATE events SET dedupe_key = ''`,
		"an attempt that ends in no such way": `INSERT INTO attempts VALUES (1, 1, 'sending', '', '', '', 0, 0, '', '')`,
	} {
		if err := TryExec(t, path, statement); err == nil || !strings.Contains(strings.ToLower(err.Error()), "constraint") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// testPlan is an event that queues a message at once.
func testPlan(key string) messaging.Plan {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	return messaging.Plan{
		Event: messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: key, ReceivedAt: at, Contact: messaging.Contact{Phone: "447700900123"}},
		Proposals: []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: "remind", Outcome: messaging.Planned, Key: key, At: at},
			Correlation: messaging.Correlation{Trigger: "remind", Key: key, Phone: "447700900123"},
			Message:     messaging.Message{Phone: "447700900123", Category: messaging.Marketing, DueAt: at, Send: messaging.Send{Text: "hello"}},
		}},
	}
}

func TestCompactNeedsAStoppedDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	openAt(t, path)
	if _, _, err := Compact(t.Context(), "sqlite:"+path); err == nil {
		t.Error("compacted under an open store")
	} else if _, ok := errors.AsType[*sqlite.LockedError](err); !ok {
		t.Error(err)
	}
}

func TestAProposalNeedsSomebodyToSettleIt(t *testing.T) {
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = s.Accept(t.Context(), []messaging.Plan{testPlan("1")})
	if want := "accept shop.cart.updated: trigger remind: the store was opened without Options.Settle"; fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestADecisionMustBeLawful(t *testing.T) {
	for words, done := range map[string]messaging.Settlement{
		`accept shop.cart.updated: trigger remind: no decision is "perhaps" with message 0`: {Outcome: "perhaps"},
		`accept shop.cart.updated: trigger remind: no decision is "planned" with message 0`: {Outcome: messaging.Planned},
	} {
		s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
		s.settle = func(messaging.Proposal, messaging.Facts) messaging.Settlement { return done }
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan("1")}); fmt.Sprint(err) != words {
			t.Errorf("got  %v\nwant %s", err, words)
		}
	}
}

func TestAFileThatIsNoDatabaseIsNamedWithTheNextStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	for _, text := range []string{"x", strings.Repeat("not a database ", 1000)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{DSN: "sqlite:" + path})
		if !errors.Is(err, sqlite.ErrNotData) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("error %v", err)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
			t.Errorf("the file was changed (%v)", err)
		}
	}
}

// On a full disk the process's number does not fit into the lock file, and the lock is held all the same.
func TestALockNeedsNoRoom(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	if err := os.Symlink("/dev/full", path+".lock"); err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.TakeLock(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if locked, ok := errors.AsType[*sqlite.LockedError](Held("sqlite:" + path)); !ok {
		t.Errorf("held by nobody: %v", locked)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if err := Held("sqlite:" + path); err != nil {
		t.Errorf("given back, and held: %v", err)
	}
}

func TestTroubleOfTheDiskIsToldByItsKind(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	if err := s.writer.engine.(*engine.SQLite).Run("PRAGMA max_page_count = 120"); err != nil {
		t.Fatal(err)
	}
	p := testPlan("1")
	p.Event.Payload = make([]byte, 4<<20)
	if _, err := rand.Read(p.Event.Payload); err != nil {
		t.Fatal(err)
	}
	_, full := s.Accept(t.Context(), []messaging.Plan{p})
	readOnly := s.Rows(t.Context(), "DELETE FROM events", nil, func(*engine.Row) error { return nil })
	for want, err := range map[string]error{
		"the disk is full":          full,
		"the disk can only be read": readOnly,
		"the disk reports errors":   &fs.PathError{Op: "write", Path: "x", Err: syscall.EIO},
		"":                          fs.ErrPermission,
	} {
		if got := sqlite.DiskTrouble(fmt.Errorf("open: %w", err)); got != want {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
	}
	if got := sqlite.DiskTrouble(nil); got != "" {
		t.Errorf("no error is told as %q", got)
	}
}

func TestAPipeIsNoData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{DSN: "sqlite:" + path}); !strings.Contains(err.Error(), "no file for data") || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("error %v", err)
	}
}
