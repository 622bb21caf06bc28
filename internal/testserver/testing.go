//go:build unix

package testserver

import (
	"errors"
	"testing"
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
