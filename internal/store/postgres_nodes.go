package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Where many processes write, each says again and again that it lives, in a row with the end of its lease, by the clock of the
// database. An owner without such a row, or whose lease has ended, is dead: others end what it had claimed. So a process
// that could not say so for nearly as long as its lease begins no call any more (decision 5).
const (
	nodeLease = 10 * time.Second
	nodeBeat  = 2 * time.Second
	// nodeMargin is how long before the end of its lease a process stops: a call that begins then is known to be its own.
	nodeMargin = 3 * time.Second
	// beatGap is what between two beats says that the database was away: then others could not say either that they live.
	beatGap = nodeLease / 2
)

// A CutOffNodeError says that this process could not tell others for too long that it lives: they may end its claims.
type CutOffNodeError struct{ Since time.Time }

// Error says so.
func (e *CutOffNodeError) Error() string {
	return fmt.Sprintf("this machine has not reached the database since %s, and others may take over what it had claimed; it begins no call until it has",
		e.Since.UTC().Format(time.TimeOnly)+" UTC")
}

// A heartbeat is what keeps the row of one owner alive. Its zero value is none, and never stops anybody.
type heartbeat struct {
	mu    sync.Mutex
	owner string
	stop  context.CancelFunc
	done  chan struct{}
	last  atomic.Pointer[time.Time] // when the last one that succeeded was begun; nil where there is none to keep
	since atomic.Pointer[time.Time] // when the first one was begun of those that came without a gap
	led   atomic.Pointer[time.Time] // when the last one was begun that made this process the leader, or kept it

	version       string
	config        func() (version string, since time.Time)
	events, calls atomic.Int64 // since the process began
	flushed       atomic.Int64 // how far the log of the server was at the last beat
	clockOff      atomic.Int64 // how far the machine's clock is ahead of the database's, microseconds

	// What follows is of whoever says.
	loads []load // of the last minute, the oldest first
}

// A load is what a process had done by then.
type load struct {
	at            time.Time
	events, calls int64
}

// loadOver is over how long load is told.
const loadOver = time.Minute

// deadFor is how long a process is listed that died without a goodbye.
const deadFor = time.Hour

// databaseNow is the clock of the database, in microseconds.
const databaseNow = `CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)`

// aliveNow is the condition on an owner that it lives.
func aliveNow(owner string) string {
	return `EXISTS (SELECT 1 FROM nodes WHERE nodes.owner = ` + owner + ` AND nodes.lease_ends > ` + databaseNow + `)`
}

// begin has owner live from now on, in place of the one of before: a folder has one process at a time.
func (b *heartbeat) begin(ctx context.Context, s *Store, owner string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner == owner {
		return nil
	}
	b.goodbye(s)
	if err := b.say(ctx, s, owner); err != nil {
		return fmt.Errorf("say that this process lives: %w", err)
	}
	b.owner = owner
	ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		every := time.NewTicker(nodeBeat)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				_ = b.say(ctx, s, owner) // the next one comes soon; whoever begins a call sees how old the last one is
			}
		}
	}()
	return nil
}

func (b *heartbeat) say(ctx context.Context, s *Store, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, nodeBeat)
	defer cancel()
	began := time.Now()
	host, _ := os.Hostname() // for people; it is in the owner, too
	config, since := "", time.Time{}
	if b.config != nil {
		config, since = b.config()
	}
	events, calls := b.load(began)
	var there, flushed int64
	here := s.clock.machine()
	err := s.quick.QueryRowContext(ctx, `INSERT INTO nodes (owner, host, began, seen_at, lease_ends, version, config, config_at, clock_off, events, calls)
		VALUES ($1, $2, `+databaseNow+`, `+databaseNow+`, `+databaseNow+` + $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at, lease_ends = excluded.lease_ends, version = excluded.version, config = excluded.config,
			config_at = excluded.config_at, clock_off = excluded.clock_off, events = excluded.events, calls = excluded.calls
		RETURNING seen_at, `+flushedNow,
		owner, host, nodeLease.Microseconds(), b.version, config, Micro(since), b.clockOff.Load(), events, calls).Scan(&there, &flushed)
	if err != nil {
		return err
	}
	if last := b.last.Load(); last == nil || began.Sub(*last) > beatGap {
		b.since.Store(&began)
	}
	b.last.Store(&began)
	if flushed > b.flushed.Load() { // one that is lower is the next writer's to find
		b.flushed.Store(flushed)
	}
	s.clock.learn(here, Moment(there))
	b.clockOff.Store(Micro(here.Add(time.Since(began)/2)) - there) // its answer was made half way
	took, err := s.quick.ExecContext(ctx, `INSERT INTO leader (one, owner, lease_ends) VALUES (1, $1, `+databaseNow+` + $2)
		ON CONFLICT (one) DO UPDATE SET owner = excluded.owner, lease_ends = excluded.lease_ends
		WHERE leader.owner = excluded.owner OR leader.lease_ends < `+databaseNow, owner, nodeLease.Microseconds())
	if err != nil {
		return err
	}
	switch n, err := took.RowsAffected(); {
	case err != nil:
		return err
	case n == 1:
		b.led.Store(&began)
	default:
		b.led.Store(nil)
		return nil
	}
	// A standby that has taken over says what its own commits wait for. What the one before waited for is the next writer's to compare.
	if _, err := s.quick.ExecContext(ctx, `UPDATE place SET synced = `+syncedNow+` WHERE synced <> `+syncedNow+` AND timeline = `+timelineNow); err != nil {
		return err
	}
	_, err = s.reads.ExecContext(ctx, `DELETE FROM nodes WHERE lease_ends < `+databaseNow+` - $1`, deadFor.Microseconds())
	return err
}

// load is what was done in the last minute.
func (b *heartbeat) load(now time.Time) (events, calls int64) {
	b.loads = append(b.loads, load{now, b.events.Load(), b.calls.Load()})
	for len(b.loads) > 1 && now.Sub(b.loads[0].at) > loadOver {
		b.loads = b.loads[1:]
	}
	first, last := b.loads[0], b.loads[len(b.loads)-1]
	return last.events - first.events, last.calls - first.calls
}

// A Node is one of the processes that share the data. Times are by the clock of the database.
type Node struct {
	Name     string // host and number of the process
	Version  string // of the program; "" where it is one that does not tell
	Config   string // version of the config in use; "" while it begins
	ConfigAt time.Time
	Began    time.Time
	Seen     time.Time // its last beat
	LeaseEnd time.Time
	Alive    bool
	Leads    bool
	Own      bool          // it is the one that answers
	ClockOff time.Duration // how far its machine's clock is ahead of the database's
	Events   int64         // stored in the last minute, and calls to the service
	Calls    int64
}

// Nodes lists the processes that share the data, in the order of their names: those that live, and those that died within an hour
// without a goodbye. It is nil where the data is a file, which has one.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	if s.file != nil {
		return nil, nil
	}
	s.beat.mu.Lock()
	own := s.beat.owner
	s.beat.mu.Unlock()
	nodes, err := List(ctx, s, `SELECT n.owner, n.version, n.config, n.config_at, n.began, n.seen_at, n.lease_ends, CASE WHEN n.lease_ends > `+databaseNow+` THEN 1 ELSE 0 END,
			CASE WHEN l.lease_ends > `+databaseNow+` THEN 1 ELSE 0 END, n.clock_off, n.events, n.calls
		FROM nodes n LEFT JOIN leader l ON l.owner = n.owner WHERE n.lease_ends > `+databaseNow+` - ?1 ORDER BY n.owner`, []any{deadFor.Microseconds()},
		func(r *Row) (Node, error) {
			owner := r.Text()
			n := Node{
				Name: nameOf(owner), Own: owner == own, Version: r.Text(), Config: r.Text(), ConfigAt: r.Time(), Began: r.Time(), Seen: r.Time(), LeaseEnd: r.Time(), Alive: r.Int() != 0,
				Leads: r.Int() != 0, ClockOff: time.Duration(r.Int()) * time.Microsecond, Events: r.Int(), Calls: r.Int(),
			}
			return n, r.Err
		})
	return nodes, Wrap(err, "the processes that share the data")
}

// ClockOff is from when on the clock of a machine is wrong: less than that is the way to the database and back.
const ClockOff = 5 * time.Second

// Leads reports whether this process does what only one of all should do: who has a file is alone; of those that share a server one
// leads, and another within seconds once that is dead.
func (s *Store) Leads() bool {
	if s.file != nil {
		return true
	}
	led := s.beat.led.Load()
	return led != nil && time.Since(*led) < nodeLease-nodeMargin
}

// check is a *CutOffNodeError where others may take this process for dead.
func (b *heartbeat) check() error {
	if last := b.last.Load(); last != nil && time.Since(*last) > nodeLease-nodeMargin {
		return &CutOffNodeError{*last}
	}
	return nil
}

// mayBury reports whether this process may take for dead whose lease has ended: the database has been there for as long as a lease, so
// who lives had the time to say so. After an outage all leases have ended.
func (b *heartbeat) mayBury() bool {
	last, since := b.last.Load(), b.since.Load()
	return last != nil && time.Since(*last) <= beatGap && time.Since(*since) >= nodeLease
}

// end says goodbye: what is left is anybody's at once.
func (b *heartbeat) end(s *Store) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.goodbye(s)
}

func (b *heartbeat) goodbye(s *Store) {
	if b.stop == nil {
		return
	}
	b.stop()
	<-b.done
	b.stop = nil
	ctx, cancel := context.WithTimeout(context.Background(), nodeBeat)
	defer cancel()
	b.led.Store(nil)
	// Without these words its leases end.
	_, _ = s.reads.ExecContext(ctx, `DELETE FROM leader WHERE owner = $1`, b.owner)
	_, _ = s.reads.ExecContext(ctx, `DELETE FROM nodes WHERE owner = $1`, b.owner)
}

// keepPredecessor has the owner whose folder this is live on for a lease: it is dead, and only this process knows which of its calls
// had begun. So it ends its claims before others do, also where it is killed before it has done so and started once more.
func (s *Store) keepPredecessor(ctx context.Context) error {
	page, err := os.ReadFile(s.calls.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the calls of before: %w", err)
	}
	head := strings.SplitN(string(page[:min(len(page), callsHead)]), "\n", 3)
	if len(head) == 3 && head[0] == callsMagic {
		s.calls.was = head[1]
		_, err = s.reads.ExecContext(ctx, `UPDATE nodes SET lease_ends = `+databaseNow+` + $2 WHERE owner = $1`, head[1], nodeLease.Microseconds())
	}
	return Wrap(err, "the process of before")
}

// buryPredecessor takes it off the list once its claims are ended.
func (s *Store) buryPredecessor(ctx context.Context) error {
	was := s.calls.predecessor()
	if was == "" {
		return nil
	}
	_, err := s.reads.ExecContext(ctx, `DELETE FROM nodes WHERE owner = $1`, was)
	return Wrap(err, "the process of before")
}

// Turn takes a lock on a task that only one process may do at a time, waits for it, and keeps it until end is called. With SQLite there is
// only one process, so it returns at once. On PostgreSQL it is a lock of a connection of its own: it ends with the
// process, and is lost with the connection.
func (s *Store) Turn(ctx context.Context, what, which string) (end func(), err error) {
	if s.file != nil {
		return func() {}, nil
	}
	if s.notices == nil {
		return nil, ErrReadOnly
	}
	conn, err := s.notices.connect(ctx)
	if err != nil {
		return nil, Wrap(err, "the turn of a %s", what)
	}
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), quickFor)
		defer cancel()
		// Unlocked with a word of its own: the server may see the end of a connection later.
		_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtext('nudgewire ' || $1), hashtext($2))`, what, which)
		_ = conn.Close(ctx)
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('nudgewire ' || $1), hashtext($2))`, what, which); err != nil {
		end()
		return nil, Wrap(err, "the turn of a %s", what)
	}
	return end, nil
}
