package tracker

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// A Store is what the tracker needs of package store.
type Store interface {
	// ClaimPolls takes up to n messages whose NextPollAt has come by now, the longest waiting
	// first, and puts it off to now+lease. Fewer than n means that nothing more is due.
	ClaimPolls(ctx context.Context, now time.Time, lease time.Duration, n int) ([]messaging.Message, error)
	// FinishPoll records what a look brought.
	FinishPoll(ctx context.Context, p messaging.Poll) error
	// OverduePolls lists up to n messages that are due, not in anybody's hands, were accepted by
	// the given time, and were asked about, unless nobody can.
	OverduePolls(ctx context.Context, now, accepted time.Time, n int) ([]messaging.Message, error)
	// NextPoll is the earliest NextPollAt, past or future; ok is false when there is none.
	NextPoll(ctx context.Context) (at time.Time, ok bool, err error)
}

// An API looks up one message; *apiclient.Client is one. It bounds each call by
// Options.Timeout itself.
type API interface {
	MessageStatus(ctx context.Context, id string) (apiclient.Status, error)
}

// Defaults for the fields of Options that are left zero.
const (
	DefaultConcurrency = 16
	DefaultTimeout     = 10 * time.Second
	DefaultGrace       = 5 * time.Second
	DefaultLease       = time.Minute
)

// Options say what a Tracker works with.
type Options struct {
	Store  Store
	API    API
	Budget *pace.Budget // shared with everybody who calls the service
	Log    *zap.Logger  // nil for none

	// AsksOnly leaves it to another tracker over the same data to end messages whose time ran out.
	AsksOnly bool
	// Plan says when to ask; its zero fields take the defaults.
	Plan Plan
	// Concurrency is the most calls at a time.
	Concurrency int
	// Timeout is the most time that one call of API takes.
	Timeout time.Duration
	// Grace is how long calls under way may go on once Run is told to stop. Little is lost with
	// a look that is cut: it is due again when its lease ends.
	Grace time.Duration
	// Lease is how long a claimed look is kept from others; it is raised where it would not
	// cover a call.
	Lease time.Duration
	// Reported is called with each look, before it is recorded: what failed for the account's trouble goes
	// again by that record, and must find sending halted. nil is nobody.
	Reported func(m *messaging.Message, p *messaging.Poll)
	// Asked is told of each look that was made, before it is recorded; nil is nobody.
	Asked func(m *messaging.Message, began, ended time.Time, p *messaging.Poll)
	// Request is the id of the request that m goes back to, for lines of the log; "" where there is none. Nil knows none.
	Request func(m *messaging.Message) string
	// Classify gives the service's words for a failure their class; nil is by the rules that come with nudgewire.
	Classify func(words string) messaging.ErrorClass
	// Pauses keeps for all processes that call the account that its key is refused; nil is this one alone.
	Pauses pace.Keeper
	// Jitter spreads polls: a number from 0 up to but not including 1. Nil is random.
	Jitter func() float64
	// Now is the clock of the store; nil is time.Now.
	Now func() time.Time
}

const (
	// ahead is how many messages are claimed for each call that may be under way. Those beyond
	// the first wait for a call to end or for the commit of their own outcome, so that no call
	// waits for a commit; a crash makes their look late, no more.
	ahead = 4

	// window is how far ahead of the rate budget messages are claimed.
	window = 250 * time.Millisecond

	// holdMost is how long a claimed message waits for the rate budget. After that it is left
	// to its lease.
	holdMost = 15 * time.Second

	// recordTries is how often the outcome of a look is offered to a ledger in trouble before
	// the look is left to its lease: it can be made again.
	recordTries = 4
)

// A Tracker follows messages. Make it with New.
type Tracker struct {
	Options

	api     atomic.Pointer[API]
	plan    atomic.Pointer[Plan]
	loop    *claims.Loop[messaging.Message]
	slots   chan struct{}
	halt    pace.Halt
	keeper  pace.Keeper // as last configured
	slowed  atomic.Bool // said in the log
	early   chan messaging.Message
	earlyAt atomic.Int64 // when the last of them was accepted, unix nanoseconds
	counts  counts
	service claims.Service
}

// New makes a Tracker. Options.Store, API and Budget must be set.
func New(o Options) *Tracker {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	o.Lease = max(o.Lease, 2*(o.Timeout+holdMost))
	if o.Request == nil {
		o.Request = func(*messaging.Message) string { return "" }
	}
	if o.Classify == nil {
		o.Classify = (*messaging.ErrorRules)(nil).Class
	}
	if o.Jitter == nil {
		o.Jitter = backoff.Jitter
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	t := &Tracker{
		Options: o,
		keeper:  o.Pauses,
		slots:   make(chan struct{}, o.Concurrency),
		early:   make(chan messaging.Message, maxEarly),
	}
	claim := func(ctx context.Context, n int) ([]messaging.Message, error) {
		now := t.Now()
		if may, err := t.mayClaim(ctx, now); err != nil || !may {
			return nil, err
		}
		return o.Store.ClaimPolls(ctx, now, o.Lease, n)
	}
	t.loop = claims.New(claims.Options[messaging.Message]{
		Claim: func(ctx context.Context, n claims.Lanes) ([]messaging.Message, error) { return claim(ctx, n[0]) },
		Probe: func(ctx context.Context, _ [claims.MaxLanes]bool) ([]messaging.Message, error) { return claim(ctx, 1) },
		Next: func(ctx context.Context, _ [claims.MaxLanes]bool) (time.Time, bool, error) {
			return o.Store.NextPoll(ctx)
		},
		Room: func() (int, time.Time) { return o.Budget.Room(pace.Poll, window) },
		Halted: func() []claims.Halt {
			halted, is := t.halt.State()
			if !is {
				return nil
			}
			return []claims.Halt{{Lanes: [claims.MaxLanes]bool{true}, Until: halted.Until}}
		},
		Ask:   t.shareKeyState,
		Seats: claims.Lanes{ahead * o.Concurrency}, Workers: ahead * o.Concurrency,
		Jitter: o.Jitter, Now: o.Now, Log: o.Log, What: "messages to ask about",
	})
	plan := o.Plan.withDefaults()
	t.api.Store(&o.API)
	t.plan.Store(&plan)
	t.halt.Heard = t.haltElsewhere
	t.halt.Share(o.Pauses, o.Now())
	t.halt.Retry(o.Now()) // as after a reload
	return t
}

// Run asks about messages as they fall due until ctx is done. Then it claims nothing more,
// waits for calls under way for Options.Grace, and cuts those that are left; what it did not
// ask about is due again when its lease ends. A stop is no error; trouble with the store is
// logged and waited out.
func (t *Tracker) Run(ctx context.Context) error {
	parts := []func(calling, recording context.Context){
		func(calling, recording context.Context) {
			t.loop.Run(ctx, recording, func(m *messaging.Message, seat *claims.Seat) { t.work(ctx, calling, recording, m, seat) })
		},
		func(calling, recording context.Context) { t.checkAllEarly(ctx, calling, recording) },
	}
	if !t.AsksOnly {
		parts = append(parts, func(_, recording context.Context) { t.expire(ctx, recording) })
	}
	return t.service.Run(ctx, t.Grace, parts...)
}

// Wake tells that a message is to be asked about at the given time. It never blocks.
func (t *Tracker) Wake(at time.Time) { t.loop.Wake(at) }

// Reconfigure replaces the API and the plan for looks to come. That the old API's key was refused is forgotten where pauses are not those of
// before, and tried at once where they are. Polls that are planned already keep their times.
func (t *Tracker) Reconfigure(api API, plan Plan, pauses pace.Keeper) {
	plan = plan.withDefaults()
	t.api.Store(&api)
	t.plan.Store(&plan)
	if pauses == nil || pauses != t.keeper {
		t.keeper = pauses
		t.halt.Reset(pauses, t.Now())
	}
	t.halt.Retry(t.Now())
	t.loop.Wake(time.Time{})
}

// tellAgain is after what time others are told again of what could not be told.
const tellAgain = time.Second

// shareKeyState has others know whether the key is refused.
func (t *Tracker) shareKeyState(ctx context.Context, now time.Time) (asked bool) {
	if err := t.halt.Tell(ctx, now); err != nil {
		t.loop.Wake(now.Add(tellAgain)) // claims meet the same trouble, and say so
	}
	return false
}

// mayClaim reports whether there is anything to claim for, where one look after the other shows whether the key is taken again.
func (t *Tracker) mayClaim(ctx context.Context, now time.Time) (bool, error) {
	if _, halted := t.halt.State(); !halted || t.halt.Turn(now) {
		return true, nil
	}
	// A turn without a look would make all others wait.
	if due, waits, err := t.Store.NextPoll(ctx); err != nil || !waits || due.After(now) {
		return false, err
	}
	return t.halt.Try(ctx, now, t.Timeout+holdMost)
}

// haltElsewhere takes in what another process found.
func (t *Tracker) haltElsewhere(was, is pace.Halted) {
	switch none := (pace.Halted{}); {
	case is == none:
		t.Log.Info("the service takes the API key again, as another process found")
		t.loop.Wake(time.Time{})
		return
	case was == none:
		t.Log.Warn("the service refuses the API key, as another process or an earlier one found; nothing is asked until it takes it", zap.Time("next_probe", is.Until))
	}
	t.loop.Ring()
}

// Look takes up what other processes told of the key.
func (t *Tracker) Look() { t.halt.Look(t.Now()) }

// First is when a message accepted at the given time is asked about first. It is for the
// sender, who stores the message.
func (t *Tracker) First(accepted time.Time) time.Time {
	return t.plan.Load().First(accepted, t.Jitter())
}
