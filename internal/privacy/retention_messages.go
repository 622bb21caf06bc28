package privacy

import (
	"context"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

// oldMessage is the condition on a message d that it ended before ?1, for us and for the service, and that nothing stands on it: the
// one that took its place is gone, and so is every step of its sequence that may still ask about it.
const oldMessage = endedLong + ` AND d.status_at < ?1
	AND NOT EXISTS (SELECT 1 FROM messages n WHERE n.replaces = d.id AND n.replaces > 0)
	AND NOT EXISTS (SELECT 1 FROM steps s JOIN steps o ON o.sequence = s.sequence JOIN messages x ON x.id = o.message
		WHERE s.message = d.id AND (x.updated_at >= ?1 OR x.state = 'waiting' OR x.state = 'sending' OR x.state = 'in_doubt'))`

// oldAttempt is the condition on an attempt a, or on a verdict, that its message has ended.
const oldAttempt = `NOT EXISTS (SELECT 1 FROM messages d WHERE d.id = a.message AND (d.state = 'waiting' OR d.state = 'sending' OR d.state = 'in_doubt'))`

// oldColumns are what decides what is remembered of a message d.
var oldColumns = `d.id, d.event_id, d.part, d.trigger_name, d.correlation, d.state, d.claimed_at, CASE WHEN d.correlation_key = '' THEN 0 ELSE 1 END,
	CASE WHEN ` + store.WasDroppedInDoubt("d") + ` THEN 1 ELSE 0 END`

// An oldOne is a message that nothing leads to from now on.
type oldOne struct {
	id, event, part, correlation, claimed int64
	trigger                               string
	state                                 messaging.State
	keyed, droppedInDoubt                 bool
}

// scanOld reads oldColumns.
func scanOld(r *engine.Row) oldOne {
	return oldOne{id: r.Int(), event: r.Int(), part: r.Int(), trigger: r.Text(), correlation: r.Int(), state: messaging.State(r.Text()), claimed: r.Int(), keyed: r.Int() == 1, droppedInDoubt: r.Int() == 1}
}

var (
	dropMessagesSQL    = engine.SQL(`DELETE FROM messages WHERE id IN (` + engine.Placeholders(1) + `)`)
	dropAttemptsSQL    = engine.SQL(`DELETE FROM attempts WHERE message IN (` + engine.Placeholders(1) + `)`)
	dropVerdictsSQL    = engine.SQL(`DELETE FROM verdicts WHERE message IN (` + engine.Placeholders(1) + `)`)
	dropResolutionsSQL = engine.SQL(`DELETE FROM resolutions WHERE message IN (` + engine.Placeholders(1) + `)`)
	dropStepsSQL       = engine.SQL(`DELETE FROM steps WHERE message IN (` + engine.Placeholders(1) + `)`)
)

// messageRows are what belongs to a message and goes with it.
var messageRows = []*engine.Statement{dropMessagesSQL, dropAttemptsSQL, dropVerdictsSQL, dropResolutionsSQL, dropStepsSQL}

// perMessages is how many messages go in a commit, with some rows each and as many pages of their own.
const perMessages = 48

var (
	// That a message may have arrived is kept as long as it is: it is never sent again.
	oldAttemptsSQL = engine.SQL(`DELETE FROM attempts AS a WHERE message IN (` + engine.Placeholders(2) + `) AND at < ?1 AND state <> 'in_doubt' AND ` + oldAttempt)
	oldVerdictsSQL = engine.SQL(`DELETE FROM verdicts AS a WHERE message IN (` + engine.Placeholders(2) + `) AND last_at < ?1 AND ` + oldAttempt)
)

// attempts removes how attempts ended that are told by their message's end, too.
func (e *retainer) attempts(ctx context.Context) error {
	before := e.before(e.keep.Attempts)
	if before.IsZero() {
		return nil
	}
	end, err := e.FirstSince(ctx, "messages", "created_at", before)
	for _, one := range []struct {
		remove *engine.Statement
		find   string
	}{
		{oldAttemptsSQL, `SELECT DISTINCT message FROM attempts a WHERE message > ?1 AND message < ?2 AND at < ?3 AND state <> 'in_doubt' AND ` + oldAttempt + ` ORDER BY message`},
		{oldVerdictsSQL, `SELECT DISTINCT message FROM verdicts a WHERE message > ?1 AND message < ?2 AND last_at < ?3 AND ` + oldAttempt + ` ORDER BY message`},
	} {
		if err != nil || end == 0 {
			break
		}
		err = e.ids(ctx, one.find, []any{end, engine.Micro(before)}, perRetention/2, func(ids []int64) error {
			return e.commit(ctx, kindAttempts, func(t *store.Tx) (int64, error) { return execAll(t, one.remove, ids, engine.Micro(before)) })
		})
	}
	return store.Wrap(err, "attempts")
}

// messages removes messages that ended long ago, with all that belongs to them.
func (e *retainer) messages(ctx context.Context) error {
	before := e.before(e.keep.Messages)
	if before.IsZero() {
		return nil
	}
	cut := engine.Micro(before)
	end, err := e.FirstSince(ctx, "messages", "created_at", before)
	if err != nil || end == 0 {
		return store.Wrap(err, "messages")
	}
	find := `SELECT d.id FROM messages d WHERE d.id > ?1 AND d.id < ?2 AND ` + renumbered(oldMessage) + ` ORDER BY d.id`
	err = e.ids(ctx, find, []any{end, cut}, perMessages, func(ids []int64) error {
		due := slices.DeleteFunc(ids, e.isOpen)
		if len(due) == 0 {
			return nil
		}
		return e.commit(ctx, kindMessages, func(t *store.Tx) (int64, error) { return dropMessages(t, due, cut, e.keep.Once) })
	})
	return store.Wrap(err, "messages")
}

var (
	stillOldSQL  = engine.SQL(`SELECT ` + oldColumns + ` FROM messages d WHERE d.id IN (` + engine.Placeholders(2) + `) AND ` + oldMessage)
	replacedSQL  = engine.SQL(`SELECT ` + oldColumns + ` FROM messages n JOIN messages d ON d.id = n.replaces WHERE n.id = ?1 AND n.replaces > 0`)
	rowGoneSQL   = engine.SQL(`UPDATE run_rows SET gone = gone + 1 WHERE message = (SELECT max(message) FROM run_rows WHERE message <= ?1) AND message + row_count > ?1`)
	namedGoneSQL = engine.SQL(`UPDATE run_messages SET gone = gone + 1 WHERE message = (SELECT max(message) FROM run_messages WHERE message <= ?1) AND message + id_count > ?1`)
)

// dropMessages removes those of the messages that are still old.
func dropMessages(t *store.Tx, ids []int64, cut int64, once func(string, bool) bool) (int64, error) {
	var due []oldOne
	err := queryAll(t.Query, stillOldSQL, ids, func(r *engine.Row) error { due = append(due, scanOld(r)); return r.Err }, cut)
	if err != nil {
		return 0, err
	}
	var gone []int64
	for i := 0; i < len(due); i++ {
		d := due[i]
		if slices.Contains(gone, d.id) {
			continue // a list of ids names one several times
		}
		gone = append(gone, d.id)
		// What it took the place of goes with it: without it that one could be sent again.
		err := t.Query(replacedSQL, func(r *engine.Row) error { due = append(due, scanOld(r)); return r.Err }, d.id)
		switch {
		case err != nil:
		case d.part > 0:
			err = t.Put(namedGoneSQL, d.id)
		case d.event == 0:
			err = t.Put(rowGoneSQL, d.id)
		case d.correlation != 0: // it was not masked before
			err = leaveKeys(t, &d, once)
		}
		if err != nil {
			return 0, err
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	for _, s := range messageRows {
		if err := t.ExecAll(s, gone); err != nil {
			return 0, err
		}
	}
	return int64(len(gone)), nil
}

var sentOnceSQL = engine.SQL(`INSERT INTO sent_once (correlation, message, state, at) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (correlation) DO UPDATE SET message = excluded.message, state = excluded.state, at = excluded.at WHERE excluded.at > sent_once.at`)

// leaveKeys leaves the keys of a message that an event led to behind, which lead nowhere from now on. Of a message of a
// trigger that sends once it is remembered that it was sent.
func leaveKeys(t *store.Tx, d *oldOne, once func(string, bool) bool) error {
	t.CountNamed(peers.DeadKeys, 2) // its key and its phone's
	droppedInDoubt := d.droppedInDoubt && d.claimed > 0
	if (d.state != messaging.StateAccepted && !droppedInDoubt) || once == nil || !once(d.trigger, d.keyed) {
		return nil
	}
	state := messaging.StateAccepted
	if droppedInDoubt {
		state = messaging.StateDropped
	}
	if err := t.Put(sentOnceSQL, d.correlation, d.id, string(state), d.claimed); err != nil {
		return err
	}
	return peers.Keep(t.Tx, peers.Key{Part: peers.Correlations, Hash: d.correlation, ID: d.id})
}

// renumbered is a condition whose ?1 is the ?3 of a statement.
func renumbered(condition string) string { return strings.ReplaceAll(condition, "?1", "?3") }
