package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// movedFile stands beside data that was moved away.
func movedFile(path string) string { return path + ".moved" }

func writeMoved(path, to string) error {
	text, err := json.Marshal(MovedError{To: to, At: time.Now()})
	if err == nil {
		err = disk.WriteFile(movedFile(path), text)
	}
	return Wrap(err, "mark the old data")
}

// movedAway is a *MovedError where the data at path was moved. again is where it is being moved to, which may be done once more: the
// other side is known to be empty.
func movedAway(path, again string) error {
	text, err := os.ReadFile(movedFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	moved := &MovedError{Undo: "remove " + movedFile(path)}
	if err == nil {
		err = json.Unmarshal(text, moved)
	}
	if err != nil {
		return fmt.Errorf("whether the data was moved: %w", err)
	}
	if again != "" && moved.To == again {
		return nil
	}
	return moved
}

// copyingFile is what data is called that is being copied, beside where it will be.
func copyingFile(path string) string { return path + ".copying" }

// unfinished is an *UnfinishedError where a copy to a file began and did not end.
func unfinished(path string) error {
	_, err := os.Stat(copyingFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("whether a copy to here ended: %w", err)
	}
	return &UnfinishedError{path, "remove " + copyingFile(path)}
}

// CopyCutOff is an *UnfinishedError where data was being copied to a file and is not there yet.
func CopyCutOff(dsn string) error { return unfinished(Path(dsn)) }

// newFile makes a database with the schema, to be filled and given its name when it is whole. A crash leaves one that is made anew, so
// nothing is synced before that.
func newFile(ctx context.Context, path string) (*sql.DB, error) {
	err := ignoreMissing(os.Remove(path))
	if err == nil {
		err = createFile(path)
	}
	if err != nil {
		return nil, err
	}
	drv, err := sqliteDriver()
	if err != nil {
		return nil, err
	}
	c := connector{driver: drv, uri: sqliteURI(path)}
	if err := layOut(drv, c.uri, path); err != nil {
		return nil, err
	}
	c.setup = writerSetup
	if err := migrateOnce(ctx, c); err != nil {
		return nil, err
	}
	return openFile(path, []string{"PRAGMA synchronous = OFF", "PRAGMA journal_mode = OFF", "PRAGMA cache_size = -65536", "PRAGMA temp_store = MEMORY"})
}

// fillRows is how many rows a transaction has.
const fillRows = 1 << 14

// fillTable writes what it reads into a file's table, in the order of the table.
func fillTable(ctx context.Context, to *sql.DB, from querier, t *ledgerTable, tell func(string, int64)) (d digest, err error) {
	if _, err := to.ExecContext(ctx, `DELETE FROM `+t.name); err != nil { //nolint:gosec // a name of the schema; it may begin with rows
		return d, err
	}
	r, err := t.read(ctx, from, true)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	marks := "(?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	statement := `INSERT INTO ` + t.name + ` (` + t.list() + `) VALUES ` + marks
	for more := true; more; {
		if more, err = fillSome(ctx, to, r, statement, &d); err != nil {
			return d, fmt.Errorf("write %s: %w", t.name, err)
		}
		tell("copy "+t.name, d.rows)
	}
	return d, nil
}

// fillSome is one transaction of fillTable.
func fillSome(ctx context.Context, to *sql.DB, r *rowReader, statement string, d *digest) (more bool, err error) {
	tx, err := to.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	insert, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return false, errors.Join(err, tx.Rollback())
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for n := 0; n < fillRows && err == nil; n++ {
		if more = r.Next(); !more {
			break
		}
		if err = d.add(r.row); err == nil {
			_, err = insert.ExecContext(ctx, r.row...)
		}
	}
	if err != nil {
		return false, errors.Join(err, tx.Rollback())
	}
	return more, tx.Commit()
}

// keepNumbers notes how far the sequences were ahead of what was counted, and that every key is in its table.
func keepNumbers(ctx context.Context, to *sql.DB, last [sequenceCount]int64) error {
	set := map[string]int64{eventsKeyed: last[eventIDs], messagesKeyed: last[messageIDs]}
	for of, n := range last {
		known, err := readNumber(ctx, to, `SELECT coalesce(sum(value), 0) FROM counters WHERE name IN (`+counted[of]+`)`)
		if err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
		set[numbersPrefix+strconv.Itoa(of)] = max(0, n-known)
	}
	for name, n := range set {
		if _, err := to.ExecContext(ctx, `INSERT INTO counts (name, writer, value) VALUES (?1, 0, ?2) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`, name, n); err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
	}
	return nil
}
