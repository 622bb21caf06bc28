package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/place"
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
	countToken  = "instance/token"
	countBefore = "instance/before"
)

// copied says in words why the data at path is a copy of what it was; "" where it is not. at is when the copy was made, where
// that is known.
func (s *Store) copied(ctx context.Context, path string) (how string, at time.Time, err error) {
	note, restored, err := place.ReadRestoredNote(path)
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
	known, number, err := place.ReadInstance(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", at, fmt.Errorf("which data this is: %w", err)
	}
	name := filepath.Base(place.InstanceFile(path))
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

// sign gives the data a new token. The one that the file has is good until the file has the new one, however often a start ends in
// between. So data that has no token yet has a file with token 0 first.
func (s *Store) sign(ctx context.Context, path string) error {
	old := int64(0)
	err := s.Rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{countToken}, func(r *engine.Row) error { old = r.Int(); return r.Err })
	if err == nil && old == 0 {
		err = place.WriteInstance(path, 0)
	}
	before := int64(place.NoInstance)
	if err == nil {
		before, _, err = place.ReadInstance(path)
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
		err = place.WriteInstance(path, token)
	}
	return Wrap(err, "note which data this is")
}
