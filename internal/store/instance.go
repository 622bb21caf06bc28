package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// A database that was restored, or put back from a copy, does not know what was sent after the copy was made. So it has to know
// that it is one. Each start gives it a new token, which stands in the database and in a small file beside it, with the number
// that the system gave the database's file (decision 21). It is a copy
//
//   - where that file is missing, or has another token: the copy is from before the last start, or came without the file;
//   - where the database's file has another number: it was copied with the folder;
//   - where the file of begun calls tells of a call that the database does not know: it was put back in the place of a newer one.
//
// What nobody can see from within is a whole disk that was set back. Whoever does that removes the file.

const (
	instanceMagic = "nudgewire instance 1"
	countToken    = "instance/token"
	countBefore   = "instance/before"
)

func instanceFile(path string) string { return path + ".instance" }

// noteFile is what "nudgewire restore" leaves beside the database that it put there.
func noteFile(path string) string { return path + ".restored" }

// A RestoredNote says of a database where it was restored from.
type RestoredNote struct {
	From string    `json:"from"`
	At   time.Time `json:"at"` // when the copy was made
}

// WriteRestoredNote leaves the note for the next start.
func WriteRestoredNote(dsn string, n RestoredNote) error {
	text, err := json.Marshal(n)
	if err == nil {
		err = disk.WriteFile(noteFile(engine.Path(dsn)), text)
	}
	return Wrap(err, "note where the data came from")
}

func readRestoredNote(path string) (n RestoredNote, found bool, err error) {
	text, err := os.ReadFile(noteFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return n, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err == nil, Wrap(err, "where the data came from")
}

// copied says in words why the data at path is a copy of what it was; "" where it is not. at is when the copy was made, where
// that is known.
func (s *Store) copied(ctx context.Context, path string) (how string, at time.Time, err error) {
	note, restored, err := readRestoredNote(path)
	if err != nil {
		return "", at, err
	}
	if restored {
		return "it was restored from " + filepath.Base(note.From), note.At, nil
	}
	token, before, rows := int64(0), int64(0), int64(0)
	err = s.Rows(ctx, `SELECT coalesce(max(CASE WHEN name = ?1 THEN value END), 0), coalesce(max(CASE WHEN name = ?2 THEN value END), 0),
		(SELECT count(*) FROM (SELECT 1 FROM events UNION ALL SELECT 1 FROM runs LIMIT 1) AS any_row) FROM counters`,
		[]any{countToken, countBefore}, func(r *engine.Row) error {
			token, before, rows = r.Int(), r.Int(), r.Int()
			return r.Err
		})
	if err != nil {
		return "", at, err
	}
	known, number, err := readInstance(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", at, fmt.Errorf("which data this is: %w", err)
	}
	name := filepath.Base(instanceFile(path))
	switch {
	case rows == 0 && token == 0, missing && token == 0:
		return "", at, nil // new, or of a nudgewire that had no tokens
	case missing:
		return name + " is not beside it, so it was copied from another place", at, nil
	case known != token && known != before:
		return "it is older than " + name + ", which was written when the daemon started last", at, nil
	case number != "" && disk.FileNumber(path) != "" && number != disk.FileNumber(path):
		return "its file is not the one that the daemon had open, but a copy of it", at, nil
	}
	later, err := s.callsLater(ctx, path+".calls")
	if later && err == nil {
		how = "messages were sent that it does not know of"
	}
	return how, at, err
}

// callsLater reports whether the file of begun calls tells of a call that the database does not know.
func (s *Store) callsLater(ctx context.Context, path string) (later bool, err error) {
	for _, one := range calls.Noted(path) {
		if later || err != nil {
			break
		}
		// A row that is not there any more, though its number was given, was cleared away; it may have been the newest one. The
		// counters know which numbers were given (see resume).
		query, args := `SELECT CASE WHEN coalesce(sum(value), 0) >= ?1 THEN ?2 ELSE 0 END FROM counters WHERE name = ?3 OR name = ?4
			UNION ALL SELECT attempt FROM messages WHERE id = ?1`, []any{int64(one.Message), one.Attempt, tally.CountMessages.String(), tally.CountFollowed.String()}
		if s.file == nil { // numbers come in blocks of a sequence there
			query, args = fmt.Sprintf(`SELECT CASE WHEN last_value + %d > ?1 THEN CAST(?2 AS BIGINT) ELSE 0 END FROM message_numbers UNION ALL SELECT attempt FROM messages WHERE id = ?1`,
				numbers.Messages.Block()), []any{int64(one.Message), one.Attempt}
		}
		if run, part, is := one.Upload(); is {
			query, args = `SELECT CASE WHEN max(id) > ?1 THEN ?2 ELSE 0 END FROM runs UNION ALL SELECT attempt FROM parts WHERE run_id = ?1 AND number = ?3`, []any{run, one.Attempt, part}
		}
		known := 0
		err = s.Rows(ctx, query, args, func(r *engine.Row) error { known = int(r.Int()); return r.Err })
		later = known < one.Attempt
	}
	return later, err
}

// noInstance is what a file has that is not whole. No data has it for a token.
const noInstance = -1

// readInstance reads the file beside the data: the token, and the number of the database's file, "" where it is not known.
func readInstance(path string) (token int64, number string, err error) {
	text, err := os.ReadFile(instanceFile(path))
	if err != nil {
		return noInstance, "", err //nolint:wrapcheck // the callers say what for
	}
	lines := append(strings.Split(string(text), "\n"), "", "", "")
	token, err = strconv.ParseInt(lines[1], 16, 64)
	if err != nil || lines[0] != instanceMagic {
		return noInstance, "", nil //nolint:nilerr // it is damaged, and so the file of no data
	}
	return token, lines[2], nil
}

func writeInstance(path string, token int64) error {
	return disk.WriteFile(instanceFile(path), fmt.Appendf(nil, "%s\n%x\n%s\n", instanceMagic, token, disk.FileNumber(path))) //nolint:wrapcheck // sign says what for
}

// sign gives the data a new token. The one that the file has is good until the file has the new one, however often a start ends in
// between. So data that has no token yet has a file with token 0 first.
func (s *Store) sign(ctx context.Context, path string) error {
	old := int64(0)
	err := s.Rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{countToken}, func(r *engine.Row) error { old = r.Int(); return r.Err })
	if err == nil && old == 0 {
		err = writeInstance(path, 0)
	}
	before := int64(noInstance)
	if err == nil {
		before, _, err = readInstance(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without the file it is a copy, and known for one
		return fmt.Errorf("note which data this is: %w", err)
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	token := int64(binary.BigEndian.Uint64(random[:])>>1 | 1)
	err = s.writer.runAlone(func(t *engine.Tx) error {
		err := t.Put(tally.SetCountSQL, countBefore, max(before, 0))
		if err == nil {
			err = t.Put(tally.SetCountSQL, countToken, token)
		}
		return err
	})
	if err == nil {
		err = writeInstance(path, token)
	}
	return Wrap(err, "note which data this is")
}

// markFile stands beside data that is being restored, and is not whole.
func markFile(path string) string { return path + ".restore-cut-off" }

// A CutOffError says that a restoration was cut off, and the data is not whole.
type CutOffError struct{ From string }

// Error says so, and the next step.
func (e *CutOffError) Error() string {
	return fmt.Sprintf("a restoration from %s was cut off; do it again: nudgewire restore %s", filepath.Base(e.From), e.From)
}

// MarkRestore keeps every start from the data until UnmarkRestore.
func MarkRestore(dsn, from string) error {
	return Wrap(disk.WriteFile(markFile(engine.Path(dsn)), []byte(from)), "mark the restoration")
}

// UnmarkRestore says that the data is whole again.
func UnmarkRestore(dsn string) error {
	path := markFile(engine.Path(dsn))
	return Wrap(errors.Join(os.Remove(path), disk.SyncFolder(filepath.Dir(path))), "end the restoration")
}

// RestoreCutOff is a *CutOffError where a restoration of the data was cut off.
func RestoreCutOff(dsn string) error { return cutOff(engine.Path(dsn)) }

func cutOff(path string) error {
	from, err := os.ReadFile(markFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("whether a restoration was cut off: %w", err)
	}
	return &CutOffError{strings.TrimSpace(string(from))}
}

// ErrEmptied means that the file held data and is empty.
var ErrEmptied = errors.New("the file held data and is empty now, so it was cut off; restore a backup, or move it away with all whose names begin with its own to begin anew")

// emptied is ErrEmptied for a file that was cut off to nothing. Whoever opens it has SQLite remove its log, which may hold all that was
// answered.
func emptied(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return nil //nolint:nilerr // who opens it says so
	}
	for _, side := range []string{path + "-wal", instanceFile(path)} {
		if info, err := os.Stat(side); err == nil && info.Size() > 0 {
			return ErrEmptied
		}
	}
	return nil
}
