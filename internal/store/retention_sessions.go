package store

import "context"

var oldSessionsSQL = SQL(`DELETE FROM console_sessions WHERE began_at <= ?1 OR seen_at <= ?2`)

// sessions removes those that are over, and links.
func (e *retainer) sessions(ctx context.Context) error {
	return e.commit(ctx, "", func(t *Tx) (int64, error) {
		err := t.Put(oldSessionsSQL, Micro(e.now.Add(-SessionLife)), Micro(e.now.Add(-SessionIdle)))
		if err == nil {
			err = t.Put(oldLinksSQL, Micro(e.now))
		}
		return 0, err
	})
}
