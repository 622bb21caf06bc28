package report

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// InDoubtCount are how many of something nobody knows the outcome of, and since when of the oldest.
type InDoubtCount struct {
	Count int64
	Since time.Time // zero where there is none
}

// NextDue is what of an account falls due next, that nothing holds back: past where somebody is behind, zero
// where there is nothing.
type NextDue struct {
	Urgent, Marketing time.Time // a message of the lanes authentication and utility, or of marketing
	Poll              time.Time // a question about a message
}

// Attention is what somebody may have to look at. All of it is alive, so it is read in partial indexes.
type Attention struct {
	InDoubt, PartsInDoubt InDoubtCount
	Next                  map[string]NextDue // by account, those that the config has
}

// Attention reads it.
func (r Records) Attention(ctx context.Context) (a Attention, err error) {
	for _, q := range []struct {
		into *InDoubtCount
		sql  string
	}{
		{&a.InDoubt, `SELECT count(*), COALESCE(min(updated_at), 0) FROM messages WHERE state = 'in_doubt'`},
		{&a.PartsInDoubt, `SELECT count(*), COALESCE(min(updated_at), 0) FROM parts WHERE state = 'in_doubt'`},
	} {
		if err := r.Rows(ctx, q.sql, nil, func(row *engine.Row) error { *q.into = InDoubtCount{row.Int(), row.Time()}; return nil }); err != nil {
			return a, fmt.Errorf("count what is in doubt: %w", err)
		}
	}
	a.Next = map[string]NextDue{}
	waiting, err := r.AccountsWaiting(ctx)
	if err != nil {
		return a, store.Wrap(err, "look for what is due")
	}
	followed, err := r.AccountsFollowed(ctx)
	if err != nil {
		return a, store.Wrap(err, "look for what is to be asked about")
	}
	for _, name := range append(waiting, followed...) {
		if _, looked := a.Next[name]; looked || r.Gone(name) {
			continue
		}
		var next NextDue
		of := r.Account(name, 0)
		if next.Urgent, _, err = of.NextDue(ctx, messaging.Authentication, messaging.Utility); err != nil {
			return a, store.Wrap(err, "look for what is due")
		}
		if next.Marketing, _, err = of.NextDue(ctx, messaging.Marketing); err != nil {
			return a, store.Wrap(err, "look for what is due")
		}
		if next.Poll, _, err = of.NextPoll(ctx); err != nil {
			return a, err
		}
		a.Next[name] = next
	}
	return a, nil
}
