package listeners

import (
	"sync"
	"time"
)

// logLimitFor is how long a line of the log stands for all that are like it.
const logLimitFor = time.Minute

// A LogLimiter lets one line a minute through and counts the rest: what strangers, or a full disk, can
// repeat without end must not fill the log.
type LogLimiter struct {
	mu     sync.Mutex
	until  time.Time
	others int64
}

// Line reports whether to write a line now, and how many like it were not written before it.
func (q *LogLimiter) Line(now time.Time) (others int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.until) {
		q.others++
		return 0, false
	}
	others, q.others = q.others, 0
	q.until = now.Add(logLimitFor)
	return others, true
}

// Rest is how many were not written and will be told by no line, because none came after them.
func (q *LogLimiter) Rest(now time.Time) (others int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !now.Before(q.until) {
		others, q.others = q.others, 0
	}
	return others
}
