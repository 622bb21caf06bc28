package enricher

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// A Store is what the enricher needs of package store.
type Store interface {
	// ClaimLookups takes at most n look-ups that are due at now, with their events whole; they
	// are due again at now+lease unless they end before.
	ClaimLookups(ctx context.Context, now time.Time, lease time.Duration, n int) ([]messaging.PendingLookup, error)
	// RetryLookup puts a claimed look-up off; messaging.ErrClaimLost when it is not held any more.
	RetryLookup(ctx context.Context, r messaging.LookupRetry) error
	// Complete plans the event and ends its look-up in one commit; messaging.ErrClaimLost when it
	// is not held any more.
	Complete(ctx context.Context, l messaging.PendingLookup, plan messaging.Plan) (messaging.Receipt, error)
	// NextLookup is when the next look-up is due; ok is false when none waits.
	NextLookup(ctx context.Context) (at time.Time, ok bool, err error)
}

// A Fetcher makes one GET. *Client is one; its errors are *FetchError.
type Fetcher interface {
	Fetch(ctx context.Context, l connectors.Lookup) ([]byte, error)
}

// Rules are the part of the present config that look-ups meet.
type Rules struct {
	Receivers map[string]*connectors.Connector
	Triggers  *triggers.Set
}

// Defaults for the fields of Options that are left zero.
const (
	DefaultConcurrency = 8
	DefaultTimeout     = 15 * time.Second
	DefaultGrace       = 15 * time.Second
	DefaultGiveUp      = 24 * time.Hour
	DefaultAttempts    = 12
)

// Options say what an Enricher works with.
type Options struct {
	Store   Store
	Fetcher Fetcher
	Rules   func() Rules // the present ones
	Log     *zap.Logger  // nil for none

	Concurrency int           // most look-ups at a time
	Timeout     time.Duration // of one GET; the Fetcher keeps it
	Grace       time.Duration // how long look-ups under way may go on once Run is told to stop
	GiveUp      time.Duration // after which a look-up is not tried again, counted from the webhook
	Attempts    int           // after which it is not either
	Jitter      func() float64
	Now         func() time.Time // the clock of the store; nil is time.Now
}

const (
	// Pauses between attempts: twelve of them take six hours when nobody says otherwise.
	firstPause = 10 * time.Second
	maxPause   = 6 * time.Hour

	// maxSteps bounds how many look-ups one event can ask for.
	maxSteps = 10
)

// An Enricher looks up what is pending. Make it with New.
type Enricher struct {
	Options

	loop    *claims.Loop[messaging.PendingLookup]
	service claims.Service
}

// New makes an Enricher. Options.Store, Fetcher and Rules must be set.
func New(o Options) *Enricher {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.GiveUp <= 0 {
		o.GiveUp = DefaultGiveUp
	}
	if o.Attempts <= 0 {
		o.Attempts = DefaultAttempts
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
	// Each step of a look-up may fetch a token and then the answer, twice.
	lease := 4*o.Timeout + time.Minute
	return &Enricher{Options: o, loop: claims.New(claims.Options[messaging.PendingLookup]{
		Claim: func(ctx context.Context, n claims.Lanes) ([]messaging.PendingLookup, error) {
			return o.Store.ClaimLookups(ctx, o.Now(), lease, n[0])
		},
		Next: func(ctx context.Context, _ [claims.MaxLanes]bool) (time.Time, bool, error) {
			return o.Store.NextLookup(ctx)
		},
		Seats: claims.Lanes{o.Concurrency}, Workers: o.Concurrency,
		Jitter: o.Jitter, Now: o.Now, Log: o.Log, What: "look-ups that are due",
	})}
}

// Wake tells that a look-up is due at the given time. It never blocks.
func (n *Enricher) Wake(at time.Time) { n.loop.Wake(at) }

// Run looks up what falls due until ctx is done. Then it claims nothing more, waits for
// look-ups under way for Options.Grace, and gives back those that are left. A stop is no
// error; trouble with the store is logged and waited out.
func (n *Enricher) Run(ctx context.Context) error {
	return n.service.Run(ctx, n.Grace, func(calling, recording context.Context) {
		n.loop.Run(ctx, recording, func(l *messaging.PendingLookup, _ *claims.Seat) { n.lookUp(ctx, calling, recording, *l) })
	})
}
