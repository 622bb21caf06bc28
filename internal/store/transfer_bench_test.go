//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nudgewire/nudgewire/internal/store"
)

// BenchmarkTransfer moves the data to PostgreSQL and back. ROWS sets how many events there are.
func BenchmarkTransfer(b *testing.B) {
	rows, _ := strconv.Atoi(os.Getenv("ROWS"))
	if rows == 0 {
		rows = 10_000
	}
	file := "sqlite:" + filepath.Join(b.TempDir(), "a.db")
	s := benchOpenAt(b, file)
	fill(b, s, rows, 0, benchNow)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	newDatabase := durableServer(b)
	for b.Loop() {
		from := file
		for _, to := range []string{newDatabase(), "sqlite:" + filepath.Join(b.TempDir(), "b.db")} {
			done, err := store.Transfer(b.Context(), store.TransferOptions{From: from, To: to})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(done.Rows()), "rows")
			from = to
		}
	}
}
