package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crashed copies the files of a database that is open, as a kill leaves them: some commits in the log, each of a few frames.
func crashed(t *testing.T, commits int) (path string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "a.db")
	db := opened(t, from)
	execute := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		fmt.Sprint("PRAGMA page_size = ", PageSize), "PRAGMA journal_mode = WAL",
		"PRAGMA wal_autocheckpoint = 0", // nothing is moved into the database: the log holds everything
		"CREATE TABLE events (id INTEGER PRIMARY KEY, payload TEXT)",
	} {
		execute(statement)
	}
	for i := range commits {
		execute("INSERT INTO events (payload) VALUES (?)", strings.Repeat(fmt.Sprint(i, " "), 5000))
	}
	path = filepath.Join(t.TempDir(), "a.db")
	for _, side := range []string{"", "-wal", "-shm"} {
		text, err := os.ReadFile(from + side)
		if err == nil {
			err = os.WriteFile(path+side, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// opened is a database with one connection, by the driver alone.
func opened(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

const testFrame = frameHeader + PageSize

// frameEnds lists the offsets behind the commits of a log.
func frameEnds(log []byte) (ends []int) {
	for at := logHeader; at+testFrame <= len(log); at += testFrame {
		if frame(log[at:]).commits() {
			ends = append(ends, at+testFrame)
		}
	}
	return ends
}

// resummed is log with the checksums of the other byte order.
func resummed(log []byte) []byte {
	log = bytes.Clone(log)
	binary.BigEndian.PutUint32(log, logMagic|1)
	put := func(at []byte, s sums) {
		binary.BigEndian.PutUint32(at, s[0])
		binary.BigEndian.PutUint32(at[4:], s[1])
	}
	last := sums{}.on(binary.BigEndian, log[:24])
	put(log[24:], last)
	for at := logHeader; at+testFrame <= len(log); at += testFrame {
		f := frame(log[at : at+testFrame])
		last = f.after(binary.BigEndian, last)
		put(f[16:], last)
	}
	return log
}

func TestADamagedLogIsToldFromATornOne(t *testing.T) {
	path := crashed(t, 12)
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	index, err := readIndex(path + "-shm")
	if err != nil || index.frames != (len(log)-logHeader)/testFrame {
		t.Fatalf("the index knows %+v of %d bytes (%v)", index, len(log), err)
	}
	ends := frameEnds(log)
	n := len(ends)
	end, before := ends[n-1], ends[n-2] // of the last commit, and of the one before
	if end-before < 3*testFrame {
		t.Fatalf("the last commit has %d bytes", end-before)
	}
	mid := ends[n/2] // the first frame behind it is of commit n/2+1
	flip := func(at int) func([]byte) []byte {
		return func(log []byte) []byte { log[at] ^= 4; return log }
	}
	stale := func(from, to int) func([]byte) []byte { // what was there before the log began anew
		return func(log []byte) []byte {
			for at := from; at < to; at += testFrame {
				log[at+8]--
			}
			return log
		}
	}
	tests := map[string]struct {
		change func([]byte) []byte
		alone  int  // commits lost as the log alone tells
		told   bool // by the index, which was written after the last commit
	}{
		"whole":                            {func(l []byte) []byte { return l }, 0, false},
		"a byte of a page":                 {flip(mid + frameHeader + 77), n - n/2 - 1, true},
		"a checksum":                       {flip(mid + 17), n - n/2 - 1, true},
		"the salts of a frame":             {flip(mid + 9), n - n/2 - 1, true},
		"a page number":                    {flip(mid + 3), n - n/2 - 1, true},
		"the last frame of a commit":       {flip(mid - 100), n - n/2, true},
		"the checksum of such a frame":     {flip(mid - testFrame + 20), n - n/2, true},
		"the first frame":                  {flip(logHeader + 50), n, true},
		"the last commit but one":          {flip(before - 10), 2, true},
		"a sector":                         {func(l []byte) []byte { clear(l[mid : mid+3*testFrame]); return l }, -1, true},
		"the salts of the header":          {flip(18), n, true},
		"the magic of the header":          {flip(1), n, true},
		"the byte order of the header":     {func(l []byte) []byte { l[3] ^= 1; return l }, n, true},
		"the page size of the header":      {flip(10), n, true},
		"a header of zeros":                {func(l []byte) []byte { clear(l[:logHeader]); return l }, n, true},
		"the last commit":                  {flip(end - 10), 0, true},
		"cut in the middle":                {func(l []byte) []byte { return l[:mid+100] }, 0, true},
		"cut to nothing":                   {func([]byte) []byte { return nil }, 0, true},
		"a torn end":                       {stale(end-2*testFrame, end), 0, true},
		"a torn middle of the last write":  {stale(before+testFrame, before+2*testFrame), 0, true},
		"a write that has no end":          {func(l []byte) []byte { return l[:end-testFrame] }, 0, true},
		"what was there before, behind it": {func(l []byte) []byte { return stale(len(l), 2*len(l)-logHeader)(append(l, l[logHeader:]...)) }, 0, false},
		"what a failed write left, twice": {func(l []byte) []byte { // of the same generation, ends of commits among it
			return append(append(l, l[end-2*testFrame:end]...), l[before-testFrame:before]...)
		}, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			changed := tt.change(bytes.Clone(log))
			for order, text := range map[string][]byte{"as written": changed, "big-endian": tt.change(resummed(log))} {
				lost, err := readLog(bytes.NewReader(text), &Index{})
				if err != nil {
					t.Fatal(err)
				}
				if tt.alone >= 0 && lost != tt.alone || tt.alone < 0 && (lost == 0 || lost > n) {
					t.Errorf("%s: %d commits lost, want %d of %d", order, lost, tt.alone, n)
				}
			}
			if lost, err := readLog(bytes.NewReader(changed), &index); err != nil || (lost > 0) != tt.told {
				t.Errorf("with the index %d commits lost, want some: %v (%v)", lost, tt.told, err)
			}
			other := index
			other.salts = [8]byte{7, 7, 7, 7, 7, 7, 7, 7}
			if lost, err := readLog(bytes.NewReader(changed), &other); err != nil || len(changed) > 0 && lost != 0 && tt.alone == 0 {
				t.Errorf("by the index of another log %d commits lost (%v)", lost, err)
			}
		})
	}
}

// The proof of what counts as lost is SQLite itself: what readLog calls whole, SQLite must read to the end, and what it
// calls lost, SQLite must lack.
func TestWhatIsLostIsWhatSQLiteDoesNotRead(t *testing.T) {
	const commits = 12
	whole := crashed(t, commits)
	log, err := os.ReadFile(whole + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	for at := logHeader / 2; at < len(log); at += 3*testFrame + 501 {
		folder := t.TempDir()
		path := filepath.Join(folder, "nudgewire.db")
		for _, side := range []string{"", "-wal"} {
			text, err := os.ReadFile(whole + side)
			if err != nil {
				t.Fatal(err)
			}
			if side != "" {
				text[at] ^= 1
			}
			if err := os.WriteFile(path+side, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fault, err := inspectLog(path)
		if err != nil {
			t.Fatal(err)
		}
		stored := 0 // there is no table where the whole log is dropped
		db := opened(t, path)
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&stored); err != nil && stored != 0 {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		// In the last write nobody can know; before it, whoever lacks an event is told.
		if stored < commits-1 && (fault == nil || fault.Commits < commits-stored) {
			t.Errorf("byte %d of %d: %d of %d events are left, and the fault is %+v", at, len(log), stored, commits, fault)
		}
		if stored == commits && fault != nil {
			t.Errorf("byte %d of %d: nothing is lost, and the fault is %+v", at, len(log), fault)
		}
	}
}
