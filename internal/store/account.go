package store

import (
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Rooms that call one account of the service work on its rows alone: what waits for an account, and what
// it was sent by, says so by its column account. So a halt, an empty budget or a slow answer of one account
// never keeps rows of another from being claimed (decision 4).

// An Account is the store as the rooms of one account see it.
type Account struct {
	*Store
	name string
	slot int
}

// Account is the store for the rooms of an account; "" is that of the section api. firstSlot is where its
// share of the slots for calls begins (see BeginCall).
func (s *Store) Account(name string, firstSlot int) Account { return Account{s, name, firstSlot} }

// Claim is Store.Claim of the account's messages.
func (a Account) Claim(ctx context.Context, q messaging.ClaimRequest) ([]messaging.Message, error) {
	q.Account = a.name
	return a.Store.Claim(ctx, q)
}

// ClaimProbe is Store.ClaimProbe of the account's messages.
func (a Account) ClaimProbe(ctx context.Context, p messaging.ProbeRequest) ([]messaging.Message, error) {
	p.Account = a.name
	return a.Store.ClaimProbe(ctx, p)
}

// NextDue is Store.NextDue of those lanes of the account; none is all.
func (a Account) NextDue(ctx context.Context, lanes ...messaging.Category) (at time.Time, ok bool, err error) {
	if len(lanes) == 0 {
		lanes = messaging.Lanes[:]
	}
	return a.nextDue(ctx, a.name, lanes...)
}

// BeginCall is Store.BeginCall with slots counted from the account's first one.
func (a Account) BeginCall(slot int, id messaging.MessageID, attempt int) error {
	return a.Store.BeginCall(a.slot+slot, id, attempt)
}

// ClaimPolls takes up to n messages of the account that are due, longest waiting first, and puts their
// next look off by the lease.
func (a Account) ClaimPolls(ctx context.Context, now time.Time, lease time.Duration, n int) ([]messaging.Message, error) {
	return a.claimPolls(ctx, a.name, now, lease, n)
}

// NextPoll is when the next look at any message of the account is due.
func (a Account) NextPoll(ctx context.Context) (at time.Time, ok bool, err error) {
	return a.nextPoll(ctx, a.name)
}

// accountsWhere are the accounts of messages that meet a condition, found by leaps from one to the
// next in the index that begins with the account.
func (s *Store) accountsWhere(ctx context.Context, condition string) (names []string, err error) {
	query := `SELECT account FROM messages WHERE ` + condition + ` AND account > ?1 ORDER BY account LIMIT 1`
	for below := ""; ; {
		found := false
		err := s.Rows(ctx, query, []any{below}, func(r *engine.Row) error { below, found = r.Text(), true; return nil })
		if err != nil || !found {
			return append([]string{""}, names...), err
		}
		names = append(names, below)
	}
}

// AccountsWaiting are the accounts that messages wait for, "" always.
func (s *Store) AccountsWaiting(ctx context.Context) ([]string, error) {
	return s.accountsWhere(ctx, "state = 'waiting'")
}

// AccountsFollowed are the accounts whose messages are asked about, "" always.
func (s *Store) AccountsFollowed(ctx context.Context) ([]string, error) {
	return s.accountsWhere(ctx, "next_poll_at > 0")
}

// WaitingFor counts what waits for an account.
func (s *Store) WaitingFor(ctx context.Context, account string) (n int64, err error) {
	err = s.Rows(ctx, `SELECT count(*) FROM messages WHERE state = 'waiting' AND account = ?1`, []any{account},
		func(r *engine.Row) error { n = r.Int(); return nil })
	return n, Wrap(err, "count what waits for account %q", account)
}

// A Left is what is left to do for an account.
type Left struct {
	Account string
	Waiting int64 // messages
	Runs    int64 // that have not ended
}

// LeftFor is what is left to do for each account that something is left for, by name.
func (s *Store) LeftFor(ctx context.Context) ([]Left, error) {
	names, err := s.AccountsWaiting(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[string]int64{}
	err = s.Rows(ctx, `SELECT account, count(*) FROM runs WHERE ended_at = 0 GROUP BY account`, nil, func(r *engine.Row) error {
		name := r.Text()
		runs[name] = r.Int()
		names = append(names, name)
		return r.Err
	})
	if err != nil {
		return nil, Wrap(err, "what is left for accounts")
	}
	var out []Left
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		l := Left{Account: name, Runs: runs[name]}
		if l.Waiting, err = s.WaitingFor(ctx, name); err != nil {
			return nil, err
		}
		if l.Waiting+l.Runs > 0 {
			out = append(out, l)
		}
	}
	return out, nil
}

// Gone reports whether the present config has no account of that name.
func (s *Store) Gone(account string) bool { return s.has != nil && !s.has(account) }
