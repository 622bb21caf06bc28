package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/schema"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func plan(key string) messaging.Plan {
	at := time.Now().UTC()
	return messaging.Plan{
		Event: messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: key, ReceivedAt: at, Contact: messaging.Contact{Phone: "447700900123"}, Payload: []byte(strings.Repeat(key, 40))},
		Proposals: []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: "remind", Outcome: messaging.Planned, Key: key, At: at},
			Correlation: messaging.Correlation{Trigger: "remind", Key: key, Phone: "447700900123"},
			Message:     messaging.Message{Phone: "447700900123", Category: messaging.Marketing, DueAt: at.Add(time.Hour), Send: messaging.Send{Text: "hello"}},
		}},
	}
}

func settle(w messaging.Proposal, _ messaging.Facts) messaging.Settlement {
	return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: w.Decision.Outcome == messaging.Planned}
}

// open opens the data in a folder.
func open(t *testing.T, folder string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsnOf(folder), Settle: settle})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func dsnOf(folder string) string { return "sqlite:" + filepath.Join(folder, "nudgewire.db") }

// stocked is a folder of data with some events and a run.
func stocked(t *testing.T, events int) string {
	t.Helper()
	folder := t.TempDir()
	s := open(t, folder)
	for i := range events {
		if _, err := s.Accept(t.Context(), []messaging.Plan{plan(fmt.Sprint("stocked ", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, won, err := s.StartRunOf(t.Context(), messaging.Run{
		Job: "winback", Slot: "2026-11-23 10:00", DueAt: time.Now(), Cause: messaging.CauseCron, State: messaging.RunUploading, Deliver: messaging.DeliverCSV,
		Category: messaging.Marketing, CreatedAt: time.Now(),
	}, []messaging.Part{{Number: 1, Ranges: messaging.RowRanges{{First: 1, Last: 1}}, Rows: 1, State: messaging.PartWaiting, UpdatedAt: time.Now()}}); err != nil || !won {
		t.Fatal(won, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "data-requests", "event-7.json"), "{}\n")
	return folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What was answered before a backup began is in it, however busy the daemon is, and what is known by its key
// is known by it afterwards, though the keys were in memory.
func TestABackupUnderLoadHoldsWhatWasAnswered(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	var answered atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for w := range 8 {
		busy.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if _, err := s.Accept(context.WithoutCancel(ctx), []messaging.Plan{plan(fmt.Sprintf("%d/%d", w, i))}); err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for answered.Load() < 2000 {
		time.Sleep(time.Millisecond)
	}
	before := answered.Load()
	path := filepath.Join(t.TempDir(), "one.tar.zst")
	r, err := Make(t.Context(), path, Options{DSN: dsnOf(folder), Version: "test"})
	after := answered.Load()
	stop()
	busy.Wait()
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if n := r.Manifest.Data.Events; n < before || n > after+8 || after == before {
		t.Errorf("%d events in the backup; %d were answered before it and %d until its end", n, before, after)
	}
	if r, err = Check(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != r.Bytes {
		t.Errorf("the file: %v (%v)", info, err)
	}

	// The database of the backup, opened, knows every one of its events by its key.
	other := t.TempDir()
	if _, err := read(t.Context(), path, func(name string, _ int64, from io.Reader) error {
		return unpack(filepath.Join(other, filepath.Base(name)), from)
	}, nil); err != nil {
		t.Fatal(err)
	}
	s = open(t, other)
	rows, err := s.Events(t.Context(), store.EventFilter{Limit: 1 << 20})
	if err != nil || int64(len(rows)) != r.Manifest.Data.Events {
		t.Fatalf("%d events (%v)", len(rows), err)
	}
	for i := range rows {
		got, err := s.Accept(t.Context(), []messaging.Plan{plan(rows[i].DedupeKey)})
		if err != nil || !got[0].Duplicate {
			t.Fatalf("event %q came again and is new: %+v (%v)", rows[i].DedupeKey, got, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestABackupHoldsWhatBelongsToTheData(t *testing.T) {
	folder := stocked(t, 3)
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	r, err := Make(t.Context(), path, Options{DSN: dsnOf(folder), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range r.Manifest.Files {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "nudgewire.db data-requests/event-7.json" {
		t.Errorf("it holds %s", got)
	}
	if r.Manifest.Data.Runs != 1 || r.Manifest.Data.Schema != schema.Version() {
		t.Errorf("the report: %+v", r)
	}
	// A second one needs to be told to take its place, and one that fails leaves it alone.
	var there *ExistsError
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(folder)}); !errors.As(err, &there) {
		t.Errorf("over another: %v", err)
	}
	was := sum(t, path)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(ended, path, Options{DSN: dsnOf(folder), Replace: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if sum(t, path) != was {
		t.Error("a backup that was cancelled changed the one before")
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a backup that was killed left behind is cleared away by the next one to the same place; one that is under way is not
// disturbed.
func TestABackupThatWasKilledIsClearedAway(t *testing.T) {
	folder := stocked(t, 1)
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	write(t, path+unfinished+"/nudgewire.db", "half a copy")
	write(t, path+unfinished+"/archive", "half an archive")
	release, err := sqlite.Hold(path + unfinished + "/lock")
	if err != nil {
		t.Fatal(err)
	}
	var held *sqlite.LockedError
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(folder)}); !errors.As(err, &held) {
		t.Errorf("beside another: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(folder)}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + unfinished); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there (%v)", err)
	}
}

// Whatever happens to the file, it is told, and never taken for whole.
func TestADamagedBackupIsTold(t *testing.T) {
	folder := stocked(t, 300)
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(folder)}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tarred, err := unzipped(whole)
	if err != nil {
		t.Fatal(err)
	}
	wants := func(name string, text []byte, words string) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Check(t.Context(), path, nil)
		var bad *FileError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), words) || bad.Next == "" {
			t.Errorf("%s: %v, want %q", name, err, words)
		}
	}
	for at := 4; at < len(whole); at += 1 + len(whole)/60 {
		changed := bytes.Clone(whole)
		changed[at] ^= 8
		if back, err := unzipped(changed); err != nil || !bytes.Equal(back, tarred) { // some bits of zstd say nothing
			wants(fmt.Sprint("byte ", at), changed, path+" ")
		}
		wants(fmt.Sprint("cut at ", at), whole[:at], "is cut off")
	}
	wants("empty", nil, "it is cut off, or no backup of nudgewire")
	wants("a database", []byte("SQLite format 3\x00 and so on"), "is no backup of nudgewire")
	wants("another archive", archiveOf(t, map[string]string{"etc/passwd": "x"}), `is no backup of nudgewire: it holds "etc/passwd"`)
	wants("a way out", archiveOf(t, map[string]string{"data-requests/../../x": "x"}), `it holds "data-requests/../../x"`)
	wants("no database", archiveOf(t, map[string]string{}), "there is no database in it")
	wants("a database that is none", archiveOf(t, map[string]string{entryDatabase: "x"}), "holds a database that is not whole")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), path, nil); err != nil {
		t.Error(err)
	}
	pipe := path + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *FileError
	if _, err := Check(t.Context(), pipe, nil); !errors.As(err, &bad) || bad.Why != "is no regular file" {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := Check(t.Context(), path+".gone", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func unzipped(text []byte) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(z)
}

// archiveOf is a whole archive of these files.
func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newWriter(&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := w.add(t.Context(), name, strings.NewReader(text), int64(len(text)), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.close(Manifest{Format: format}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The file can be opened without nudgewire: it is what other programs call a tar.zst.
func TestABackupIsATarOfZstd(t *testing.T) {
	z, err := zstd.NewReader(bytes.NewReader(archiveOf(t, map[string]string{entryDatabase: "text"})))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	head := make([]byte, 512)
	if _, err := io.ReadFull(z, head); err != nil || !strings.Contains(string(head), "ustar") {
		t.Errorf("no tar inside (%v)", err)
	}
}

func TestNothingIsBackedUpWhereNothingIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b")
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(t.TempDir())}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no data: %v", err)
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "nudgewire.db"), "no database at all")
	if _, err := Make(t.Context(), path, Options{DSN: dsnOf(folder)}); !errors.Is(err, sqlite.ErrNotData) {
		t.Errorf("no database: %v", err)
	}
	if _, err := Make(t.Context(), filepath.Join(path, "no", "folder"), Options{DSN: dsnOf(folder)}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// setSchema has the data in a folder say that another version made it.
func setSchema(t *testing.T, folder string, version int64) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(folder, "nudgewire.db"))
	if err != nil {
		t.Fatal(err)
	}
	if version > schema.Version() {
		_, err = db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (?1, 1)`, version)
	} else {
		_, err = db.ExecContext(t.Context(), `DELETE FROM goose_db_version WHERE version_id > ?1`, version)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
