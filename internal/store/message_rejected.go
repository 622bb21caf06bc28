package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What the service rejects, and why, is counted by the hour beside the other counters: to look for
// the newest rejections would walk all of them.

// A RejectedCount is how many messages ended for one reason.
type RejectedCount struct {
	State  string // "rejected", or "failed" after it was accepted
	Reason string // the service's words, digits of long numbers hidden
	N      int64
}

const (
	rejectedPrefix   = "rejected/"
	rejectedForHours = 25
	maxTalliedReason = 100 // bytes of a reason that are kept
	maxTallied       = 50  // different ones an hour; others are counted together
	otherReasons     = "other reasons"
)

// rejected is which reasons this hour knows.
type rejected struct {
	mu    sync.Mutex
	hour  int64
	known map[string]bool
}

func rejectedHour(at int64) int64 { return at / int64(time.Hour/time.Microsecond) }

func rejectedFrom(hour int64) string { return fmt.Sprintf("%s%012d/", rejectedPrefix, hour) }

// countRejection counts one message that was rejected, or failed.
func (t *Tx) countRejection(state, reason string) {
	reason = tidyReason(reason)
	hour := rejectedHour(t.At)
	t.rejected.mu.Lock()
	defer t.rejected.mu.Unlock()
	if t.rejected.hour != hour {
		t.rejected.hour, t.rejected.known, t.trimRejected = hour, map[string]bool{}, true
	}
	key := state + "/" + reason
	if !t.rejected.known[key] {
		if len(t.rejected.known) >= maxTallied {
			key = state + "/" + otherReasons
		} else {
			t.rejected.known[key] = true
		}
	}
	t.CountNamed(rejectedFrom(hour)+key, 1)
}

var trimCountsSQL = engine.SQL(`DELETE FROM counts WHERE name >= ?1 AND name < ?2`)

// trimRejections forgets what is a day old.
func (t *Tx) trimRejections() error {
	if t.trimRejected {
		if err := t.Put(trimCountsSQL, rejectedPrefix, rejectedFrom(rejectedHour(t.At)-rejectedForHours)); err != nil {
			return fmt.Errorf("old counts of rejections: %w", err)
		}
	}
	return nil
}

// Rejected counts the messages that the service rejected, or that failed, in the last 24 hours, by
// reason, the most first.
func (s *Store) Rejected(ctx context.Context, now time.Time) (out []RejectedCount, err error) {
	sums := map[[2]string]int64{}
	from := rejectedFrom(rejectedHour(engine.Micro(now)) - 23)
	err = s.Rows(ctx, `SELECT name, value FROM counters WHERE name >= ?1 AND name < ?2`,
		[]any{from, strings.TrimSuffix(rejectedPrefix, "/") + "0"}, func(r *engine.Row) error {
			name := r.Text()
			state, reason, _ := strings.Cut(name[len(from):], "/")
			sums[[2]string{state, reason}] += r.Int()
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("count what was rejected: %w", err)
	}
	for of, n := range sums {
		out = append(out, RejectedCount{of[0], of[1], n})
	}
	slices.SortFunc(out, func(a, b RejectedCount) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.State, a.State), cmp.Compare(a.Reason, b.Reason))
	})
	return out, nil
}

// tidyReason makes one reason of those that differ by a number only, a phone say.
func tidyReason(text string) string {
	var out []byte
	digits := 0
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	for _, b := range []byte(cut(text, maxTalliedReason)) {
		if b >= '0' && b <= '9' {
			if digits++; digits > 4 {
				out = append(out[:len(out)-min(digits-1, 4)], '#')
				digits = -1 << 30 // the rest of the number is in the mark
			}
			if digits >= 0 {
				out = append(out, b)
			}
			continue
		}
		digits = 0
		out = append(out, b)
	}
	if len(out) == 0 {
		return "no reason given"
	}
	return string(out)
}
