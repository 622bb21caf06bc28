package drift

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// An eventKind is a kind of the events of a connector.
type eventKind struct{ connector, kind string }

// Bounds of what a Watch remembers. What is dropped is read again.
const (
	mostMinutes = 2000
	mostBefore  = 300
)

// A Watch counts the fields of events, while one process leads: one is made for each of its terms, since what it remembers of the hours
// before is true only while nobody else counts.
type Watch struct {
	Records
	// Known says which names of fields the config has written for a connector. Nil knows none.
	Known func(connector string) func(name string) bool

	minutes map[eventKind]minute
	before  map[eventKind]past
}

// A minute is how many events of a kind were looked at in one.
type minute struct{ number, events int64 }

// A past is what was counted in the week before an hour.
type past struct {
	hour int64
	Counts
}

// A look is an event whose fields are to be counted.
type look struct {
	eventKind
	id     messaging.EventID
	at     time.Time
	fields []Field
}

func hourOf(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

const weekHours = int64(Week / time.Hour)

// Look reads the fields of events, and gives what counts them in the transaction that says that they are read. It is a store.Look.
func (w *Watch) Look(ctx context.Context, events []messaging.Event) (func(*store.Tx, func(messaging.EventID) bool) error, error) {
	looks := w.looks(events)
	newest := map[eventKind]int64{}
	for i := range looks {
		l := &looks[i]
		newest[l.eventKind] = max(newest[l.eventKind], hourOf(l.at))
	}
	for k, hour := range newest {
		if b, known := w.before[k]; known && b.hour >= hour {
			continue
		}
		counts, err := w.countsOf(ctx, k, hour-weekHours, hour)
		if err != nil {
			return nil, err
		}
		if w.before == nil || len(w.before) >= mostBefore {
			w.before = map[eventKind]past{}
		}
		w.before[k] = past{hour, counts}
	}
	before := map[eventKind]past{} // the transaction may run twice
	for k := range newest {
		before[k] = w.before[k]
	}
	return func(t *store.Tx, counts func(messaging.EventID) bool) error { return w.note(t, looks, before, counts) }, nil
}

// looks are the events that are looked at, in the order in which they came: live ones of a sender with a payload, not too many a minute.
func (w *Watch) looks(events []messaging.Event) (looks []look) {
	for i := range events {
		e := &events[i]
		if e.History || e.ByHand() || len(e.Payload) == 0 || !w.takes(eventKind{e.Connector, e.Kind}, e.ReceivedAt) {
			continue
		}
		var known func(string) bool
		if w.Known != nil {
			known = w.Known(e.Connector)
		}
		if fields, ok := Shape(string(e.Payload), &e.Contact, known); ok {
			looks = append(looks, look{eventKind{e.Connector, e.Kind}, e.ID, e.ReceivedAt, fields})
		}
	}
	slices.SortStableFunc(looks, func(a, b look) int { return a.at.Compare(b.at) })
	return looks
}

// takes reports whether one more event of a kind is looked at in its minute.
func (w *Watch) takes(k eventKind, at time.Time) bool {
	m, number := w.minutes[k], at.Unix()/60
	if m.number != number {
		m = minute{number: number}
	}
	if m.events++; m.events > EventsPerMinute {
		return false
	}
	if w.minutes == nil || len(w.minutes) >= mostMinutes {
		w.minutes = map[eventKind]minute{}
	}
	w.minutes[k] = m
	return true
}

// note counts the events of each kind and hour.
func (w *Watch) note(t *store.Tx, looks []look, before map[eventKind]past, counts func(messaging.EventID) bool) error {
	kinds := map[eventKind][]look{}
	for _, l := range looks {
		if counts(l.id) {
			kinds[l.eventKind] = append(kinds[l.eventKind], l)
		}
	}
	var all []eventKind
	for k := range kinds {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b eventKind) int {
		return cmp.Or(cmp.Compare(a.connector, b.connector), cmp.Compare(a.kind, b.kind))
	})
	for _, k := range all {
		if err := w.noteKind(t, k, kinds[k], before[k]); err != nil {
			return store.Wrap(err, "count the fields of %s.%s", k.connector, k.kind)
		}
	}
	return nil
}

// noteKind counts events of one kind, which may be of several hours, and finds what differs.
func (w *Watch) noteKind(t *store.Tx, k eventKind, looks []look, before past) error {
	known, err := knows(t, k)
	if err != nil {
		return err
	}
	if !known { // a person took what was sent for the new ground, or there was nothing
		if full, err := isFull(t, k.connector); err != nil || full {
			return err
		}
		delete(w.before, k)
		before.Counts = Counts{}
	}
	var last Counts
	newest := looks[len(looks)-1].at
	for len(looks) > 0 {
		hour, n := hourOf(looks[0].at), 1
		for n < len(looks) && hourOf(looks[n].at) == hour {
			n++
		}
		counts, err := hourCounts(t, k, hour)
		if err != nil {
			return err
		}
		added := Counts{}
		for _, l := range looks[:n] {
			counts.Add(l.fields, l.at, &before.Counts)
			added.Add(l.fields, l.at, &counts)
		}
		if err := putHour(t, k, hour, &counts); err != nil {
			return err
		}
		if hour < before.hour { // it came late, or the next hour began: what is remembered lacks it
			delete(w.before, k)
			before.Counts = before.Counts.Then(added)
		} else {
			last = counts
		}
		looks = looks[n:]
	}
	return putKind(t, k, before.Counts.Then(last), engine.Micro(newest))
}
