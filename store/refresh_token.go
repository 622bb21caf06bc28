package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

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
		_, err := t.exec(stKeepToken, hex.EncodeToString(source[:]), token, t.at)
		return err
	})
	return wrap(err, "keep a refresh token")
}
