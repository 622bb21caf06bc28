package store

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// filledLedger fills a new ledger with messages that ended long ago, and as many events as
// asked, by plain SQL: the point is what is there, not how it came.
func filledLedger(b *testing.B, messages, events int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "nudgewire.db")
	s, err := Open(b.Context(), Options{DSN: "sqlite:" + path})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := engine.OpenFile(path, "PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144", "PRAGMA temp_store = MEMORY")
	if err != nil {
		b.Fatal(err)
	}
	const from = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)`
	for _, fill := range []struct {
		rows int
		sql  string
	}{
		{messages, from + ` INSERT INTO messages (id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, state, due_at, created_at, updated_at,
			claimed_at, attempt, config, message_id, status, accepted_at, status_at, polls, sent_at, delivered_at)
			SELECT i, i, 1700000000000000 + i, 'abandoned-cart', 'cart-' || i, random(), '4477' || (10000000 + i), 'marketing',
			'{"template":"cart_reminder","language":"en","variables":["Ana","Enamel mug","https://shop.example.com/cart/c0ffee"]}',
			'accepted', 1700000000000000 + i, 1700000000000000 + i, 1700000000000000 + i, 1700000000000000 + i, 1, 'a1b2c3d4', '' || (90071992547409930 + i), 'delivered',
			1700000000000000 + i, 1700000000000000 + i, 4, 1700000000000000 + i, 1700000000000000 + i FROM n`},
		{events, from + ` INSERT INTO events (id, hash, connector, kind, topic, dedupe_key, phone, phone_problem, occurred_at, received_at, content_type, content)
			SELECT i, random(), 'shopify', 'cart.updated', 'carts/update', 'webhook-' || i, '4477' || (10000000 + i), '', 1700000000000000 + i, 1700000000000000 + i, '', x'' FROM n`},
	} {
		if fill.rows > 0 {
			if _, err := db.ExecContext(b.Context(), fmt.Sprintf(fill.sql, fill.rows)); err != nil {
				b.Fatal(err)
			}
		}
	}
	if _, err := db.ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	if err := openBench(b, path).Close(); err != nil { // which gives the rows their keys
		b.Fatal(err)
	}
	return path
}

func openBench(b testing.TB, path string) *Store {
	b.Helper()
	s, err := Open(b.Context(), Options{DSN: "sqlite:" + path, Settle: planAll})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkClaim takes one due message at a time out of a few that wait, beside nothing
// and beside five million that ended. The promise is about p50_µs: at most 1.5 times as much.
func BenchmarkClaim(b *testing.B) {
	for _, rows := range []int{0, 5_000_000} {
		b.Run(fmt.Sprintf("beside%drows", rows), func(b *testing.B) {
			if rows > 0 && testing.Short() {
				b.Skip("fills a large ledger")
			}
			s := openBench(b, filledLedger(b, rows, 0))
			defer func() { _ = s.Close() }()
			claimOneByOne(b, s)
		})
	}
}

// BenchmarkOpen opens, uses and closes a ledger of a million messages. The promises: under 200 ms,
// and a resident size far below 150 MB.
func BenchmarkOpen(b *testing.B) {
	if testing.Short() {
		b.Skip("fills a large ledger")
	}
	path := filledLedger(b, 1_000_000, 1_000_000)
	var worst time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		s := openBench(b, path)
		worst = max(worst, time.Since(start))
		if _, err := s.Events(b.Context(), EventFilter{Phone: "447710500000", Limit: 10}); err != nil {
			b.Fatal(err)
		}
		if _, _, err := s.NextDue(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(worst.Milliseconds()), "worst_open_ms")
	b.ReportMetric(resident(b), "RSS_MB")
}

// resident is the process's resident memory in MB, where the system tells.
func resident(b *testing.B) float64 {
	b.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1000
}

// claimOneByOne stores b.N due messages, claims each alone and reports how long a claim took.
func claimOneByOne(b *testing.B, s *Store) {
	b.Helper()
	for i := 0; i < b.N; i += 100 {
		plans := make([]messaging.Plan, 100)
		for j := range plans {
			plans[j] = testPlan(strconv.Itoa(i + j))
		}
		if _, err := s.Accept(b.Context(), plans); err != nil {
			b.Fatal(err)
		}
	}
	now := time.Now()
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		got, err := s.Claim(b.Context(), messaging.ClaimRequest{Owner: "o", Now: now, Lease: time.Hour, Authentication: 1, Utility: 1, Marketing: 1})
		if err != nil || len(got) != 1 {
			b.Fatalf("claimed %d: %v", len(got), err)
		}
		took = append(took, time.Since(start))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50_µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99_µs")
}
