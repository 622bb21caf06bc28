package tally

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What happens is counted by the hour in which it happened, in the commit that knows of it, so that a report is exact
// and asks no history. Each count is a row that is added to: as many of a commit as are alike are one.

// HourMicros is how long an hour is, in the unit of stored times.
const HourMicros = int64(time.Hour / time.Microsecond)

// HoursKept is how long counts by the hour are kept: long enough for the same day of the year before.
const HoursKept = 400 * 24 * time.Hour

// FirstHour is the first hour that begins at a time or after it, as counts are stored by it.
func FirstHour(at time.Time) int64 { return (engine.Micro(at) + HourMicros - 1) / HourMicros }

// HourOf is the hour of a stored time.
func HourOf(at int64) int64 { return at / HourMicros }

// An HourKey says what is counted together.
type HourKey struct {
	About, What, Name, Detail, Country, Class string
}

// What an HourKey is about.
const (
	AboutConnector = "connector"
	AboutTrigger   = "trigger"
	AboutJob       = "job"
)

// The words of what is counted, beside those of the states that a message ends in.
const (
	HourEvent     = "event"
	HourDuplicate = "duplicate"
	HourRefused   = "refused" // a request
	HourDecision  = "decision"
	HourQueued    = "queued"
	HourAgain     = "again" // it waits once more
	HourShadowed  = "shadowed"
	HourUploaded  = "uploaded"
	HourSpent     = "message_points"  // what the service took one by one, in thousandths, as the next
	HourPoints    = "uploaded_points" // files that it took
	HourTested    = "tested"          // tests that the service took
	HourTestCost  = "test_points"     // of these, in thousandths, too
	HourDelivered = string(messaging.StatusDelivered)
	HourRead      = string(messaging.StatusRead)
	HourFailed    = string(messaging.StatusFailed)
	HourExpired   = string(messaging.StatusExpired)
)

// An hour has at most so many different counts of one kind in one process; those that are more are counted without what tells them apart. What
// strangers can make up has a room of its own, so that it takes none from messages.
var hourRooms = map[string]int{HourEvent: 300, HourRefused: 50, HourDecision: 1000}

const (
	messageRoom = 2000
	HourOther   = "other"
)

// knownHours are the counts that this hour has.
type knownHours struct {
	mu   sync.Mutex
	hour int64
	keys map[HourKey]bool
	used map[string]int // by kind
}

// room is k, or what it is counted as where its kind has no room left.
func (h *knownHours) room(hour int64, k HourKey) HourKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hour != hour {
		h.hour, h.keys, h.used = hour, map[HourKey]bool{}, map[string]int{}
	}
	if h.keys[k] {
		return k
	}
	kind, most := k.What, hourRooms[k.What]
	if most == 0 {
		kind, most = "", messageRoom
	}
	if h.used[kind] >= most {
		if k.Detail, k.Country = HourOther, ""; k.What == HourRefused {
			k.Name = HourOther
		}
		return k
	}
	h.keys[k] = true
	h.used[kind]++
	return k
}

// Hours are what happens in a transaction, as it is counted by the hour.
type Hours struct {
	known  *knownHours
	counts map[HourKey]int64
}

// Add counts n of what happened now.
func (h *Hours) Add(k HourKey, n int64) {
	if h.counts == nil {
		h.counts = map[HourKey]int64{}
	}
	h.counts[k] += n
}

// Points are those that were counted, in thousandths.
func (h *Hours) Points() (n int64) {
	for k, one := range h.counts {
		if spends(k.What) {
			n += one
		}
	}
	return n
}

// WritePoints adds nothing but the points: rules ask for these.
func (h *Hours) WritePoints(tx *engine.Tx) error {
	maps.DeleteFunc(h.counts, func(k HourKey, _ int64) bool { return !spends(k.What) })
	return h.write(tx)
}

func spends(what string) bool {
	return what == HourSpent || what == HourPoints || what == HourTestCost
}

// ArrivalTimes are the upper ends of the classes of times from accepted to delivered; one class more is for what took longer.
var ArrivalTimes = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// ArrivalTime is the class of a time from accepted to delivered: two digits, the place in ArrivalTimes.
func ArrivalTime(took time.Duration) string {
	i, _ := slices.BinarySearch(ArrivalTimes[:], took)
	return arrivalWords[i]
}

var arrivalWords = func() (words [len(ArrivalTimes) + 1]string) {
	for i := range words {
		words[i] = fmt.Sprintf("%02d", i)
	}
	return words
}()

// As with the counters, each writer adds to rows of its own.
var hourSQL = engine.SQL(`INSERT INTO hourly_counts (hour, about, what, name, detail, country, class, writer, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, {{writer}}, ?8)
		ON CONFLICT (hour, about, what, name, detail, country, class, writer) DO UPDATE SET value = hourly_counts.value + excluded.value`)

// write adds what was counted.
func (h *Hours) write(tx *engine.Tx) error {
	if len(h.counts) == 0 {
		return nil
	}
	hour := HourOf(tx.At)
	sums := make(map[HourKey]int64, len(h.counts))
	keys := make([]HourKey, 0, len(h.counts))
	for k, n := range h.counts {
		k = h.known.room(hour, k)
		if sums[k] == 0 {
			keys = append(keys, k)
		}
		sums[k] += n
	}
	slices.SortFunc(keys, compareHours)
	for _, k := range keys {
		if err := tx.Put(hourSQL, hour, k.About, k.What, k.Name, k.Detail, k.Country, k.Class, sums[k]); err != nil {
			return fmt.Errorf("counts of the hour: %w", err)
		}
	}
	return nil
}

func compareHours(a, b HourKey) int {
	return cmp.Or(cmp.Compare(a.About, b.About), cmp.Compare(a.What, b.What), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Detail, b.Detail), cmp.Compare(a.Country, b.Country), cmp.Compare(a.Class, b.Class))
}
