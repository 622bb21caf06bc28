package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/readers"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Settle decides what to do about a proposal, now that the facts are known. It runs inside the
// commit, for one batch at a time, so it must be a quick pure function; it may be run
// again when a neighbour's fault undoes the batch.
type Settle func(messaging.Proposal, messaging.Facts) messaging.Settlement

// Options are what a store is opened with.
type Options struct {
	// DSN is "sqlite:" and a path, or "postgres://…#" and the folder in which this process keeps what it notes for itself.
	DSN      string
	ReadOnly bool // beside a daemon that writes: no lock, no migration, no change
	Scratch  bool // data that nobody keeps: nothing is forced to disk, and Anew may empty it
	Stepped  bool // of scratch data: who steps the time does one thing after the other; see sqlite_scratch.go

	// OnEnd is called once stepped data is at its end, with why. It must be quick. nil is nobody.
	OnEnd func(error)

	Settle func(messaging.Proposal, messaging.Facts) messaging.Settlement

	// OnDue, OnPoll and OnLookup are called after a commit that left a message or
	// a look-up waiting, with the earliest of their times, before the commit's callers get their answers: the first
	// two once for each account, or for EveryAccount. They
	// hold up all writers, so they should do no more than wake somebody. nil is nobody.
	OnDue  func(account string, at time.Time)
	OnPoll func(account string, at time.Time)

	OnLookup func(at time.Time)

	// OnPause is called when another process may have paused an account, or let it go on, and AccountHolds knows of it. nil is nobody.
	OnPause func()

	// Tells are the receivers under webhooks_out, by name, that want to know of a change of that kind: "message" and "in_doubt" are
	// those of message.in_doubt. It is called inside commits, so it must be quick. nil is none. OnOutgoing is called as
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
	Due func() messaging.DueRules

	// Sends reports whether the present config sends by a trigger. It is called inside commits, so it
	// must be quick. nil is by all.
	Sends func(trigger string) bool

	// OnDoubt is what the present config's trigger of a message says is done in doubt, "" where it says
	// nothing. It is called inside commits, so it must be quick. nil is by category.
	OnDoubt func(d *messaging.Message) messaging.OnDoubt

	// OwnExpiry reports whether the present config names when a message expires, so that it is not put off: the default is. It is called inside
	// commits, so it must be quick. nil is yes.
	OwnExpiry func(d *messaging.Message) bool

	// Points are what a message costs by the present config. It is called inside commits, so it must be quick. nil is nothing.
	Points func(account string, c messaging.Category, phone messaging.Phone) float64

	Observer Observer

	// Version of the program, and Config, the version of the config in use and since when, are what a process tells of itself where
	// several share the data. Config must be quick. nil is none.
	Version string
	Config  func() (version string, since time.Time)

	Machine    func() time.Time // the clock of the machine; default time.Now
	Now        func() time.Time // in the place of Store.Now, for who steps the time
	Writers    int              // connections that write at the same time to PostgreSQL; default 4
	MaxWaiting int              // events and rejected requests that may wait for a batch; default 4096

	movingTo string // where the data is moved to, perhaps once more (see moves.go)
}

// A Store is open data. Its methods may be called from any goroutine.
type Store struct {
	shared
	settle  Settle
	first   func(account string, accepted time.Time, place int64) time.Time
	has     func(account string) bool
	sending func(trigger string) bool
	expiry  func(*messaging.Message) bool
	due     func() messaging.DueRules
	hash    func(...string) int64

	accepts, finishes, polls *commit.Set[*Tx] // see openSets

	ring    ring
	commits *commit.Group[*Tx] // nil when read-only
	stepped *stepped           // nil where Options.Stepped is not set
	writer  *writer            // nil when read-only
	more    []*writer          // that write at the same time, where the engine has many
	reads   engine.Pool
	quick   *sql.DB               // for what must not wait behind reads; nil where no other process writes
	Readers readers.Watch         // transactions of other programs that stay open
	file    *sqliteFile           // nil where the data is no file
	away    atomic.Pointer[error] // why the server does not serve, by the last look; nil while it does
	refused atomic.Pointer[engine.Refusal]
	folder  *sqlite.Lock                 // of what this process notes for itself, where the data is no file
	notices *nodes.Notices               // of other nodes; nil where there are none
	place   atomic.Pointer[engine.Place] // where the data lives; nil before the first connection, and where it is a file
	numbers numbers.Blocks               // of all writers of the process, so that they grow with time
	scratch bool                         // Options.Scratch

	holding sync.Mutex                       // one change of holds at a time, with its reading back
	holds   atomic.Pointer[[]messaging.Hold] // that have not ended; nil when read-only

	pausing sync.Mutex // one change of paused triggers at a time

	observer     Observer
	unrecognised *Restoration              // that the daemon will find at its next start; nil when this is the daemon
	pinged       atomic.Pointer[time.Time] // when a Ping wrote last

	closing sync.Once
	closed  error
}

const defaultMaxWaiting = 4096

// Open opens the data that o.DSN names and creates it where there is none, a file and its folder
// for their owner alone. Errors: a *LockedError when another process writes to it, a
// *NewerSchemaError when another version does.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := newStore(&o)
	open := s.openFile
	if engine.OnServer(o.DSN) {
		open = s.openPostgres
	}
	err := open(ctx, &o)
	if err == nil && !o.ReadOnly {
		err = s.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.ReadOnly {
		return s, nil
	}
	s.begin(&o)
	return s, nil
}

// newStore is a store without its data.
func newStore(o *Options) *Store {
	if o.Machine == nil {
		o.Machine = time.Now
	}
	if o.Writers == 0 {
		o.Writers = defaultWriters
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = defaultMaxWaiting
	}
	if o.FirstPoll == nil {
		o.FirstPoll = func(_ string, accepted time.Time, _ int64) time.Time { return accepted }
	}
	if o.OnDoubt == nil {
		o.OnDoubt = func(*messaging.Message) messaging.OnDoubt { return "" }
	}
	s := &Store{
		scratch: o.Scratch, settle: o.Settle, first: o.FirstPoll, has: o.Accounts, sending: o.Sends, expiry: o.OwnExpiry, due: o.Due, hash: keyindex.Hash, ring: rejectedRing, observer: o.Observer,
		shared: shared{
			onDoubt: o.OnDoubt, points: o.Points, clock: nodes.Clock{Machine: o.Machine}, now: o.Now, tells: o.Tells,
			hooks: hooks{due: o.OnDue, poll: o.OnPoll, lookup: o.OnLookup, out: o.OnOutgoing, pauses: o.OnPause},
		},
	}
	if s.now == nil {
		s.now = s.clock.Now
	}
	if o.Stepped {
		s.stepped, s.bare = &stepped{onEnd: o.OnEnd}, true
	}
	s.openSets()
	return s
}

// Now is the time that stored times are compared with: the server's where several processes may share the data, else the machine's.
func (s *Store) Now() time.Time { return s.now() }

// load reads what a process that writes has in memory of the data.
func (s *Store) load(ctx context.Context) error {
	err := s.loadHolds(ctx)
	if err == nil {
		err = s.loadRenames(ctx)
	}
	if err == nil {
		_, err = s.Unused(ctx, s.writer.now())
	}
	return err
}

// begin lets operations be handed over.
func (s *Store) begin(o *Options) {
	most := commit.MaxBatch
	if s.file == nil {
		most = engine.MaxPostgresBatch
	}
	s.beat.Version, s.beat.Config = o.Version, o.Config
	if s.stepped != nil {
		s.stepped.begin(s.writer)
		s.commits = commit.NewGroup[*Tx](o.MaxWaiting, most) // nothing is handed to it
		return
	}
	var runners []commit.Runner[*Tx]
	for _, w := range append([]*writer{s.writer}, s.more...) {
		r := commit.Runner[*Tx](w.runBatch)
		if o.Observer.Committed != nil {
			r = r.Timed(o.Observer.Committed)
		}
		runners = append(runners, r)
	}
	s.commits = commit.NewGroup(o.MaxWaiting, most, runners...)
	if s.notices != nil {
		s.notices.Begin()
	}
}

// Write hands an operation to the group commit.
func (s *Store) Write(ctx context.Context, l commit.Lane, run func(*Tx) error) error {
	return s.hand(ctx, l, commit.Operation[*Tx]{Run: run})
}

// writeSet hands it a member of a set.
func (s *Store) writeSet(ctx context.Context, l commit.Lane, of *commit.Set[*Tx], key int64, member any) error {
	return s.hand(ctx, l, commit.Operation[*Tx]{Set: of, Key: key, Member: member})
}

// openSets says what runs together: events, the ends of claims, and looks at messages.
func (s *Store) openSets() {
	s.accepts = &commit.Set[*Tx]{Run: func(t *Tx, members []*commit.Operation[*Tx]) error {
		return t.acceptAll(membersOf[acceptance](members), s.settle)
	}}
	s.finishes = &commit.Set[*Tx]{Run: func(t *Tx, members []*commit.Operation[*Tx]) error {
		lost, err := t.finishAll(membersOf[messaging.Attempt](members))
		return tellLost(members, lost, err)
	}}
	s.polls = &commit.Set[*Tx]{Run: func(t *Tx, members []*commit.Operation[*Tx]) error {
		lost, err := t.finishPolls(s, membersOf[messaging.Poll](members))
		return tellLost(members, lost, err)
	}}
}

// membersOf are what the callers of a set handed over.
func membersOf[T any](members []*commit.Operation[*Tx]) []*T {
	all := make([]*T, len(members))
	for i, w := range members {
		all[i] = w.Member.(*T)
	}
	return all
}

// tellLost leaves with each member what was found out about it.
func tellLost(members []*commit.Operation[*Tx], lost []error, err error) error {
	for i, w := range members {
		w.Err = lost[i]
	}
	return err
}

func (s *Store) hand(ctx context.Context, l commit.Lane, o commit.Operation[*Tx]) error {
	switch {
	case s.commits == nil:
		return ErrReadOnly
	case s.stepped != nil:
		return s.stepped.do(ctx, o)
	}
	return s.commits.Do(ctx, l, o)
}

// endCommits takes no more operations, and waits until all that was taken is on disk.
func (s *Store) endCommits() {
	if s.commits == nil {
		return
	}
	if s.stepped != nil {
		s.stepped.close()
	}
	s.commits.Close()
}

// Stats is the state of the write queue. It is zero for a store that only reads.
func (s *Store) Stats() commit.Stats {
	if s.commits == nil {
		return commit.Stats{}
	}
	return s.commits.Stats()
}

// Present is a *GoneError while the data is not where it was opened, a *DamagedError once it was cut off or is malformed, and an *OutageError where LookAtServer found its server away.
func (s *Store) Present() error {
	if s.writer == nil {
		return nil
	}
	if s.file == nil {
		if away := s.away.Load(); away != nil {
			return *away
		}
		return nil
	}
	return s.file.guard.Check()
}

// pingEvery is how often a Ping writes at the most: anybody may ask the door whether it is ready.
const pingEvery = time.Second

// pingFor is how long a Ping waits: a load balancer that asks waits no longer.
const pingFor = 2 * time.Second

// Ping reports whether the data can be read and changed at present: it writes, because a commit without a change succeeds on
// a full disk, too.
func (s *Store) Ping(ctx context.Context) error {
	if s.commits == nil {
		return s.reads.PingContext(ctx)
	}
	if last := s.pinged.Load(); last != nil && time.Since(*last) < pingEvery && !s.commits.Ended() {
		return s.Present()
	}
	if s.commits.Ended() {
		return commit.ErrClosed // its files may be gone by right
	}
	if err := s.Present(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pingFor)
	defer cancel()
	err := s.Write(ctx, commit.LaneIngest, func(t *Tx) error { // as webhooks are, which is what is asked about
		return t.Put(tally.SetCountSQL, "keyed/checked", t.At)
	})
	if errors.Is(err, commit.ErrOverloaded) {
		return nil // others write
	}
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
		s.endCommits()
		s.notices.Close()
		if s.writer != nil && s.writer.peers != nil {
			s.writer.peers.Close()
		}
		s.beat.End()
		if s.reads.DB != nil {
			errs = append(errs, s.reads.Close()) // first: a reader would hold the checkpoint up
		}
		if s.quick != nil {
			errs = append(errs, s.quick.Close())
		}
		if s.writer != nil {
			errs = append(errs, s.writer.engine.Close())
		}
		for _, w := range s.more {
			errs = append(errs, w.engine.Close())
		}
		errs = append(errs, s.calls.Close())
		if s.file != nil {
			errs = append(errs, s.file.close())
		}
		if s.folder != nil {
			errs = append(errs, s.folder.Release())
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}
