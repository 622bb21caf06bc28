//go:build unix

package transfer_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/transfer"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// BenchmarkTransfer moves the data to PostgreSQL, which keeps what it says, and back. ROWS sets how many events there are.
func BenchmarkTransfer(b *testing.B) {
	rows, _ := strconv.Atoi(os.Getenv("ROWS"))
	if rows == 0 {
		rows = 10_000
	}
	file := "sqlite:" + filepath.Join(b.TempDir(), "a.db")
	s, err := store.Open(b.Context(), store.Options{DSN: file, Settle: always})
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < rows; {
		var plans []messaging.Plan
		for ; n < rows && len(plans) < 100; n++ {
			plans = append(plans, plan(int64(n)))
		}
		if _, err := s.Accept(b.Context(), plans); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	server := testserver.ForTest(b)
	for b.Loop() {
		database, err := server.NewDatabase(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		from := file
		for _, to := range []string{database + "#" + b.TempDir(), "sqlite:" + filepath.Join(b.TempDir(), "b.db")} {
			done, err := transfer.Run(b.Context(), transfer.Options{From: from, To: to})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(done.Rows()), "rows")
			from = to
		}
		if err := os.Remove(engine.Path(file) + ".moved"); err != nil {
			b.Fatal(err)
		}
	}
}
