package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// RefreshTurn waits until no other process has the turn of source, and has it until end is called. A token of source is read, used and
// kept in that time, so that no two processes use it up. Who has a file has it alone, and its turn is always there. On PostgreSQL it is
// a lock of a connection of its own: it ends with the process, and is lost with the connection.
func (s *Store) RefreshTurn(ctx context.Context, source [sha256.Size]byte) (end func(), err error) {
	return s.turn(ctx, "refresh token", hex.EncodeToString(source[:]))
}

// turn is the turn of one of what should be done by one process at a time.
func (s *Store) turn(ctx context.Context, what, which string) (end func(), err error) {
	if s.file != nil {
		return func() {}, nil
	}
	if s.notices == nil {
		return nil, ErrReadOnly
	}
	conn, err := s.notices.connect(ctx)
	if err != nil {
		return nil, Wrap(err, "the turn of a %s", what)
	}
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), quickFor)
		defer cancel()
		// Unlocked with a word of its own: the server may see the end of a connection later.
		_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtext('nudgewire ' || $1), hashtext($2))`, what, which)
		_ = conn.Close(ctx)
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('nudgewire ' || $1), hashtext($2))`, what, which); err != nil {
		end()
		return nil, Wrap(err, "the turn of a %s", what)
	}
	return end, nil
}

// RefreshToken returns the OAuth refresh token that was kept for source, a hash of the configured
// one and of whom it belongs to; "" when none was.
func (s *Store) RefreshToken(ctx context.Context, source [sha256.Size]byte) (token string, err error) {
	err = s.Rows(ctx, `SELECT token FROM refresh_tokens WHERE source = ?1`, []any{hex.EncodeToString(source[:])}, func(r *Row) error {
		token = r.Text()
		return nil
	})
	return token, Wrap(err, "read a refresh token")
}

var keepTokenSQL = SQL(`INSERT INTO refresh_tokens (source, token, at) VALUES (?1, ?2, ?3)
		ON CONFLICT (source) DO UPDATE SET token = excluded.token, at = excluded.at`)

// KeepRefreshToken puts token in place of the one that was kept for source: used, "" where none was. The provider takes no other any
// more, so it is noted beside the data first: where it cannot be kept now, and this process ends before it can, the next start keeps it.
func (s *Store) KeepRefreshToken(ctx context.Context, source [sha256.Size]byte, used, token string) error {
	if s.commits == nil {
		return ErrReadOnly
	}
	noted := notedToken{hex.EncodeToString(source[:]), used, token}
	note := s.noteToken(noted, true)
	err := s.Write(ctx, LaneWork, func(t *Tx) error {
		return t.Put(keepTokenSQL, noted.Source, token, t.At)
	})
	if err == nil {
		err = s.noteToken(noted, false)
	} else {
		err = errors.Join(err, note)
	}
	return Wrap(err, "keep a refresh token")
}

// A notedToken is a refresh token that may not be kept yet.
type notedToken struct{ Source, Used, Token string }

// notedTokens reads the note beside the data.
func (s *Store) notedTokens() (all []notedToken, err error) {
	text, err := os.ReadFile(s.tokens.path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// noteToken writes a token into the note, in place of an older one of its source, or takes it out.
func (s *Store) noteToken(one notedToken, add bool) error {
	s.tokens.Lock()
	defer s.tokens.Unlock()
	all, err := s.notedTokens()
	if err != nil {
		return fmt.Errorf("%s: %w", s.tokens.path, err)
	}
	all = slices.DeleteFunc(all, func(n notedToken) bool { return n.Source == one.Source && (add || n == one) })
	if add {
		all = append(all, one)
	}
	if len(all) == 0 {
		return disk.Remove(s.tokens.path)
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = disk.WriteFile(s.tokens.path, text)
	}
	return err
}

var keptTokenSQL = SQL(`SELECT token FROM refresh_tokens WHERE source = ?1`)

// keepNoted keeps what an earlier process noted and could not keep, unless somebody has kept another one since.
func (s *Store) keepNoted(ctx context.Context) error {
	all, err := s.notedTokens()
	if err != nil {
		return fmt.Errorf("%s: %w; it held refresh tokens that could not be kept. Remove it, and give look-ups that are refused a new token", s.tokens.path, err)
	}
	for _, one := range all {
		err := s.Write(ctx, LaneWork, func(t *Tx) error {
			kept := ""
			err := t.Query(keptTokenSQL, func(r *Row) error { kept = r.Text(); return nil }, one.Source)
			if err != nil || kept != one.Used {
				return err
			}
			return t.Put(keepTokenSQL, one.Source, one.Token, t.At)
		})
		if err == nil {
			err = s.noteToken(one, false)
		}
		if err != nil {
			return fmt.Errorf("keep a refresh token: %w", err)
		}
	}
	return nil
}
