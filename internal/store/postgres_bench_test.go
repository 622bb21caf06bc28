//go:build unix

package store_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/store"
)

func BenchmarkPostgresAccept(b *testing.B) { accepts(b, durable) }
func BenchmarkPostgresSends(b *testing.B)  { sends(b, durable(b)) }
func BenchmarkPostgresPolls(b *testing.B)  { polls(b, durable(b)) }

// durable opens a store in a server that keeps what it says.
func durable(b *testing.B) *store.Store {
	b.Helper()
	return benchOpenAt(b, durableServer(b)()+"#"+b.TempDir())
}

// durableServer starts a server that keeps what it says, and gives the addresses of new databases in it.
func durableServer(b *testing.B) (newDatabase func() string) {
	b.Helper()
	server := startServer(b)
	return func() string {
		dsn, err := server.NewDatabase(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return dsn
	}
}
