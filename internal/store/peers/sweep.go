package peers

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// keyLeads is the condition on a key that it leads to something: to a message that is not masked, or to the memory that its correlation key
// was sent to once; to tombstones; to an event, or to one with its phone, by that or by its words.
var keyLeads = `CASE WHEN part = 0 THEN EXISTS (SELECT 1 FROM messages WHERE messages.id = keys.id AND messages.correlation <> 0) OR EXISTS (SELECT 1 FROM sent_once WHERE sent_once.correlation = keys.hash)
	WHEN part = 1 THEN EXISTS (SELECT 1 FROM tombstones WHERE tombstones.correlation = -1 - keys.hash)
	WHEN part = 2 OR part = 3 THEN EXISTS (SELECT 1 FROM events WHERE events.id = keys.id AND NOT ` + stored.IsMasked("events.phone") + `)
	ELSE EXISTS (SELECT 1 FROM events WHERE events.id = keys.id) END`

// A sweep is due once an eighth as many keys lead nowhere as there are others, but not for the sake of a few.
const (
	sweepShare = 8
	sweepLeast = 1000
)

// Counters of keys that lead nowhere, about, and of what was removed by its age since the data began; the name of the kind follows.
const (
	DeadKeys     = "retention/dead_keys"
	RemovedByAge = "retention/removed/"
)

// sweptAtOnce is how many keys a commit removes at the most.
const sweptAtOnce = 200

// DeadKeysToSweep are how many keys lead nowhere, about, once they are worth a walk through all of them; 0 before.
func DeadKeysToSweep(ctx context.Context, reads engine.Pool) (int64, error) {
	dead, kept := int64(0), int64(0)
	err := reads.Rows(ctx, `SELECT name, value FROM counters WHERE name IN (?1, ?2, ?3, ?4, ?5)`,
		[]any{DeadKeys, tally.CountEvents.String(), tally.CountMessages.String(), RemovedByAge + "events", RemovedByAge + "messages"}, func(r *engine.Row) error {
			switch name, n := r.Text(), r.Int(); name {
			case DeadKeys:
				dead = n
			case tally.CountEvents.String():
				kept += n
			case tally.CountMessages.String():
				kept += 2 * n
			case RemovedByAge + "events":
				kept -= n
			case RemovedByAge + "messages":
				kept -= 2 * n
			}
			return r.Err
		})
	if err != nil || dead < sweepLeast || dead*sweepShare < kept {
		return 0, err
	}
	return dead, nil
}

var dropKeySQL = engine.SQL(`DELETE FROM keys WHERE part = ?1 AND hash = ?2 AND id = ?3 AND NOT (` + keyLeads + `)`)

// Sweep walks through all keys in the order of the table, so that what goes lies side by side, and removes those that lead nowhere. What stays
// makes the knowledge of what is surely new afresh, which can only learn: kept is that of Coordinator.Sweeping. commit runs each of its commits.
func Sweep(ctx context.Context, reads engine.Pool, kept func(hash int64), commit func(run func(*engine.Tx) error) error) error {
	last := Key{Part: -1}
	for n := keyindex.PageSize; n == keyindex.PageSize; {
		n = 0
		var due []Key
		err := reads.Rows(ctx, `SELECT part, hash, id, CASE WHEN `+keyLeads+` THEN 1 ELSE 0 END FROM keys
			WHERE (part, hash, id) > (?1, ?2, ?3) ORDER BY part, hash, id LIMIT ?4`, []any{last.Part, last.Hash, last.ID, int64(keyindex.PageSize)}, func(r *engine.Row) error {
			n++
			if last = (Key{Part: r.Int(), Hash: r.Int(), ID: r.Int()}); r.Int() == 1 {
				kept(last.Hash)
			} else {
				due = append(due, last)
			}
			return r.Err
		})
		for len(due) > 0 && err == nil {
			some := due[:min(len(due), sweptAtOnce)]
			due = due[len(some):]
			err = commit(func(t *engine.Tx) error {
				for _, k := range some {
					if err := t.Put(dropKeySQL, k.Part, k.Hash, k.ID); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
