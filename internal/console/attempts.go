package console

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	attemptsAt   = 10          // sign-ins that may fail from one address, and for one name
	attemptsIn   = time.Minute // within this
	mostAttempts = 4096        // addresses and names that are remembered, of each
)

// attempts are sign-ins that failed, by where they came from or by whom they were for. The zero value is ready.
type attempts struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]attempt
}

type attempt struct {
	failed int
	since  time.Time
}

// countAttempt counts an attempt before it is made, so that many at the same time are no way around; ok is false where there were too many.
func (a *attempts) countAttempt(of string, now time.Time) (ok bool) {
	key := sha256.Sum256([]byte(of)) // a stranger chooses how long it is
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.by[key]
	if now.Sub(one.since) >= attemptsIn {
		one = attempt{since: now}
	}
	if one.failed >= attemptsAt {
		return false
	}
	if a.by == nil {
		a.by = map[[sha256.Size]byte]attempt{}
	}
	if _, known := a.by[key]; !known {
		evict(a.by, mostAttempts-1, func(o attempt) bool { return now.Sub(o.since) >= attemptsIn }, func(o attempt) time.Time { return o.since })
	}
	one.failed++
	a.by[key] = one
	return true
}

// forgive takes back one that did not fail.
func (a *attempts) forgive(of string) {
	key := sha256.Sum256([]byte(of))
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.by[key]; one.failed > 0 {
		one.failed--
		a.by[key] = one
	}
}
