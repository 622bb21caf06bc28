package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/receiver"
)

// Options say what an Outbox works with.
type Options struct {
	Store  Records
	Log    *zap.Logger // nil for none
	Agent  string      // User-Agent
	Jitter func() float64
	Now    func() time.Time // the clock of the store; nil is time.Now
	Grace  time.Duration    // how long deliveries under way may go on once Run is told to stop
}

// Concurrency is how many deliveries to one receiver are under way at a time.
const Concurrency = 8

// lease outlasts a delivery and the commit of its end.
const lease = receiver.Timeout + time.Minute

// pauses are those after each failure; the last one comes again and again.
var pauses = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// An Outbox delivers to one receiver, so that one which hangs holds up nothing but its own. Make it with New.
type Outbox struct {
	Options
	receiver atomic.Pointer[Receiver]
	client   *receiver.Client
	loop     *claims.Loop[messaging.Outgoing]
	service  claims.Service
}

// New makes an Outbox. Options.Store must be set.
func New(o Options, r Receiver) *Outbox {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Jitter == nil {
		o.Jitter = backoff.Jitter
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &Outbox{Options: o, client: receiver.NewClient(o.Agent, Concurrency)}
	b.receiver.Store(&r)
	name := r.Name
	b.loop = claims.New(claims.Options[messaging.Outgoing]{
		Claim: func(ctx context.Context, n claims.Lanes) ([]messaging.Outgoing, error) {
			return o.Store.ClaimOutgoing(ctx, name, o.Now(), lease, n[0])
		},
		Next: func(ctx context.Context, _ [claims.MaxLanes]bool) (time.Time, bool, error) {
			at, ok, err := o.Store.NextOutgoing(ctx, name)
			return at, ok, err
		},
		Seats: claims.Lanes{Concurrency}, Workers: Concurrency,
		Jitter: o.Jitter, Now: o.Now, Log: o.Log, What: "webhooks out",
	})
	return b
}

// Use takes up the receiver as the config has it now; its name stays.
func (b *Outbox) Use(r Receiver) { b.receiver.Store(&r) }

// Wake tells that something is due at the given time. It never blocks.
func (b *Outbox) Wake(at time.Time) { b.loop.Wake(at) }

// Run delivers what falls due until ctx is done. Then it claims nothing more and waits for deliveries under way for
// Options.Grace; what is cut off then is tried again. A stop is no error.
func (b *Outbox) Run(ctx context.Context) error {
	err := b.service.Run(ctx, b.Grace, func(posting, recording context.Context) {
		b.loop.Run(ctx, recording, func(o *messaging.Outgoing, _ *claims.Seat) { b.deliver(posting, recording, o) })
	})
	b.client.Close()
	return err
}

// deliver makes one attempt and records its end.
func (b *Outbox) deliver(posting, recording context.Context, o *messaging.Outgoing) {
	r := b.receiver.Load()
	body := Body{Type: o.Kind, ID: idOf(o), At: o.At.UTC(), Data: o.Change}
	if o.Change.Message != 0 && o.Change.Event != 0 {
		// What is not kept any more, or cannot be read now, is left out: the change matters more.
		body.Data.Request, _ = b.Store.RequestOf(posting, o.Change.Message)
	}
	failed := b.post(posting, r, &body, b.Now())
	now := b.Now()
	end := messaging.OutgoingEnd{ID: o.ID, Attempt: o.Attempt, State: messaging.OutgoingDelivered, At: now}
	switch {
	case failed == nil:
	case posting.Err() != nil: // cut off by a stop: nobody's fault
		end.State, end.RetryAt = messaging.OutgoingWaiting, now
	default:
		end.Error = failed.Error()
		end.State, end.RetryAt = next(o, r.GiveUp, failed, now, b.Jitter())
	}
	log := b.Log.With(zap.String("receiver", r.Name), zap.String("kind", o.Kind), zap.String("id", body.ID), zap.Int("attempt", o.Attempt))
	switch {
	case end.State == messaging.OutgoingGivenUp:
		log.Error("a webhook out is given up; nudgewire webhooks replay sends it again", zap.String("error", end.Error))
	case end.Error != "":
		log.Warn("a webhook out was not taken", zap.String("error", end.Error), zap.Time("again_at", end.RetryAt))
	}
	if err := b.Store.FinishOutgoing(recording, end); err != nil && !errors.Is(err, messaging.ErrClaimLost) {
		log.Error("the end of a webhook out is not stored; it is delivered once more", zap.Error(err))
	}
}

// next says what becomes of a change that was not taken: it waits until RetryAt, or is given up. jitter, from 0 up to but not
// including 1, takes up to a quarter of the pause away.
func next(o *messaging.Outgoing, giveUp time.Duration, failed error, now time.Time, jitter float64) (messaging.OutgoingState, time.Time) {
	var asks receiver.RefusedError
	if refused, is := errors.AsType[*receiver.RefusedError](failed); is {
		asks = *refused
	}
	if asks.Final || !now.Before(o.Since.Add(giveUp)) {
		return messaging.OutgoingGivenUp, time.Time{}
	}
	pause := pauses[min(o.Attempt, len(pauses))-1]
	pause = max(pause-time.Duration(jitter*float64(pause)/4), asks.After)
	at := now.Add(pause)
	if last := o.Since.Add(giveUp); at.After(last) {
		at = last // one more time before it is given up
	}
	return messaging.OutgoingWaiting, at
}

// TestKind is the type of what Test posts.
const TestKind = "webhook.test"

// Test posts a test to the receiver, past everything that waits.
func (b *Outbox) Test(ctx context.Context) error {
	r := b.receiver.Load()
	now := b.Now()
	o := messaging.Outgoing{At: now}
	body := Body{Type: TestKind, ID: idOf(&o), At: now.UTC()}
	return b.post(ctx, r, &body, now)
}
