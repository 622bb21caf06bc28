package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A server that has no room for the locks of one more connection serves the others: no outage, which would end what they ask.
func TestNoRoomForTheLocksOfANewConnectionIsACollision(t *testing.T) {
	e := NewPostgres(func(context.Context) (*pgx.Conn, error) {
		return nil, fmt.Errorf("where the data lives: %w", &pgconn.PgError{Code: noRoomForLocks})
	}, nil)
	for range 2 { // the second time, too
		if err := e.Begin(); !Collided(err) || ConcernsAll(err) {
			t.Errorf("begin: %v", err)
		}
	}
}
