package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire"
)

// Deduplication has two parts: the key of the event, by an 8-byte hash of connector and
// dedupe key and by the day (keys.go), looked for on the days of the window in the transaction
// that stores it; and a comparison of the texts of what is found, so that a collision loses
// no event. One flusher looks and stores, so nobody comes between. An event with a content key
// is known and looked for under that as well.
//
// Keys are by day first so that today's meet on few pages.

const (
	dayMicros = 24 * 3600 * 1_000_000
	// usualWindow is how long a key is remembered of an event whose plan does not say it.
	usualWindow = 7 * dayMicros
	// daysAtOnce is how many days one statement looks at: those of the usual window, which are two more than it has.
	daysAtOnce = 9
)

// days is the range of days that have events, so that a young ledger looks at few.
type days struct{ first, last int64 }

func (d *days) add(day int64) {
	if d.first == 0 || day < d.first {
		d.first = day
	}
	if day > d.last {
		d.last = day
	}
}

// window lists the days to look at for an event of today: its own first, tomorrow too, for
// a clock that was put back across midnight, and the earlier ones since a moment, as far as they have events.
func (d *days) window(today, since int64, list []int64) []int64 {
	list = append(list, today)
	if d.last > today {
		list = append(list, today+1)
	}
	for day := today - 1; day >= since/dayMicros && day >= d.first; day-- {
		list = append(list, day)
	}
	return list
}

// contentHash is the hash under which the content key of an event is known; never 0.
func contentHash(connector, key string, hash func(...string) int64) int64 {
	return cmp.Or(hash(connector, "content", key), 1)
}

// seen looks under hash for the event with this connector and one of its two keys that was received since a moment,
// microseconds; 0 when there is none. Days are only where to look: the moment decides.
func (t *tx) seen(e *nudgewire.Event, hash, today, since int64) (first nudgewire.EventID, err error) {
	if t.keys.known.lacks(hash) {
		return 0, nil
	}
	var room [daysAtOnce]int64
	open := t.days.window(today, since, room[:0])
	same := func(r *row) error {
		id, connector, key, content, received := nudgewire.EventID(r.int()), r.text(), r.text(), r.text(), r.int()
		if received >= since && connector == e.Connector && (key == e.DedupeKey || (content != "" && content == e.ContentKey)) {
			first = id
		}
		return r.err
	}
	err = t.keys.shelved(hash, func(part, id int64) error {
		if slices.Contains(open, part) {
			return t.query(stEventKey, same, id)
		}
		return nil
	})
	if len(open) == 1 && err == nil && first == 0 {
		err = t.query(stSeenOneDay, same, open[0], hash)
		open = nil
	}
	for ; len(open) > 0 && err == nil && first == 0; open = open[min(daysAtOnce, len(open)):] {
		var in [daysAtOnce]int64
		for i := range in {
			in[i] = open[min(i, len(open)-1)]
		}
		err = t.query(stSeen, same, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], hash)
	}
	if err != nil {
		return 0, fmt.Errorf("look for a duplicate: %w", err)
	}
	return first, nil
}
