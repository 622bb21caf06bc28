//go:build unix

package main

import (
	"context"
	"errors"

	"github.com/nudgewire/nudgewire/test/testserver"
)

// startServer starts a PostgreSQL server whose data is in a folder of dir, as its makers set it: every commit is synced. It is nil
// where the machine has none.
func startServer(ctx context.Context, dir string) (server, error) {
	s, err := testserver.StartPostgresIn(ctx, dir)
	if errors.Is(err, testserver.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}
