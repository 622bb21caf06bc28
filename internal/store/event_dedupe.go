package store

import (
	"cmp"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

// Deduplication has two parts: the key of the event, an 8-byte hash of connector and dedupe key and the day it was
// received, looked for on the days of the window in the transaction that stores it; and a comparison of the texts of
// what is found, so that a collision loses no event. An event with a content key is remembered and looked for
// under that as well.
//
// Keys are by day first so that today's meet on few pages.

const (
	dayMicros = 24 * 3600 * 1_000_000
	// usualWindow is how long a key is remembered of an event whose plan does not say it.
	usualWindow = 7 * dayMicros
)

// contentHash is the hash under which the content key of an event is known; never 0.
func contentHash(connector, key string, hash func(...string) int64) int64 {
	return cmp.Or(hash(connector, "content", key), 1)
}

// phoneHash is the hash under which the events of a phone are found.
func phoneHash[P ~string](phone P, hash func(...string) int64) int64 {
	return cmp.Or(hash("phone", string(phone)), 1)
}

// repeats is the stored event that a plan's event repeats, by its dedupe key or by its content; 0 for none.
func (t *Tx) repeats(p *encodedPlan) (first messaging.EventID, err error) {
	if first, err = t.duplicateOf(p, p.hash); err == nil && first == 0 && p.content != 0 {
		first, err = t.duplicateOf(p, p.content)
	}
	return first, err
}

// duplicateOf is the event under hash with this connector and one of its two keys that was received since a moment,
// microseconds; 0 when there is none. Days are only where to look, tomorrow's too, for a clock that was put back across
// midnight: the moment decides.
func (t *Tx) duplicateOf(p *encodedPlan, hash int64) (first messaging.EventID, err error) {
	e, since := &p.plan.Event, p.since()
	ids, err := t.find(max(since/dayMicros, peers.FirstDay), p.received/dayMicros+1, hash)
	for i := len(ids) - 1; i >= 0 && err == nil && first == 0; i-- {
		var known eventKey
		if known, err = t.eventKey(ids[i]); err != nil {
			break
		}
		if known.received >= since && known.connector == e.Connector && (sameKey(known.key, e.DedupeKey) || t.Marks.IsUsed(known.key, e.DedupeKey) ||
			known.content != "" && sameKey(known.content, e.ContentKey)) {
			first = messaging.EventID(ids[i])
		}
	}
	if err != nil {
		return 0, fmt.Errorf("look for a duplicate: %w", err)
	}
	return first, nil
}

// since is how far back an event's keys are remembered.
func (p *encodedPlan) since() int64 {
	return p.received - cmp.Or(p.plan.Window.Microseconds(), usualWindow)
}

// An eventKey is what an event is known again by; empty where it is not kept.
type eventKey struct {
	connector, key, content string
	received                int64
}

var eventKeySQL = engine.SQL(`SELECT connector, dedupe_key, content_key, received_at FROM events WHERE id = ?1`)

func scanEventKey(r *engine.Row) eventKey { return eventKey{r.Text(), r.Text(), r.Text(), r.Int()} }

func (t *Tx) eventKey(id int64) (k eventKey, err error) {
	if k, known := t.foreseen.events[id]; known {
		return k, nil
	}
	err = t.Query(eventKeySQL, func(r *engine.Row) error { k = scanEventKey(r); return r.Err }, id)
	return k, err
}

// sameKey reports whether a stored key is that of an event. Not every engine keeps a text to the byte (see clean), and the hash
// under which it was found is that of the text as it came.
func sameKey(stored, own string) bool { return engine.PostgresText(stored) == engine.PostgresText(own) }

// keyedEventRows are the events with their keys, and keyedMessageRows the messages that events led to, as they were remembered (see remember).
func keyedEventRows(hash func(...string) int64) peers.Keyed {
	return peers.Keyed{Of: numbers.Events, Query: `SELECT received_at, hash, id, connector, content_key, phone FROM events WHERE id > ?1 AND id <= ?2`, Keys: func(r *engine.Row, remember func(peers.Key)) error {
		day, known, id := r.Int()/dayMicros, r.Int(), r.Int()
		remember(peers.Key{Part: day, Hash: known, ID: id})
		if connector, content := r.Text(), r.Text(); content != "" {
			remember(peers.Key{Part: day, Hash: contentHash(connector, content, hash), ID: id})
		}
		if phone := r.Phone(); phone != "" && !phone.IsMasked() {
			remember(peers.Key{Part: peers.PhonesOfEvents, Hash: phoneHash(phone, hash), ID: id})
		}
		return nil
	}}
}

func keyedMessageRows(hash func(...string) int64) peers.Keyed {
	return peers.Keyed{Of: numbers.Messages, Query: `SELECT id, correlation, trigger_name, correlation_key, phone, other_keys FROM messages
			WHERE id > ?1 AND id <= ?2 AND event_id <> 0`, Keys: func(r *engine.Row, remember func(peers.Key)) error {
		id, correlation, trigger, text, phone := r.Int(), r.Int(), r.Text(), r.Text(), r.Text()
		remember(peers.Key{Part: peers.Correlations, Hash: correlation, ID: id})
		if text != "" {
			remember(peers.Key{Part: peers.Correlations, Hash: hash(trigger, "", phone), ID: id})
		}
		for _, other := range otherKeys(r.Text()) {
			remember(peers.Key{Part: peers.Correlations, Hash: hash(trigger, other, ""), ID: id})
		}
		return nil
	}}
}
