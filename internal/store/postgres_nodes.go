package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// Nodes lists the processes that share the data, in the order of their names: those that live, and those that died within an hour
// without a goodbye. It is nil where the data is a file, which has one.
func (s *Store) Nodes(ctx context.Context) ([]nodes.Node, error) {
	if s.file != nil {
		return nil, nil
	}
	all, err := s.beat.List(ctx, s.reads.DB)
	return all, Wrap(err, "the processes that share the data")
}

// Leads reports whether this process does what only one of all should do: who has a file is alone; of those that share a server one
// leads.
func (s *Store) Leads() bool { return s.file != nil || s.beat.Leads() }

// Shares reports whether other processes may work on the same data, so that rates and troubles of accounts are those of all.
func (s *Store) Shares() bool { return s.quick != nil }

// Lease books the times of n requests of the account, one each every; see pace.Lessor. Nothing but PostgreSQL has it.
func (a Account) Lease(ctx context.Context, n int, every time.Duration) (pace.Lease, error) {
	l, err := nodes.LeaseRate(ctx, a.quick, a.name, n, every)
	return l, Wrap(err, "rate of account %q", a.name)
}

// Turn takes a lock on a task that only one process may do at a time, waits for it, and keeps it until end is called. With SQLite there is
// only one process, so it returns at once.
func (s *Store) Turn(ctx context.Context, what, which string) (end func(), err error) {
	if s.file != nil {
		return func() {}, nil
	}
	if s.notices == nil {
		return nil, ErrReadOnly
	}
	end, err = s.notices.Turn(ctx, what, which)
	return end, Wrap(err, "the turn of a %s", what)
}

// keepPredecessor has the owner whose folder this is live on for a lease: it is dead, and only this process knows which of its calls
// had begun. So it ends its claims before others do, also where it is killed before it has done so and started once more.
func (s *Store) keepPredecessor(ctx context.Context) error {
	was, err := s.calls.Keep()
	if err != nil {
		return err
	}
	if was != "" {
		_, err = s.reads.ExecContext(ctx, `UPDATE nodes SET lease_ends = `+nodes.Now+` + $2 WHERE owner = $1`, was, nodes.Lease.Microseconds())
	}
	return Wrap(err, "the process of before")
}

// buryPredecessor takes it off the list once its claims are ended.
func (s *Store) buryPredecessor(ctx context.Context) error {
	was := s.calls.Predecessor()
	if was == "" {
		return nil
	}
	_, err := s.reads.ExecContext(ctx, `DELETE FROM nodes WHERE owner = $1`, was)
	return Wrap(err, "the process of before")
}
