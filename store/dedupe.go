package store

import (
	"fmt"

	"github.com/nudgewire/nudgewire"
)

// Deduplication has three parts: an 8-byte hash of connector and key, unique within a day;
// a look at the earlier days of the window in the same transaction; and a comparison of the
// texts wherever hashes meet, so that a true collision loses no event.
//
// The index is by day first because an index on random keys alone is written all over: at two
// million rows that cut inserts to a third. By day, inserts stay among today's pages.

const (
	dayMicros = 24 * 3600 * 1_000_000
	// windowDays is how many earlier days are looked at.
	windowDays = 7
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
// a clock that was put back across midnight, and the earlier ones, as far as they have events.
func (d *days) window(today int64, list []int64) []int64 {
	list = append(list, today)
	if d.last > today {
		list = append(list, today+1)
	}
	for day := today - 1; day >= today-windowDays && day >= d.first; day-- {
		list = append(list, day)
	}
	return list
}

// seen looks for the event with this connector and key. When there is none, slot is the hash
// to store it under today: its own, or the next free one where another key has taken that.
func (t *tx) seen(e *nudgewire.Event, hash, today int64) (first nudgewire.EventID, slot int64, err error) {
	var room, taken [windowDays + 2]int64
	open := t.days.window(today, room[:0])
	slot = hash
	for probe := hash; ; probe++ {
		met := taken[:0] // days on which another key has this hash: there the chain goes on
		each := func(r *row) error {
			id, day, connector, key := r.int(), r.int(), r.text(), r.text()
			if connector == e.Connector && key == e.DedupeKey {
				first = nudgewire.EventID(id)
			}
			met = append(met, day)
			if day == today {
				slot = probe + 1
			}
			return nil
		}
		if len(open) == 1 {
			err = t.query(stSeenOneDay, each, open[0], probe)
		} else {
			var in [windowDays + 2]int64
			for i := range in {
				in[i] = open[min(i, len(open)-1)]
			}
			err = t.query(stSeen, each, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], probe)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("look for a duplicate: %w", err)
		}
		if first != 0 || len(met) == 0 {
			return first, slot, nil
		}
		open = append(open[:0], met...)
	}
}
