package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// A Token lets a program use the API. The token itself is kept nowhere.
type Token struct {
	ID        string // part of the token, which finds it
	Name      string // of one that is good, no other has it
	Hash      [sha256.Size]byte
	Scopes    []string
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // zero is never
	RevokedAt time.Time
	UsedAt    time.Time // about; zero is never
	Makers    []string  // who made CreatedBy, then who made those
}

// Good reports whether the token lets anybody in.
func (t *Token) Good(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// ErrTokenName means that a good token has the name.
var ErrTokenName = errors.New("there is a token of that name")

// tokenNames is what is locked while names of tokens are looked at.
var tokenNames = keyindex.Hash("names of API tokens")

const accessColumns = `id, name, hash, scopes, created_at, created_by, expires_at, revoked_at, used_at, makers`

func scanToken(r *engine.Row) (Token, error) {
	t := Token{ID: r.Text(), Name: r.Text()}
	var err error
	if t.Hash, err = unhex(r.Text()); err != nil {
		return t, fmt.Errorf("token %s: its hash cannot be read", t.ID)
	}
	t.Scopes, t.CreatedAt, t.CreatedBy = strings.Split(r.Text(), ","), r.Time(), r.Text()
	t.ExpiresAt, t.RevokedAt, t.UsedAt = r.Time(), r.Time(), r.Time()
	if t.Makers, err = namesOf(r.Text()); err != nil {
		return t, fmt.Errorf("token %s: who made it cannot be read: %w", t.ID, err)
	}
	return t, r.Err
}

var (
	goodTokenSQL = engine.SQL(`SELECT id FROM api_tokens WHERE name = ?1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > ?2)`)
	addTokenSQL  = engine.SQL(`INSERT INTO api_tokens (id, name, hash, scopes, created_at, created_by, expires_at, revoked_at, used_at, makers) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`)
)

// AddToken keeps a new token. ErrTokenName where a good one has its name.
func (s Records) AddToken(ctx context.Context, n Token) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		if err := t.Lock(tokenNames); err != nil {
			return err
		}
		taken := false
		err := t.Query(goodTokenSQL, func(*engine.Row) error { taken = true; return nil }, n.Name, engine.Micro(n.CreatedAt))
		if err == nil && taken {
			err = ErrTokenName
		}
		if err != nil {
			return err
		}
		return t.Put(addTokenSQL, n.ID, n.Name, hex.EncodeToString(n.Hash[:]), strings.Join(n.Scopes, ","), engine.Micro(n.CreatedAt), n.CreatedBy, engine.Micro(n.ExpiresAt), int64(0), int64(0), namesText(n.Makers))
	})
	return store.Wrap(err, "add a token")
}

// Tokens are all tokens, the newest first; also those that were revoked or have expired.
func (s Records) Tokens(ctx context.Context) ([]Token, error) {
	all, err := store.List(ctx, s.Store, `SELECT `+accessColumns+` FROM api_tokens ORDER BY created_at DESC, id`, nil, scanToken)
	return all, store.Wrap(err, "tokens")
}

// Token is the token of an id; messaging.ErrNotFound for none.
func (s Records) Token(ctx context.Context, id string) (Token, error) {
	t, err := only(store.List(ctx, s.Store, `SELECT `+accessColumns+` FROM api_tokens WHERE id = ?1`, []any{id}, scanToken))
	return t, store.Wrap(err, "token %s", id)
}

var revokeTokenSQL = engine.SQL(`UPDATE api_tokens SET revoked_at = ?1 WHERE id = ?2 AND revoked_at = 0`)

// RevokeToken ends a token for good; messaging.ErrNotFound for one that is not there or was revoked before.
func (s Records) RevokeToken(ctx context.Context, id string, at time.Time) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		n, err := t.Exec(revokeTokenSQL, engine.Micro(at), id)
		if err == nil && n == 0 {
			err = messaging.ErrNotFound
		}
		return err
	})
	return store.Wrap(err, "revoke token %s", id)
}

var tokenUsedSQL = engine.SQL(`UPDATE api_tokens SET used_at = ?1 WHERE id = ?2 AND used_at < ?1`)

// TokenUsed notes when a token was used last.
func (s Records) TokenUsed(ctx context.Context, id string, at time.Time) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error { return t.Put(tokenUsedSQL, engine.Micro(at), id) })
	return store.Wrap(err, "note the use of token %s", id)
}
