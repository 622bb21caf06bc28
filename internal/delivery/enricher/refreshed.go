package enricher

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
	"sync"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Tokens are the refresh tokens that a store has.
type Tokens struct {
	*store.Store
	Path string // of a file beside the data: where those are noted that may not be kept yet
	mu   sync.Mutex
}

// KeepNoted keeps what an earlier process noted and could not keep, unless somebody has kept another one since.
func (s *Tokens) KeepNoted(ctx context.Context) error {
	all, err := s.noted()
	if err != nil {
		return fmt.Errorf("%s: %w; it held refresh tokens that could not be kept. Remove it, and give look-ups that are refused a new token", s.Path, err)
	}
	for _, one := range all {
		err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
			kept := ""
			err := t.Query(keptTokenSQL, func(r *engine.Row) error { kept = r.Text(); return nil }, one.Source)
			if err != nil || kept != one.Used {
				return err
			}
			return t.Put(keepTokenSQL, one.Source, one.Token, t.At)
		})
		if err == nil {
			err = s.note(one, false)
		}
		if err != nil {
			return fmt.Errorf("keep a refresh token: %w", err)
		}
	}
	return nil
}

// RefreshTurn implements [Refreshed]. A token of source is read, used and kept in that time, so that no two processes use it up.
func (s *Tokens) RefreshTurn(ctx context.Context, source [sha256.Size]byte) (end func(), err error) {
	return s.Turn(ctx, "refresh token", hex.EncodeToString(source[:]))
}

// RefreshToken implements [Refreshed].
func (s *Tokens) RefreshToken(ctx context.Context, source [sha256.Size]byte) (token string, err error) {
	err = s.Rows(ctx, `SELECT token FROM refresh_tokens WHERE source = ?1`, []any{hex.EncodeToString(source[:])}, func(r *engine.Row) error {
		token = r.Text()
		return nil
	})
	return token, store.Wrap(err, "read a refresh token")
}

var (
	keptTokenSQL = engine.SQL(`SELECT token FROM refresh_tokens WHERE source = ?1`)
	keepTokenSQL = engine.SQL(`INSERT INTO refresh_tokens (source, token, at) VALUES (?1, ?2, ?3)
		ON CONFLICT (source) DO UPDATE SET token = excluded.token, at = excluded.at`)
)

// KeepRefreshToken implements [Refreshed]. The provider takes no other any
// more, so it is noted beside the data first: where it cannot be kept now, and this process ends before it can, the next start keeps it.
func (s *Tokens) KeepRefreshToken(ctx context.Context, source [sha256.Size]byte, used, token string) error {
	noted := notedToken{hex.EncodeToString(source[:]), used, token}
	note := s.note(noted, true)
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		return t.Put(keepTokenSQL, noted.Source, token, t.At)
	})
	if err == nil {
		err = s.note(noted, false)
	} else {
		err = errors.Join(err, note)
	}
	return store.Wrap(err, "keep a refresh token")
}

// A notedToken is a refresh token that may not be kept yet.
type notedToken struct{ Source, Used, Token string }

// noted reads the note.
func (s *Tokens) noted() (all []notedToken, err error) {
	text, err := os.ReadFile(s.Path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// note writes a token into the note, in place of an older one of its source, or takes it out.
func (s *Tokens) note(one notedToken, add bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.noted()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	all = slices.DeleteFunc(all, func(n notedToken) bool { return n.Source == one.Source && (add || n == one) })
	if add {
		all = append(all, one)
	}
	if len(all) == 0 {
		return disk.Remove(s.Path)
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = disk.WriteFile(s.Path, text)
	}
	return err
}
