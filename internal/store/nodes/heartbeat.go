// Package nodes is what processes that share a PostgreSQL database know of each other: who lives and who leads (Heartbeat), that
// something was changed (Notices), whose turn a task is (Turn), the times of requests to one account (LeaseRate), and by whose clock all times
// are (Clock).
package nodes

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Where many processes write, each says again and again that it lives, in a row with the end of its lease, by the clock of the
// database. An owner without such a row, or whose lease has ended, is dead: others end what it had claimed. So a process
// that could not say so for nearly as long as its lease begins no call any more (decision 5).
const (
	Lease = 10 * time.Second
	beat  = 2 * time.Second
	// margin is how long before the end of its lease a process stops: a call that begins then is known to be its own.
	margin = 3 * time.Second
	// Gap is what between two beats says that the database was away: then others could not say either that they live.
	Gap = Lease / 2
)

// Now is the clock of the database, in microseconds.
const Now = `CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)`

// Alive is the condition on an owner that it lives.
func Alive(owner string) string {
	return `EXISTS (SELECT 1 FROM nodes WHERE nodes.owner = ` + owner + ` AND nodes.lease_ends > ` + Now + `)`
}

// A CutOffError says that this process could not tell others for too long that it lives: they may end its claims.
type CutOffError struct{ Since time.Time }

// Error says so.
func (e *CutOffError) Error() string {
	return fmt.Sprintf("this machine has not reached the database since %s, and others may take over what it had claimed; it begins no call until it has",
		e.Since.UTC().Format(time.TimeOnly)+" UTC")
}

// A Heartbeat is what keeps the row of one owner alive. Its zero value is none, and never stops anybody.
type Heartbeat struct {
	Quick, Slow *sql.DB // connections for what takes no time and waits for nobody, and others
	Machine     func() time.Time
	Learn       func(began, said time.Time)              // hears what the database says of the time
	Synced      string                                   // a statement at each beat of who leads
	Flushed     string                                   // an expression: how far the log of the server goes
	Version     string                                   // of the program
	Config      func() (version string, since time.Time) // in use; nil for none
	Log         atomic.Int64                             // how far the log of the server was at the last beat
	Events      atomic.Int64                             // since the process began, and calls
	Calls       atomic.Int64

	mu    sync.Mutex
	owner string
	stop  context.CancelFunc
	done  chan struct{}
	last  atomic.Pointer[time.Time] // when the last one that succeeded was begun; nil where there is none to keep
	since atomic.Pointer[time.Time] // when the first one was begun of those that came without a gap
	led   atomic.Pointer[time.Time] // when the last one was begun that made this process the leader, or kept it

	clockOff atomic.Int64 // how far the machine's clock is ahead of the database's, microseconds

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

// Begin has owner live from now on, in place of the one of before: a folder has one process at a time.
func (b *Heartbeat) Begin(ctx context.Context, owner string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner == owner {
		return nil
	}
	b.goodbye()
	if err := b.Beat(ctx, owner); err != nil {
		return fmt.Errorf("say that this process lives: %w", err)
	}
	b.owner = owner
	ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		every := time.NewTicker(beat)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				_ = b.Beat(ctx, owner) // the next one comes soon; whoever begins a call sees how old the last one is
			}
		}
	}()
	return nil
}

// Beat says that owner lives, and takes or keeps the lead where that is free.
func (b *Heartbeat) Beat(ctx context.Context, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	began := time.Now()
	if err := b.say(ctx, owner, began); err != nil {
		return err
	}
	took, err := b.Quick.ExecContext(ctx, `INSERT INTO leader (one, owner, lease_ends) VALUES (1, $1, `+Now+` + $2)
		ON CONFLICT (one) DO UPDATE SET owner = excluded.owner, lease_ends = excluded.lease_ends
		WHERE leader.owner = excluded.owner OR leader.lease_ends < `+Now, owner, Lease.Microseconds())
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
	if _, err := b.Quick.ExecContext(ctx, b.Synced); err != nil {
		return err
	}
	_, err = b.Slow.ExecContext(ctx, `DELETE FROM nodes WHERE lease_ends < `+Now+` - $1`, deadFor.Microseconds())
	return err
}

func (b *Heartbeat) say(ctx context.Context, owner string, began time.Time) error {
	host, _ := os.Hostname() // for people; it is in the owner, too
	config, since := "", int64(0)
	if b.Config != nil {
		version, at := b.Config()
		if config = version; !at.IsZero() {
			since = at.UnixMicro()
		}
	}
	events, calls := b.load(began)
	var there, flushed int64
	here := b.Machine()
	err := b.Quick.QueryRowContext(ctx, `INSERT INTO nodes (owner, host, began, seen_at, lease_ends, version, config, config_at, clock_off, events, calls)
		VALUES ($1, $2, `+Now+`, `+Now+`, `+Now+` + $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at, lease_ends = excluded.lease_ends, version = excluded.version, config = excluded.config,
			config_at = excluded.config_at, clock_off = excluded.clock_off, events = excluded.events, calls = excluded.calls
		RETURNING seen_at, `+b.Flushed,
		owner, host, Lease.Microseconds(), b.Version, config, since, b.clockOff.Load(), events, calls).Scan(&there, &flushed)
	if err != nil {
		return err
	}
	if last := b.last.Load(); last == nil || began.Sub(*last) > Gap {
		b.since.Store(&began)
	}
	b.last.Store(&began)
	if flushed > b.Log.Load() { // one that is lower is the next writer's to find
		b.Log.Store(flushed)
	}
	said := time.UnixMicro(there).UTC()
	b.Learn(here, said)
	b.clockOff.Store(here.Add(time.Since(began) / 2).Sub(said).Microseconds()) // its answer was made half way
	return nil
}

// load is what was done in the last minute.
func (b *Heartbeat) load(now time.Time) (events, calls int64) {
	b.loads = append(b.loads, load{now, b.Events.Load(), b.Calls.Load()})
	for len(b.loads) > 1 && now.Sub(b.loads[0].at) > loadOver {
		b.loads = b.loads[1:]
	}
	first, last := b.loads[0], b.loads[len(b.loads)-1]
	return last.events - first.events, last.calls - first.calls
}

// Owner is the one that lives; "" before it began.
func (b *Heartbeat) Owner() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner
}

// Leads reports whether this process does what only one of all should do. Another leads within seconds once it is dead.
func (b *Heartbeat) Leads() bool {
	led := b.led.Load()
	return led != nil && time.Since(*led) < Lease-margin
}

// Check is a *CutOffError where others may take this process for dead.
func (b *Heartbeat) Check() error {
	if last := b.last.Load(); last != nil && time.Since(*last) > Lease-margin {
		return &CutOffError{*last}
	}
	return nil
}

// MayBury reports whether this process may take for dead whose lease has ended: the database has been there for as long as a lease, so
// who lives had the time to say so. After an outage all leases have ended.
func (b *Heartbeat) MayBury() bool {
	last, since := b.last.Load(), b.since.Load()
	return last != nil && time.Since(*last) <= Gap && time.Since(*since) >= Lease
}

// End says goodbye: what is left is anybody's at once.
func (b *Heartbeat) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.goodbye()
}

func (b *Heartbeat) goodbye() {
	if !b.halt() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), beat)
	defer cancel()
	b.led.Store(nil)
	// Without these words its leases end.
	_, _ = b.Slow.ExecContext(ctx, `DELETE FROM leader WHERE owner = $1`, b.owner)
	_, _ = b.Slow.ExecContext(ctx, `DELETE FROM nodes WHERE owner = $1`, b.owner)
}

// halt ends the beats without a goodbye, as a crash does; false where there are none.
func (b *Heartbeat) halt() bool {
	if b.stop == nil {
		return false
	}
	b.stop()
	<-b.done
	b.stop = nil
	return true
}

// Kill ends the beats as a crash does, and History sets when the last one that succeeded was begun, and the first of those without a gap: for tests.
func (b *Heartbeat) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.halt()
}

// History is for tests; see Kill. A zero time stays as it is.
func (b *Heartbeat) History(since, last time.Time) {
	if !since.IsZero() {
		b.since.Store(&since)
	}
	if !last.IsZero() {
		b.last.Store(&last)
	}
}
