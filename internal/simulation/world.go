package simulation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/delivery/tracker"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

// Rules are those of one config.
type Rules struct {
	Receivers map[string]*connectors.Connector
	Triggers  *triggers.Set
	Due       *duerules.Rules
	Errors    *messaging.ErrorRules // of the service's words
	Plan      tracker.Plan
	Accounts  []string // of the service, beside that of the section api
	Jobs      []*scheduler.Compiled
	Prices    func(account string) scheduler.Prices // price tables, for guards; nil where no prices are known
	Templates messaging.Templates                   // whose texts are known

	// Points are what a message costs, by the price of its account; nil where no prices are known.
	Points func(account string, c messaging.Category, phone messaging.Phone) float64
}

var (
	// ErrLooksUp is an event that the daemon would look something up for at another system first.
	ErrLooksUp = errors.New("the daemon would first look up at another system what the webhook leaves out")

	// ErrHalts is a service that refuses so much that the daemon would pause, and go on by probes.
	ErrHalts = errors.New("the service refuses so much that the daemon would pause and try again by and by, which is not played")
)

// A Simulator plays worlds, one after the other, over one file.
type Simulator struct {
	folder string
	world  *World       // the last one; nil before the first
	data   *store.Store // of the last world; nil before the first, and after an error
	opened int
}

// NewSimulator makes one that throws away what is in a folder of its own, below in, or where such files are usual for "". Close it.
func NewSimulator(in string) (*Simulator, error) {
	if in != "" {
		if err := os.MkdirAll(in, 0o700); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(in, "nudgewire-simulation-")
	return &Simulator{folder: folder}, err
}

// Close throws everything away.
func (s *Simulator) Close() error {
	var err error
	s.world.end()
	if s.data != nil {
		err = s.data.Close()
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// owner signs all claims.
const owner = "simulation"

// A World is what happens under one config to one list of events, from its begin on. One goroutine uses it.
type World struct {
	Store *store.Store // for reading

	// Called is told of each call to the service, with what was filled in; nil is nobody.
	Called func(m *messaging.Message, at time.Time, a *messaging.Attempt)
	// Uploaded is told of each file of a list that leaves; nil is nobody.
	Uploaded func(ctx context.Context, run *messaging.Run, p *messaging.Part, at time.Time) error

	rules    Rules
	now      time.Time
	stop     context.CancelCauseFunc // ends what is done now, with why; nil while nothing is
	service  played
	accounts []account
	lists    lists
}

// An account is one of the service's, with its rooms.
type account struct {
	store.Account
	name    string
	sender  *sender.Sender
	tracker *tracker.Tracker

	sends, looks next // of messages, and of looks at what became of them
}

// A next is when something falls due next. It is found out by a question to the store, and lowered by whatever is stored meanwhile: then
// it may be too early, where what was stored is gone again.
type next struct {
	at    time.Time // zero is never
	exact bool
}

func (n *next) lower(at time.Time) {
	if n.at.IsZero() || at.Before(n.at) {
		n.at, n.exact = at, false
	}
}

func (n *next) due(now time.Time) bool { return !n.at.IsZero() && !n.at.After(now) }

// ask finds it out.
func (n *next) ask(of func() (time.Time, bool, error)) error {
	at, is, err := of()
	if !is {
		at = time.Time{}
	}
	n.at, n.exact = at, true
	return err
}

// Begin makes a world without a past, in which it is start. The one before it ends.
func (s *Simulator) Begin(ctx context.Context, r Rules, service Service, start time.Time) (*World, error) {
	s.world.end()
	w := &World{rules: r, now: start}
	s.world = w
	w.service = played{now: w.Now, fate: service}
	o := w.options()
	var err error
	if before := s.data; before != nil {
		s.data = nil
		w.Store, err = before.Anew(ctx, o)
	} else {
		s.opened++
		o.DSN = "sqlite:" + filepath.Join(s.folder, fmt.Sprint(s.opened, ".db"))
		w.Store, err = store.Open(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("scratch data: %w", err)
	}
	s.data = w.Store
	if _, err := w.Store.RescueClaims(ctx, start, owner); err != nil { // which makes the owner known
		return nil, fmt.Errorf("scratch data: %w", err)
	}
	first := 0
	for _, name := range append([]string{""}, r.Accounts...) {
		w.accounts = append(w.accounts, w.account(name, first))
		first += sender.Slots(sender.DefaultConcurrency)
	}
	w.lists.begin(w)
	return w, nil
}

// options are those of the daemon's store, without who is woken.
func (w *World) options() store.Options {
	set := w.rules.Triggers
	points := w.rules.Points
	if w.rules.Due.Purse() == nil { // nobody asks what was spent
		points = nil
	}
	return store.Options{
		Scratch: true, Stepped: true, Now: w.Now, Settle: triggers.Settle, Due: w.due, Points: points,
		Sends:     func(trigger string) bool { return set.ModeOf(trigger) == triggers.Live },
		OnDue:     func(of string, at time.Time) { w.heed(of, at, func(a *account) *next { return &a.sends }) },
		OnPoll:    func(of string, at time.Time) { w.heed(of, at, func(a *account) *next { return &a.looks }) },
		OnEnd:     w.ends,
		OnDoubt:   w.onDoubt,
		OwnExpiry: w.ownExpiry,
		FirstPoll: func(_ string, accepted time.Time, _ int64) time.Time { return w.accounts[0].tracker.First(accepted) },
	}
}

// heed takes up that something of an account falls due. The store calls it before it answers whoever stored that.
func (w *World) heed(of string, at time.Time, next func(*account) *next) {
	for i := range w.accounts {
		if a := &w.accounts[i]; of == a.name || of == messaging.EveryAccount {
			next(a).lower(at)
		}
	}
}

// ends has what is done now end, because the data is at its end: else the sender would offer it for good what became of its call.
func (w *World) ends(why error) {
	if w.stop != nil {
		w.stop(why)
	}
}

func (w *World) account(name string, slot int) account {
	a := account{Account: w.Store.Account(name, slot), name: name, sends: next{at: w.now}, looks: next{at: w.now}}
	a.tracker = tracker.New(tracker.Options{
		Store: a.Account, API: &w.service, Budget: pace.NewBudget(0), Plan: w.rules.Plan, Now: w.Now, Jitter: noJitter, Classify: w.rules.Errors.Class,
		Reported: func(m *messaging.Message, p *messaging.Poll) { a.sender.StatusReported(m, p) },
	})
	look := sender.LastLook{Store: w.Store, Rules: w.due, Step: w.rules.Triggers.Step}
	a.sender = sender.New(sender.Options{
		Store: a.Account, API: &w.service, Budget: pace.NewBudget(0), Owner: owner, Now: w.Now, Jitter: noJitter,
		FirstPoll: a.tracker.First,
		MayGo: func(ctx context.Context, m *messaging.Message, service string, now time.Time) (messaging.StepVerdict, error) {
			w.service.calls = m
			return look.MayGo(ctx, m, service, now)
		}, Classify: w.rules.Errors.Class, OnDoubt: w.onDoubt, OwnExpiry: w.ownExpiry,
		Probes: func(d *messaging.Message) bool { return w.Store.Probes(d.ID) },
		Called: func(m *messaging.Message, began, _ time.Time, attempt *messaging.Attempt) {
			if attempt.State == messaging.StateInDoubt || attempt.Doubtful {
				a.sender.Budget = pace.NewBudget(0) // it slowed its calls by the clock of the machine, which is not played
			}
			if w.Called != nil {
				w.Called(m, began, attempt)
			}
		},
	})
	return a
}

// noJitter is the middle: what is spread comes at its time.
func noJitter() float64 { return 0.5 }

// Now is the time of the world.
func (w *World) Now() time.Time { return w.now }

func (w *World) due() messaging.DueRules {
	if w.rules.Due.Any() {
		return w.rules.Due
	}
	return nil
}

func (w *World) onDoubt(d *messaging.Message) messaging.OnDoubt {
	if d.EventID == 0 {
		return ""
	}
	return w.rules.Triggers.OnDoubt(d.Trigger)
}

func (w *World) ownExpiry(d *messaging.Message) bool {
	if d.EventID != 0 {
		return w.rules.Triggers.OwnExpiry(d.Trigger)
	}
	j := w.rules.job(d.Trigger)
	return j == nil || j.OwnExpiry()
}

// Taken is what became of a webhook.
type Taken struct {
	Received connectors.Received
	Rejected *connectors.Rejected // why it was not taken; then there is nothing else
	Receipts []messaging.Receipt  // of its events, in their order
}

// Take takes a webhook now. It is taken as one whose sender has proven who they are; its time is the world's.
func (w *World) Take(ctx context.Context, c *connectors.Connector, r connectors.Request) (Taken, error) {
	r.Now, r.Proven = w.now, true
	got, err := c.Receive(r)
	if no, is := errors.AsType[*connectors.Rejected](err); is {
		return Taken{Rejected: no}, nil
	} else if err != nil || len(got.Events) == 0 {
		return Taken{Received: got}, err
	}
	plans := enricher.Plans(c, w.rules.Triggers, got.Events, "", w.now)
	for i := range plans {
		if plans[i].Later {
			return Taken{Received: got}, ErrLooksUp
		}
	}
	receipts, err := w.Store.Accept(ctx, plans)
	return Taken{Received: got, Receipts: receipts}, err
}

// TakePast takes an event now that was taken once before, as it was mapped then: nothing is looked up again, and what it asks to be forgotten
// is not.
func (w *World) TakePast(ctx context.Context, e messaging.Event) (messaging.Receipt, error) {
	e.ID, e.ReceivedAt = 0, w.now
	plan := enricher.Known(w.rules.Receivers[e.Connector], w.rules.Triggers, &e, w.now)
	plan.Proposals = slices.DeleteFunc(plan.Proposals, func(p messaging.Proposal) bool { return p.Decision.Trigger == messaging.Erasure })
	receipts, err := w.Store.Accept(ctx, []messaging.Plan{plan})
	if err != nil {
		return messaging.Receipt{}, err
	}
	return receipts[0], nil
}

// RunUntil carries out all that falls due until a time, which it then is.
func (w *World) RunUntil(ctx context.Context, end time.Time) error {
	_, err := w.run(ctx, end, false)
	if end.After(w.now) {
		w.now = end
	}
	return err
}

// RunToEnd carries out all that waits, until a time at the latest, and reports whether anything waits still. The world's time is that of the
// last thing that it did.
func (w *World) RunToEnd(ctx context.Context, latest time.Time) (waits bool, err error) {
	return w.run(ctx, latest, true)
}

// mostIdle is how many turns in which nothing moves show that what is due is taken by nobody. A turn without a call may have put off or
// dropped what was due.
const mostIdle = 1000

// run carries out what falls due until a time. With exact the world's time is never one at which nothing happens.
func (w *World) run(ctx context.Context, latest time.Time, exact bool) (waits bool, err error) {
	if at := w.next(); at.IsZero() || !exact && at.After(latest) {
		return !at.IsZero(), nil
	}
	var done context.CancelCauseFunc
	ctx, done = context.WithCancelCause(ctx)
	defer done(nil)
	w.stop = done
	defer func() { w.stop = nil }()
	for idle := 0; ; {
		at := w.next()
		if exact && at.After(w.now) {
			if err := w.ask(ctx); err != nil {
				return true, err
			}
			at = w.next()
		}
		if at.IsZero() || at.After(latest) {
			return !at.IsZero(), nil
		}
		if at.After(w.now) {
			w.now, idle = at, 0
		}
		moved, err := w.turn(ctx)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if err != nil {
			return true, err
		}
		if idle++; moved {
			idle = 0
		} else if idle > mostIdle {
			return true, fmt.Errorf("what is due at %s is taken by nobody", units.Stamp(at))
		}
	}
}

// next is when something falls due next, or may; zero is never.
func (w *World) next() (at time.Time) {
	earlier := func(one time.Time) {
		if !one.IsZero() && (at.IsZero() || one.Before(at)) {
			at = one
		}
	}
	for i := range w.accounts {
		earlier(w.accounts[i].sends.at)
		earlier(w.accounts[i].looks.at)
	}
	earlier(w.lists.next())
	return at
}

// ask finds out what is not known exactly.
func (w *World) ask(ctx context.Context) (err error) {
	for i := range w.accounts {
		a := &w.accounts[i]
		if !a.sends.exact {
			err = a.askSends(ctx)
		}
		if err == nil && !a.looks.exact {
			err = a.askLooks(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *account) askSends(ctx context.Context) error {
	return a.sends.ask(func() (time.Time, bool, error) { return a.NextDue(ctx) })
}

func (a *account) askLooks(ctx context.Context) error {
	return a.looks.ask(func() (time.Time, bool, error) { return a.NextPoll(ctx) })
}

// turn does what is due now: first what the service told is heard, then messages go, and then lists go on. moved is false where nothing was due.
func (w *World) turn(ctx context.Context) (moved bool, err error) {
	for i := range w.accounts {
		a := &w.accounts[i]
		n, err := a.turn(ctx, w.now)
		if errors.Is(err, tracker.ErrHalted) || errors.Is(err, sender.ErrHalted) || err == nil && len(w.Store.HoldsOf(ofService)) > 0 {
			err = ErrHalts
		}
		if err != nil {
			return false, err
		}
		moved = moved || n > 0
	}
	return moved, w.listsTurn(ctx)
}

// turn does what is due of an account, and says of how many messages.
func (a *account) turn(ctx context.Context, now time.Time) (n int, err error) {
	if a.looks.due(now) {
		if n, err = a.tracker.Turn(ctx); err == nil {
			err = a.askLooks(ctx)
		}
	}
	if err == nil && a.sends.due(now) {
		var sent int
		if sent, err = a.sender.Turn(ctx); err == nil {
			err = a.askSends(ctx)
		}
		n += sent
	}
	return n, err
}

// ofService is a hold that the service's refusals lead to; of a run that was stopped nothing goes, and all else does.
func ofService(h messaging.Hold) bool { return h.Scope != messaging.ScopeRun }
