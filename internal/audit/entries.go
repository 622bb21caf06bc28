package audit

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

// A Search says which entries of the audit are asked for.
type Search struct {
	Before  int64           // only entries before this number; 0 begins with the newest
	Limit   int             // at most so many
	Contact messaging.Phone // only those about this contact; "" for all
	Configs bool            // only those that say which config was taken up, and who ordered a reload
	Taken   bool            // only those that say which config was taken up
}

// Entries are the entries that a search asks for, the newest first.
func (s Records) Entries(ctx context.Context, q Search) ([]chain.Entry, error) {
	which, args := "", []any{q.Before, int64(q.Limit)}
	switch {
	case q.Taken:
		which = ` AND subject BETWEEN 'config ' AND 'config z'`
	case q.Configs:
		which = ` AND (subject BETWEEN 'config ' AND 'config z' OR subject = '/reload')`
	}
	if q.Contact != "" {
		subject, err := s.Marks.Known(q.Contact)
		if err != nil || subject == "" {
			return nil, store.Wrap(err, "the audit")
		}
		which, args = ` AND subject = ?3`, append(args, subject)
	}
	all, err := store.List(ctx, s.Store, `SELECT `+chain.Columns+` FROM audit WHERE (?1 = 0 OR id < ?1)`+which+` ORDER BY id DESC LIMIT ?2`, args, chain.Scan)
	return all, store.Wrap(err, "the audit")
}
