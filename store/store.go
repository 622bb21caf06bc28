package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire"
)

// Settle decides what to do about a proposal, now that the facts are known. It runs inside the
// commit, for one batch at a time, so it must be a quick pure function; it may be run
// again when a neighbour's fault undoes the batch.
type Settle func(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement

// Options are what a store is opened with.
type Options struct {
	DSN      string // "sqlite:" and a path
	ReadOnly bool   // beside a daemon that writes: no lock, no migration, no change
	Settle   func(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement

	// OnDue, OnPoll and OnLookup are called after a commit that left a dispatch, a message or
	// a look-up waiting, with the earliest of their times, before the commit's callers get their answers: the first
	// two once for each account, or for EveryAccount. They
	// hold up all writers, so they should do no more than wake somebody. nil is nobody.
	OnDue  func(account string, at time.Time)
	OnPoll func(account string, at time.Time)

	OnLookup func(at time.Time)

	// Tells are the receivers under webhooks_out, by name, that want to know of a change of that kind: "dispatch" and "in_doubt" are
	// those of dispatch.in_doubt. It is called inside commits, so it must be quick. nil is none. OnOutgoing is called as
	// OnDue is, once for each receiver that something waits for.
	Tells      func(about, word string) []string
	OnOutgoing func(receiver string, at time.Time)

	// FirstPoll is when a message is asked about first that an upload's answer named, by the
	// account, the time it was accepted and its place among those of its run, from 0. It is called inside the
	// commit, so it must be quick. nil is at once.
	FirstPoll func(account string, accepted time.Time, place int64) time.Time

	// Accounts reports whether the present config has an account of that name; "" is asked, too. It must
	// be quick. nil is all.
	Accounts func(name string) bool

	// Due gives the rules of the due moment by the present config, which a claim asks for once. It must be quick.
	// nil, and a nil answer, is none.
	Due func() nudgewire.DueRules

	// Sends reports whether the present config sends by a trigger. It is called inside commits, so it
	// must be quick. nil is by all.
	Sends func(trigger string) bool

	// OnDoubt is what the present config's trigger of a dispatch says is done in doubt, "" where it says
	// nothing. It is called inside commits, so it must be quick. nil is by category.
	OnDoubt func(d *nudgewire.Dispatch) nudgewire.OnDoubt

	Observer Observer

	Now        func() time.Time // default time.Now
	MaxWaiting int              // events and rejected requests that may wait for a batch; default 4096
}

// A Store is open data. Its methods may be called from any goroutine.
type Store struct {
	settle  Settle
	first   func(account string, accepted time.Time, place int64) time.Time
	has     func(account string) bool
	sending func(trigger string) bool
	due     func() nudgewire.DueRules
	hash    func(...string) int64
	ring    ring
	commits *groupCommit // nil when read-only
	writer  *writer
	reads   *sql.DB
	lock    *dataLock
	fault   *logFault // that the daemon will find at its next start; nil when this is the daemon

	halting sync.Mutex             // one change of halts at a time, with its reading back
	halted  atomic.Pointer[[]Halt] // as Halts gives them; nil when read-only

	pausing sync.Mutex // one change of paused triggers at a time

	observer Observer

	restored     atomic.Pointer[Restoration] // the newest; nil for none, and where it is only read
	unrecognised *Restoration                // that the daemon will find at its next start; nil when this is the daemon

	off    recentOff
	marks  phoneMarks
	files  connector // opens one more connection, for what cannot be done on those that are open
	calls  calls
	pinged atomic.Pointer[time.Time] // when a Ping wrote last

	closing sync.Once
	closed  error
}

const (
	defaultMaxWaiting = 4096
	readers           = 4
)

// Path is the file that dsn names, or dsn itself where it names none.
func Path(dsn string) string {
	path, err := sqlitePath(dsn)
	if err != nil {
		return dsn
	}
	return path
}

// Open opens the data that o.DSN names and creates it where there is none, its folder and
// file for their owner alone. Errors: a *LockedError when another process writes to it, a
// *NewerSchemaError when another version does.
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	path, err := sqlitePath(o.DSN)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = defaultMaxWaiting
	}
	if o.FirstPoll == nil {
		o.FirstPoll = func(_ string, accepted time.Time, _ int64) time.Time { return accepted }
	}
	s := &Store{settle: o.Settle, first: o.FirstPoll, has: o.Accounts, sending: o.Sends, due: o.Due, hash: keyHash, ring: rejectedRing}
	s.observer = o.Observer
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", path, err), s.Close())
		}
	}()
	drv, err := sqliteDriver()
	if err != nil {
		return nil, err
	}
	c := connector{driver: drv, uri: sqliteURI(path)}
	s.marks.data = path
	if err := cutOff(path); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no data here yet; the daemon makes it when it first starts: %w", err)
		}
		if s.fault, err = faultBeside(path); err != nil {
			return nil, err
		}
		s.openReads(c)
		if err := checkSchema(ctx, s.reads); err != nil {
			return nil, err
		}
		if err := s.copyBeside(ctx, path); err != nil {
			return nil, err
		}
		return s, s.marks.load(ctx, s)
	}
	if err := createFile(path); err != nil {
		return nil, err
	}
	if s.lock, err = lockData(path + ".lock"); err != nil {
		return nil, err
	}
	fault, err := findFault(path, func() (bool, error) { return true, nil })
	if err != nil {
		return nil, err
	}
	if err := layOut(drv, c.uri, path); err != nil {
		return nil, err
	}
	c.setup = writerSetup
	if err := migrateOnce(ctx, c); err != nil {
		return nil, err
	}
	if err := rewriteIfDue(ctx, c); err != nil {
		return nil, err
	}
	if s.writer, err = openWriter(&c, sqliteDialect); err != nil {
		return nil, err
	}
	s.calls.path = path + ".calls"
	s.writer.off, s.writer.calls, s.writer.marks, s.writer.restored = &s.off, &s.calls, &s.marks, &s.restored
	if s.writer.onDoubt = o.OnDoubt; o.OnDoubt == nil {
		s.writer.onDoubt = func(*nudgewire.Dispatch) nudgewire.OnDoubt { return "" }
	}
	s.writer.now, s.writer.hooks = o.Now, hooks{due: o.OnDue, poll: o.OnPoll, lookup: o.OnLookup, out: o.OnOutgoing}
	s.writer.tells = o.Tells
	if s.writer.checkpoints, err = newCheckpointer(c); err != nil {
		return nil, err
	}
	s.files = c
	s.openReads(c)
	if err := s.marks.load(ctx, s); err != nil {
		return nil, err
	}
	if err := openSingleWriter(ctx, s); err != nil {
		return nil, err
	}
	if err := s.holdAll(ctx, path, fault); err != nil {
		return nil, err
	}
	if err := s.recognise(ctx, path); err != nil {
		return nil, err
	}
	if err := s.loadHalts(ctx); err != nil {
		return nil, err
	}
	if s.writer.guard, err = newGuard(path); err != nil {
		return nil, err
	}
	var r runner = s.writer
	if o.Observer.Committed != nil {
		r = timed{r, o.Observer.Committed}
	}
	s.commits = newGroupCommit(r, o.MaxWaiting)
	return s, nil
}

func (s *Store) openReads(c connector) {
	c.setup = readerSetup
	s.reads = sql.OpenDB(&c)
	s.reads.SetMaxOpenConns(readers)
	s.reads.SetMaxIdleConns(readers)
}

// migrateOnce brings the schema up to date on a connection of its own.
func migrateOnce(ctx context.Context, c connector) error {
	db := sql.OpenDB(&c)
	db.SetMaxOpenConns(1)
	return errors.Join(migrate(ctx, db, sqliteDialect), db.Close())
}

// write hands an operation to the group commit.
func (s *Store) write(ctx context.Context, l lane, run op) error {
	if s.commits == nil {
		return ErrReadOnly
	}
	return s.commits.do(ctx, l, run)
}

// Stats is the state of the write queue. It is zero for a store that only reads.
func (s *Store) Stats() Stats {
	if s.commits == nil {
		return Stats{}
	}
	return s.commits.stats()
}

// Present is a *GoneError while the data is not where it was opened.
func (s *Store) Present() error {
	if s.writer == nil {
		return nil
	}
	return s.writer.guard.check()
}

// pingEvery is how often a Ping writes at the most: anybody may ask the door whether it is ready.
const pingEvery = time.Second

// Ping reports whether the data can be read and changed at present: it writes, because a commit without a change succeeds on
// a full disk, too.
func (s *Store) Ping(ctx context.Context) error {
	if s.commits == nil {
		return s.reads.PingContext(ctx)
	}
	if last := s.pinged.Load(); last != nil && time.Since(*last) < pingEvery && !s.commits.ended() {
		return s.Present()
	}
	err := s.write(ctx, laneWork, func(t *tx) error {
		_, err := t.exec(stSetCount, "keyed/checked", t.at)
		return err
	})
	if now := time.Now(); err == nil {
		s.pinged.Store(&now)
	}
	return err
}

// Close takes no more, waits until what was taken is on disk, moves the log into the
// database, and gives the lock back. Closing twice is harmless.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		if s.commits != nil {
			s.commits.close()
		}
		if s.writer != nil && s.writer.peers != nil {
			s.writer.peers.close()
		}
		if s.reads != nil {
			errs = append(errs, s.reads.Close()) // first: a reader would hold the checkpoint up
		}
		if s.writer != nil {
			if s.writer.checkpoints != nil {
				errs = append(errs, s.writer.checkpoints.close())
			}
			errs = append(errs, execOn(s.writer.conn, "PRAGMA wal_checkpoint(TRUNCATE)"), s.writer.close())
		}
		errs = append(errs, s.calls.close())
		if s.lock != nil {
			errs = append(errs, s.lock.release())
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}
