package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A backlog is what messages that are halted look like in the ledger, by their number i.
type backlog struct {
	halt                        messaging.Hold
	event, trigger, correlation string
}

// haltedBacklog is a ledger in which n due messages that are halted stand before everything else,
// and one more halt that stops nothing.
func haltedBacklog(b *testing.B, n int, of backlog) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "nudgewire.db")
	s := openBench(b, path)
	for _, h := range []messaging.Hold{of.halt, {Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "another"}} {
		if err := s.changeHolds(b.Context(), nil, func(t *Tx) error { return t.hold(h) }); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := engine.OpenFile(path, "PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144", "PRAGMA temp_store = MEMORY")
	if err != nil {
		b.Fatal(err)
	}
	if n > 0 {
		_, err = db.ExecContext(b.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO messages (id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, state, reason, due_at, expires_at,
				created_at, updated_at, claimed_at, attempt, restarts, owner, lease_ends, config)
			SELECT i, %s, 1700000000000000 + i, '%s', '%s' || i, random(), '4477' || (10000000 + i), 'marketing',
				'{"template":"cart_reminder","language":"en","variables":["Ana","Enamel mug","https://shop.example.com/cart/c0ffee"]}',
				'waiting', '', 1700000000000000 + i, 0, 1700000000000000 + i, 1700000000000000 + i, 0, 0, 0, '', 0, 'a1b2c3d4' FROM n`, n, of.event, of.trigger, of.correlation))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := db.ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkClaimBehindHalted takes one due message at a time that stands behind a backlog of
// halted ones. The question is whether p50_µs grows with the backlog.
func BenchmarkClaimBehindHalted(b *testing.B) {
	claimBehind(b, backlog{messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "reminder"}, "i", "reminder", "cart-"})
}

// BenchmarkClaimBehindPaused asks the same of what a paused run has handed over.
func BenchmarkClaimBehindPaused(b *testing.B) {
	claimBehind(b, backlog{messaging.RunHold(7, "paused by Ann"), "0", "winback", messaging.RowKeys(7)})
}

func claimBehind(b *testing.B, of backlog) {
	for _, rows := range []int{0, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d", rows), func(b *testing.B) {
			if rows > 100_000 && testing.Short() {
				b.Skip("fills a large ledger")
			}
			s := openBench(b, haltedBacklog(b, rows, of))
			defer func() { _ = s.Close() }()
			claimOneByOne(b, s)
			start := time.Now()
			if _, _, err := s.NextDue(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(start).Microseconds()), "next_µs")
		})
	}
}
