package privacy

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What is known of contacts leaves with their order to be forgotten, and with their age.

var (
	unlearnSQL = engine.SQL(`DELETE FROM contacts WHERE phone = ?1 AND (?2 = '' OR connector = ?2)`)
	// One that still waits for its look-up is read after that. Its fields were counted already.
	readAgainSQL = engine.SQL(`INSERT INTO unread_events (event_id, again) SELECT id, 1 FROM events WHERE id = ?1 AND phone = ?2 AND (?3 = '' OR connector = ?3)
		AND NOT EXISTS (SELECT 1 FROM lookups WHERE lookups.event_id = events.id) ON CONFLICT DO NOTHING`)
	unlearnOldSQL = engine.SQL(`DELETE FROM contacts WHERE phone = ?1 AND connector = ?2 AND last_at < ?3`)
)

// known forgets what events said of contacts, after the events themselves.
func (e *eraser) known(ctx context.Context) error {
	for phone := range e.phones {
		if err := e.unlearn(ctx, phone, ""); err != nil {
			return err
		}
	}
	for connector, upTo := range e.connectors {
		for n, last := perErase, ""; n == perErase; {
			all, err := store.List(ctx, e.Store, `SELECT phone FROM contacts WHERE phone > ?1 AND connector = ?2 AND first_at <= ?3 ORDER BY phone LIMIT ?4`,
				[]any{last, connector, upTo, int64(perErase)}, engine.Text)
			if err != nil {
				return err
			}
			n = len(all)
			for _, phone := range all {
				last = phone
				if err := e.unlearn(ctx, phone, connector); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unlearn forgets what a connector said of a contact, or with "" what all said. What is left of its events came later, and is read again.
func (e *eraser) unlearn(ctx context.Context, phone, connector string) error {
	return e.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		ids, err := e.LockKnown(t, phone)
		if err == nil {
			err = t.Put(unlearnSQL, phone, connector)
		}
		for _, id := range ids {
			if err == nil {
				err = t.Put(readAgainSQL, id, phone, connector)
			}
		}
		return err
	})
}

// known removes what is known of contacts of whom nothing came for as long as phones are kept.
func (e *retainer) known(ctx context.Context) error {
	before := engine.Micro(e.before(e.keep.Phones))
	last := [2]string{}
	for n := perRetention; n == perRetention && before > 0; {
		n = 0
		var due [][2]string
		err := e.Rows(ctx, `SELECT phone, connector, last_at FROM contacts WHERE (phone, connector) > (?1, ?2) ORDER BY phone, connector LIMIT ?3`,
			[]any{last[0], last[1], int64(perRetention)}, func(r *engine.Row) error {
				n++
				if last = [2]string{r.Text(), r.Text()}; r.Int() < before {
					due = append(due, last)
				}
				return r.Err
			})
		if err == nil && len(due) > 0 {
			err = e.commit(ctx, "", func(t *store.Tx) (int64, error) {
				for _, of := range due {
					if err := t.Put(unlearnOldSQL, of[0], of[1], before); err != nil {
						return 0, err
					}
				}
				return 0, nil
			})
		}
		if err != nil {
			return store.Wrap(err, "contacts")
		}
	}
	return nil
}
