//go:build unix

package testserver

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// ForTest starts a server for one test, which is skipped where the machine has no PostgreSQL. flags are those of StartPostgres.
func ForTest(t testing.TB, flags ...string) *Postgres {
	t.Helper()
	server, err := StartPostgres(t.Context(), flags...)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Fill takes every connection of a server, also those that nudgewire has, until full says that there is none for it any more. free
// gives them back.
func Fill(t testing.TB, address string, full func() bool) (free func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var held []*pgx.Conn
	free = func() {
		for _, c := range held {
			_ = c.Close(ctx)
		}
		held = nil
	}
	t.Cleanup(free)
	more := func() bool {
		c, err := pgx.Connect(ctx, address)
		if err == nil {
			held = append(held, c)
		}
		return err == nil
	}
	if !more() {
		t.Fatal("no connection at all")
	}
	// Where nudgewire connects again before we do, its reads may fail while its writes go on: it is full when it has none left.
	for left := 1; left > 0 || more() || !full(); {
		if _, err := held[0].Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nudgewire'`); err != nil {
			t.Fatal(err)
		}
		for more() {
		}
		if err := held[0].QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'nudgewire'`).Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
	return free
}
