package tally

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What came to nothing is counted in the commit that stores it, one row for each connector, reason and kind: an event that is of use writes
// nothing here, unless those of its kind had no phone before. The rows are few, whatever senders make up.

// An UnusedKey says what is counted together.
type UnusedKey struct {
	Connector string
	Why       messaging.Unused
	Kind      string
}

// unusedSeen is what a transaction adds to a row.
type unusedSeen struct {
	used  bool // an event came that is of use; what is counted came after it
	n     int64
	event int64
}

// unusedRoom is how many kinds of one connector and reason have rows of their own.
const unusedRoom = 20

// knownUnused are the rows that there are. It may name some that are gone, and lack what another node wrote lately.
type knownUnused struct {
	mu    sync.Mutex
	rows  map[UnusedKey]bool
	kinds map[UnusedKey]int // without the kind
}

func (k *knownUnused) set(all []messaging.UnusedCount) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows, k.kinds = map[UnusedKey]bool{}, map[UnusedKey]int{}
	for i := range all {
		k.add(UnusedKey{all[i].Connector, all[i].Why, all[i].Kind})
	}
}

func (k *knownUnused) add(key UnusedKey) {
	if k.rows == nil {
		k.rows, k.kinds = map[UnusedKey]bool{}, map[UnusedKey]int{}
	}
	if !k.rows[key] {
		k.rows[key] = true
		k.kinds[UnusedKey{Connector: key.Connector, Why: key.Why}]++
	}
}

// room is key, or what it is counted as where its connector has no room left; it is known from now on.
func (k *knownUnused) room(key UnusedKey) UnusedKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rows[key] {
		return key
	}
	if k.kinds[UnusedKey{Connector: key.Connector, Why: key.Why}] >= unusedRoom {
		key.Kind = HourOther
	}
	k.add(key)
	return key
}

func (k *knownUnused) has(key UnusedKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rows[key]
}

// Unused is what came to nothing in a transaction, and what is of use again.
type Unused struct {
	known *knownUnused
	seen  map[UnusedKey]unusedSeen
}

// Add counts what came to nothing, by the event that did, 0 for none.
func (u *Unused) Add(key UnusedKey, event int64) {
	key = u.known.room(key)
	one := u.seen[key]
	one.n, one.event = one.n+1, event
	u.set(key, one)
}

// Used says that something of this kind was of use, which ends the counting if there was one.
func (u *Unused) Used(key UnusedKey) {
	if u.known.has(key) {
		u.set(key, unusedSeen{used: true})
	}
}

func (u *Unused) set(key UnusedKey, one unusedSeen) {
	if u.seen == nil {
		u.seen = map[UnusedKey]unusedSeen{}
	}
	u.seen[key] = one
}

var (
	unusedSQL = engine.SQL(`INSERT INTO unused (connector, why, kind, writer, n, first_at, last_at, used_at, event_id)
		VALUES (?1, ?2, ?3, {{writer}}, ?4, ?5, ?5, 0, ?6)
		ON CONFLICT (connector, why, kind, writer) DO UPDATE SET
			n = CASE WHEN unused.last_at > ?7 AND ` + notUsedSince + ` THEN unused.n ELSE 0 END + excluded.n,
			first_at = CASE WHEN unused.n > 0 AND unused.last_at > ?7 AND ` + notUsedSince + ` THEN unused.first_at ELSE excluded.first_at END,
			last_at = excluded.last_at, event_id = excluded.event_id`)
	usedAgainSQL = engine.SQL(`INSERT INTO unused (connector, why, kind, writer, n, first_at, last_at, used_at, event_id)
		VALUES (?1, ?2, ?3, {{writer}}, 0, 0, 0, ?4, 0)
		ON CONFLICT (connector, why, kind, writer) DO UPDATE SET n = 0, used_at = excluded.used_at`)
)

// write adds what was counted.
func (u *Unused) write(tx *engine.Tx) error {
	for _, k := range slices.SortedFunc(maps.Keys(u.seen), func(a, b UnusedKey) int {
		return cmp.Or(cmp.Compare(a.Connector, b.Connector), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Kind, b.Kind))
	}) {
		one := u.seen[k]
		if one.used {
			if err := tx.Put(usedAgainSQL, k.Connector, string(k.Why), k.Kind, tx.At); err != nil {
				return fmt.Errorf("what is of use again: %w", err)
			}
		}
		if one.n == 0 {
			continue
		}
		since := tx.At - messaging.UnusedFor.Microseconds()
		if k.Why.AtOnce() {
			since = 0
		}
		if err := tx.Put(unusedSQL, k.Connector, string(k.Why), k.Kind, one.n, tx.At, one.event, since); err != nil {
			return fmt.Errorf("what came to nothing: %w", err)
		}
	}
	return nil
}

// notUsedSince is the condition on a row of unused that nobody had an event of use since its counting began.
const notUsedSince = `unused.first_at >= (SELECT max(u.used_at) FROM unused u WHERE u.connector = unused.connector AND u.why = unused.why AND u.kind = unused.kind)`
