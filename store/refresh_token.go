package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
		return nil, wrap(err, "the turn of a %s", what)
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
		return nil, wrap(err, "the turn of a %s", what)
	}
	return end, nil
}

// RefreshToken returns the OAuth refresh token that was kept for source, a hash of the configured
// one and of whom it belongs to; "" when none was.
func (s *Store) RefreshToken(ctx context.Context, source [sha256.Size]byte) (token string, err error) {
	err = s.rows(ctx, `SELECT token FROM refresh_tokens WHERE source = ?1`, []any{hex.EncodeToString(source[:])}, func(r *row) error {
		token = r.text()
		return nil
	})
	return token, wrap(err, "read a refresh token")
}

// KeepRefreshToken puts token in place of the one that was kept for source.
func (s *Store) KeepRefreshToken(ctx context.Context, source [sha256.Size]byte, token string) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		return t.put(stKeepToken, hex.EncodeToString(source[:]), token, t.at)
	})
	return wrap(err, "keep a refresh token")
}
