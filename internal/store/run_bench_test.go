package store

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// runsHistory fills a new ledger with runs of so many messages each, delivered message by message. A
// few messages of each never came to an end, as phones that are off leave them.
func runsHistory(b *testing.B, runs, rows int) *Store {
	b.Helper()
	path := filledLedger(b, runs*rows, runs*rows)
	db, err := engine.OpenFile(path, "PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144")
	if err != nil {
		b.Fatal(err)
	}
	const each = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)`
	for _, sql := range []string{
		fmt.Sprintf(each+` INSERT INTO runs (id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language,
			category, expires, folder, tally, kept, approved, owner, lease_ends, created_at, started_at, ended_at)
			SELECT i + 1, 'winback', 'slot ' || i, 1, 'cron', 'csv list.csv', 'c', 'done', '', '', 'per_message', '', 0, 'winback', 'en',
			'marketing', 0, '', '{}', %d, '', '', 0, 1, 1, 1 FROM n`, runs-1, rows),
		fmt.Sprintf(each+` INSERT INTO run_rows SELECT i * 512 / %d + 1, i * 512 %% %d + 1, 512, i * 512 + 1 FROM n`, runs*rows/512-1, rows, rows),
		`UPDATE messages SET status = 'sent', next_poll_at = 1 WHERE id % 1000 = 0`,
	} {
		if _, err := db.ExecContext(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	return openBench(b, path)
}

// BenchmarkHistoryOfRuns counts the messages of the newest fifty runs, as "jobs history" does. The promise: well
// below a second, whatever their size.
func BenchmarkHistoryOfRuns(b *testing.B) {
	if testing.Short() {
		b.Skip("fills a large ledger")
	}
	runs, rows := 50, 512*40
	if n, err := strconv.Atoi(os.Getenv("NUDGEWIRE_ROWS")); err == nil {
		rows = n / 512 * 512
	}
	if n, err := strconv.Atoi(os.Getenv("NUDGEWIRE_RUNS")); err == nil {
		runs = n
	}
	s := runsHistory(b, runs, rows)
	defer func() { _ = s.Close() }()
	var worst time.Duration
	for b.Loop() {
		for i := range runs {
			begin := time.Now()
			by, err := s.RunMessages(b.Context(), messaging.RunID(i+1))
			if err != nil || by["delivered"]+by["sent"] != int64(rows) {
				b.Fatalf("run %d: %v, %v", i+1, by, err)
			}
			worst = max(worst, time.Since(begin))
		}
	}
	b.ReportMetric(float64(worst.Milliseconds()), "worst_run_ms")
}
