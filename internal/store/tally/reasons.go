package tally

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What the service rejects, and why, is counted by the hour beside the other counters: to look for
// the newest rejections would walk all of them.

// RejectedPrefix stands before the hour, the state and the reason among the counters.
const RejectedPrefix = "rejected/"

const (
	rejectedForHours = 25
	maxTalliedReason = 100 // bytes of a reason that are kept
	maxTallied       = 50  // different ones an hour; others are counted together
	otherReasons     = "other reasons"
)

// knownReasons are those that this hour has.
type knownReasons struct {
	mu    sync.Mutex
	hour  int64
	names map[string]bool
}

func rejectedHour(at int64) int64 { return at / int64(time.Hour/time.Microsecond) }

// RejectedSince is where the names begin of what was counted in the last 24 hours.
func RejectedSince(now time.Time) string { return rejectedFrom(rejectedHour(engine.Micro(now)) - 23) }

func rejectedFrom(hour int64) string { return fmt.Sprintf("%s%012d/", RejectedPrefix, hour) }

// Reasons are those for which messages were rejected, or failed, in a transaction.
type Reasons struct {
	known *knownReasons
	trim  bool // an hour began, so what is a day old goes
}

// counter is the name by which one message that was rejected, or failed, is counted at that time.
func (r *Reasons) counter(state, reason string, at int64) string {
	reason = tidyReason(reason)
	hour := rejectedHour(at)
	r.known.mu.Lock()
	defer r.known.mu.Unlock()
	if r.known.hour != hour {
		r.known.hour, r.known.names, r.trim = hour, map[string]bool{}, true
	}
	key := state + "/" + reason
	if !r.known.names[key] {
		if len(r.known.names) >= maxTallied {
			key = state + "/" + otherReasons
		} else {
			r.known.names[key] = true
		}
	}
	return rejectedFrom(hour) + key
}

var trimCountsSQL = engine.SQL(`DELETE FROM counts WHERE name >= ?1 AND name < ?2`)

// write forgets what is a day old. What was counted is among the totals.
func (r *Reasons) write(tx *engine.Tx) error {
	if r.trim {
		if err := tx.Put(trimCountsSQL, RejectedPrefix, rejectedFrom(rejectedHour(tx.At)-rejectedForHours)); err != nil {
			return fmt.Errorf("old counts of rejections: %w", err)
		}
	}
	return nil
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
	for _, b := range []byte(plain.Cut(text, maxTalliedReason)) {
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
