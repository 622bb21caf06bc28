package sender

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// A Store is what the sender needs of package store.
type Store interface {
	// Claim moves waiting messages that are due to sending, under the owner's name and with a
	// lease, the longest due first. Fewer rows than asked for in a lane means that nothing more is
	// due there.
	Claim(ctx context.Context, q messaging.ClaimRequest) ([]messaging.Message, error)
	// ClaimProbe is Claim of at most one message, of the most urgent lane first, and of another phone and content than those that failed.
	ClaimProbe(ctx context.Context, p messaging.ProbeRequest) ([]messaging.Message, error)
	// Finish records how a claim ended, together with the message in a.Message. It answers
	// messaging.ErrClaimLost when the claim is not held any more.
	Finish(ctx context.Context, a messaging.Attempt) error
	// NextDue is the earliest DueAt among waiting messages of those lanes; ok is false when there is none.
	NextDue(ctx context.Context, lanes ...messaging.Category) (due time.Time, ok bool, err error)
	// RescueClaims ends the claims that nobody will finish, those of dead owners and those whose
	// lease ended before now. owner is the one who asks.
	RescueClaims(ctx context.Context, now time.Time, owner string) (messaging.Rescued, error)
	// BeginCall notes that the call for a claim is about to begin. A slot is used again once Finish
	// has recorded the outcome of the call that was noted there before.
	BeginCall(slot int, id messaging.MessageID, attempt int) error
}

// An API makes the calls; *apiclient.Client is one. It bounds each call by Options.Timeout
// itself, and its errors answer to apiclient.OutcomeOf.
type API interface {
	SendTemplate(ctx context.Context, m apiclient.TemplateMessage) (apiclient.Answer, error)
	SendCampaign(ctx context.Context, phone, campaignID string) (apiclient.Answer, error)
	SendText(ctx context.Context, phone, text string) (apiclient.Answer, error)
	// MessageStatus is how the sender asks whether the service is well again.
	MessageStatus(ctx context.Context, id string) (apiclient.Status, error)
}

// Defaults for the fields of Options that are left zero.
const (
	DefaultConcurrency = 32
	DefaultUrgentShare = 0.125
	DefaultTimeout     = 10 * time.Second
	DefaultGrace       = 20 * time.Second
	DefaultLease       = 2 * time.Minute
)

// Options say what a Sender works with.
type Options struct {
	Store  Store
	API    API
	Budget *pace.Budget // shared with everybody who calls the service
	Log    *zap.Logger  // nil for none

	// Owner signs the claims. It is unique to this run of this process; Senders of one process,
	// such as the one before a reload and the one after, share it, or one would take the
	// other's claims for those of a dead process.
	Owner string
	// Concurrency is the most calls at a time.
	Concurrency int
	// UrgentShare is the part of Concurrency that marketing cannot fill, from 0 to 1: at least
	// one call of two, two of more, and never all. Half of it utility cannot fill either, where it is two or more.
	UrgentShare float64
	// Timeout is the most time that one call of API takes.
	Timeout time.Duration
	// Grace is how long calls under way may go on once Run is told to stop.
	Grace time.Duration
	// Lease is how long a claim holds; it is raised where it would not cover a call.
	Lease time.Duration
	// FirstPoll says when a message that was accepted at the given time is first asked about.
	// Nil is five seconds later.
	FirstPoll func(accepted time.Time) time.Time
	// HoldMarketing is until when no marketing is claimed, the zero time while it is. It is asked again then. Nil is never.
	HoldMarketing func() (until time.Time)
	// MayGo says just before the call of a claim whether d may go, from what changed since the claim; service is why the service takes nothing of
	// its lane now, "" where it does. Nil is by that, and by when it expires.
	MayGo func(ctx context.Context, d *messaging.Message, service string, now time.Time) (messaging.StepVerdict, error)
	// Classify gives the service's words about a message their class; nil is by the rules that come with
	// nudgewire.
	Classify func(words string) messaging.ErrorClass
	// Request is the id of the request that d goes back to, for lines of the log; "" where there is none. Nil knows none.
	Request func(d *messaging.Message) string
	// Called is told of each call that was made, before its outcome is recorded; nil is nobody.
	Called func(d *messaging.Message, began, ended time.Time, a *messaging.Attempt)
	// OnDoubt is what the trigger of d says is done in doubt, "" where it says nothing; nil is by category.
	OnDoubt func(d *messaging.Message) messaging.OnDoubt
	// OwnExpiry reports whether the config names when d expires: then it is not put off. Nil is yes.
	OwnExpiry func(d *messaging.Message) bool
	// Probes reports whether d shows whether the service takes again what it refused one after the other. Nil is never.
	Probes func(d *messaging.Message) bool
	// Pauses keep the trouble of the account for all processes that call it.
	Pauses Pauses
	// Jitter spreads retries: a number from 0 up to but not including 1. Nil is random.
	Jitter func() float64
	// Now is the clock of the store; nil is time.Now.
	Now func() time.Time
}

const (
	// ahead is how many messages may be claimed for each call that may be under way, counted
	// until the call ends: those beyond the first wait, so that no call waits for the commit of
	// a claim. Each of them is one more message that a crash puts in doubt without need.
	ahead = 2

	// storing is how many more may wait for the commit of their outcome. They cost nothing but
	// a goroutine, and the more of them there are the more share one commit.
	storing = 2

	// window is how far ahead of the rate budget messages are claimed.
	window = 250 * time.Millisecond

	// holdMost is how long a claimed message waits for the rate budget before it goes back:
	// longer than window, so only after the budget shrank with the claim already made.
	holdMost = 5 * time.Second
)

// Slots is how many slots a Sender of that concurrency uses: those that BeginCall gets are below.
func Slots(concurrency int) int { return (ahead + storing) * concurrency }

// A Sender delivers what is due. Make it with New.
type Sender struct {
	Options

	api    atomic.Pointer[API]
	loop   *claims.Loop[claim]
	slots  slots
	health health
	counts counts

	keepers       Pauses       // as last configured
	untrackedTold atomic.Int64 // when the log last said so, nanoseconds

	service claims.Service
}

// New makes a Sender. Options.Store, API and Budget must be set.
func New(o Options) *Sender {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.UrgentShare <= 0 {
		o.UrgentShare = DefaultUrgentShare
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
	if o.FirstPoll == nil {
		o.FirstPoll = func(accepted time.Time) time.Time { return accepted.Add(5 * time.Second) }
	}
	if o.Request == nil {
		o.Request = func(*messaging.Message) string { return "" }
	}
	if o.MayGo == nil {
		o.MayGo = func(_ context.Context, d *messaging.Message, service string, now time.Time) (messaging.StepVerdict, error) {
			return messaging.StepVerdict{Verdict: duerules.MayGo(nil, d, &messaging.DueFacts{Claimed: true, Service: service}, now)}, nil
		}
	}
	if o.OnDoubt == nil {
		o.OnDoubt = func(*messaging.Message) messaging.OnDoubt { return "" }
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
	reserved, codes := reserve(o.Concurrency, o.UrgentShare)
	s := &Sender{Options: o, keepers: o.Pauses, slots: newSlots(o.Concurrency, reserved, codes)}
	s.loop = claims.New(claims.Options[claim]{
		Claim: s.claim, Probe: s.claimProbe,
		Next: func(ctx context.Context, of [claims.MaxLanes]bool) (time.Time, bool, error) {
			var lanes []messaging.Category
			for lane, is := range of {
				if is {
					lanes = append(lanes, messaging.Lanes[lane])
				}
			}
			return o.Store.NextDue(ctx, lanes...)
		},
		Lane:   func(c *claim) int { return c.Category.Lane() },
		Room:   func() (int, time.Time) { return o.Budget.Room(pace.Send, window) },
		Halted: s.keepsBack, Ask: s.probe,
		Seats: s.seats(), Workers: Slots(o.Concurrency), Jitter: o.Jitter, Now: o.Now, Log: o.Log, What: "messages",
	})
	s.api.Store(&o.API)
	for scope := range s.health.halts {
		halt := &s.health.halts[scope]
		halt.Heard = func(was, is pace.Halted) { s.haltElsewhere(scope, was, is) }
		halt.Share(o.Pauses.of(scope), o.Now())
		halt.Retry(o.Now()) // as after a reload
	}
	return s
}

// seats are how many messages of each lane may be in hand.
func (s *Sender) seats() claims.Lanes {
	reserved, codes := reserve(s.Concurrency, s.UrgentShare)
	seats := claims.Lanes{ahead * s.Concurrency, ahead * (s.Concurrency - codes), ahead * (s.Concurrency - reserved)}
	if s.Concurrency == 1 {
		seats[2] = 1
	}
	return seats
}

// keepsBack is what keeps claims back: trouble of the account or a lane, or whoever holds marketing.
func (s *Sender) keepsBack() []claims.Halt {
	var marketing time.Time
	if s.HoldMarketing != nil {
		marketing = s.HoldMarketing()
	}
	return s.health.keepsBack(s.Now(), marketing)
}

// Run delivers what falls due until ctx is done. Then it claims nothing more, gives back what
// it holds and has not sent, waits for calls under way for Options.Grace, cuts those that are
// left and records them as in doubt. It returns at most five seconds after the grace. A stop
// is no error; trouble with the store is logged and waited out.
func (s *Sender) Run(ctx context.Context) error {
	return s.service.Run(ctx, s.Grace, func(calling, recording context.Context) {
		s.rescue(recording) // before the first claim, which the store counts on
		s.loop.Run(ctx, recording, func(c *claim, seat *claims.Seat) { s.work(ctx, calling, recording, c, seat) })
	}, func(_, recording context.Context) { s.abandon(ctx, recording) })
}

// Wake tells that a message falls due at the given time. It never blocks; a time that has
// passed leads to a claim at once.
func (s *Sender) Wake(at time.Time) { s.loop.Wake(at) }

// Reconfigure replaces the API for calls to come. Where the account is called as before, which is where pauses are those of before, trouble
// that the old one met stays until the next probe, which is due at once; where it is called otherwise, it is forgotten.
// The rate is the Budget's matter; another concurrency needs another Sender.
func (s *Sender) Reconfigure(api API, pauses Pauses) {
	s.api.Store(&api)
	h := &s.health
	other := pauses == Pauses{} || pauses != s.keepers
	s.keepers = pauses
	for scope := range h.halts {
		if was, halted := h.halts[scope].State(); halted {
			s.Log.Info("sending is tried again after a reload", zap.String("lane", laneName(scope)), zap.String("cause", was.Cause), zap.Time("halted_since", was.Since))
		}
		if other {
			h.halts[scope].Reset(pauses.of(scope), s.Now())
		}
		h.halts[scope].Retry(s.Now())
		h.forget(scope)
	}
	h.mu.Lock()
	h.refused = refusals{}
	h.mu.Unlock()
	s.loop.Wake(time.Time{})
}

// rescueEvery is how often claims of dead senders are looked for: on another machine one may die at any time.
const rescueEvery = 5 * time.Second

// abandon puts in doubt, now and then, what dead senders left behind. ctx ends it.
func (s *Sender) abandon(ctx, recording context.Context) {
	every := time.NewTicker(min(s.Lease/2, rescueEvery))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			s.rescue(recording)
		}
	}
}

// rescue ends the claims that nobody will finish.
func (s *Sender) rescue(ctx context.Context) {
	n, err := s.Store.RescueClaims(ctx, s.Now(), s.Owner)
	switch {
	case err != nil:
		s.Log.Error("looking for claims of dead senders", zap.Error(err))
	case n.Doubtful > 0:
		s.counts.abandoned.Add(uint64(n.Doubtful))
		s.Log.Warn("claims that nobody will finish were ended: what they held may have been sent", zap.Int("count", n.Doubtful))
	}
}
