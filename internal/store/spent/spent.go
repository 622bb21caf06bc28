// Package spent knows what was spent in points: by the counts of the hours, which say what the service took, and by what is on its way or in
// doubt.
package spent

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Lock is what those lock who are about to spend.
func Lock(hash func(...string) int64) int64 { return hash("budget") }

// A Query runs a statement, in a transaction or beside it.
type Query func(s *engine.Statement, each func(*engine.Row) error, args ...any) error

// Points are what a message costs; nil is nothing.
type Points func(account string, c messaging.Category, phone messaging.Phone) float64

// Sums are what was spent. It remembers the hours that nobody counts in any more, so that a claim reads no month. Its zero value is ready.
type Sums struct {
	mu   sync.Mutex
	past [2]past
}

// past is what was spent in hours of UTC.
type past struct{ from, until, sum int64 }

// lately is how many hours back a count may still come: another node's clock is not this one's.
const lately = 2

// longestUpload is more than an upload takes.
const longestUpload = 24 * tally.HourMicros

const points = `about IN ('trigger', 'job') AND what IN ('` + tally.HourSpent + `', '` + tally.HourPoints + `', '` + tally.HourTestCost + `')`

// What is under way is of no day yet: it counts for the one in which it is asked, and a doubt for the one in which its call began. It is one
// statement, so that what ends meanwhile is seen once, here or there.
var (
	pastSQL = engine.SQL(`SELECT CAST(coalesce(sum(value), 0) AS BIGINT) FROM hourly_counts WHERE hour >= ?1 AND hour < ?2 AND ` + points)
	nowSQL  = engine.SQL(`SELECT 'hour', hour, CAST(sum(value) AS BIGINT), '', '', '' FROM hourly_counts WHERE hour IN (?1 + 0, ?2 + 0, ?3 + 0, ?4 + 0) AND ` + points + ` GROUP BY hour
		UNION ALL SELECT state, claimed_at, 0, account, category, phone FROM messages WHERE state = 'sending'
		UNION ALL SELECT state, claimed_at, 0, account, category, phone FROM messages WHERE state = 'in_doubt' AND claimed_at >= ?5
		UNION ALL SELECT state, claimed_at, 0, goes, '', '' FROM parts WHERE claimed_at >= ?6 AND claimed_at > 0 AND (state = 'uploading' OR state = 'in_doubt' AND claimed_at >= ?5)`)
)

// Read is what was spent on the day and in the month of a moment, which may lie ahead. clock is the time that counts are written by, and noted what a
// transaction has counted and not written yet.
func (s *Sums) Read(query Query, of messaging.Calendar, moment time.Time, clock, noted int64, cost Points) (out messaging.Spent, err error) {
	day, month := of.Begins(moment)
	recent := tally.HourOf(clock) - lately
	since := [2]time.Time{day, month}
	var sums [2]int64
	for i := range since {
		if sums[i], err = s.before(query, i, tally.FirstHour(since[i]), recent); err != nil {
			return out, err
		}
		if !since[i].After(engine.Moment(clock)) {
			sums[i] += noted
		}
	}
	add := func(at, n int64) {
		for i := range since {
			if at >= engine.Micro(since[i]) {
				sums[i] += n
			}
		}
	}
	err = query(nowSQL, func(r *engine.Row) error {
		what, at, n, account, category, phone := r.Text(), r.Int(), r.Int(), r.Text(), messaging.Category(r.Text()), r.Phone()
		switch {
		case what == "hour":
			at *= tally.HourMicros
		case category != "":
			if cost != nil {
				n = messaging.Thousandths(cost(account, category, phone))
			}
		default:
			goes, err := stored.DecodeList[messaging.PartShare](account)
			if err != nil {
				return err
			}
			for _, share := range goes {
				n += messaging.Thousandths(share.Points)
			}
		}
		if what == string(messaging.StateSending) || what == string(messaging.PartUploading) {
			at = math.MaxInt64
		}
		add(at, n)
		return r.Err
	}, recent, recent+1, recent+2, recent+3, engine.Micro(month), min(engine.Micro(month), clock-longestUpload))
	if err != nil {
		return out, fmt.Errorf("what was spent: %w", err)
	}
	return messaging.Spent{Day: sums[0], Month: sums[1]}, nil
}

// before is what was spent from an hour on and before another.
func (s *Sums) before(query Query, i int, from, until int64) (int64, error) {
	s.mu.Lock()
	known := s.past[i]
	s.mu.Unlock()
	if until = max(from, until); known.from != from || known.until > until {
		known = past{from: from, until: from}
	}
	if known.until == until {
		return known.sum, nil
	}
	err := query(pastSQL, func(r *engine.Row) error { known.sum += r.Int(); return r.Err }, known.until, until)
	if err != nil {
		return 0, fmt.Errorf("what was spent before: %w", err)
	}
	known.until = until
	s.mu.Lock()
	s.past[i] = known
	s.mu.Unlock()
	return known.sum, nil
}
