package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/receiver"
)

// A Store keeps what was told. Records are one.
type Store interface {
	Alerts(ctx context.Context) (messaging.AlertState, error)
	KeepAlerts(ctx context.Context, state messaging.AlertState) error
}

// Options say what Alerts work with.
type Options struct {
	Store Store
	// Look says what is wrong. An error is told in the log; what was told stays as it is.
	Look func(ctx context.Context) (Look, error)
	// Urgent reports, at no cost, that the data cannot be read or written: then no look is put off. nil is never.
	Urgent func() bool
	Pace   Pace
	From   string // names this daemon to those who read of several
	Log    *zap.Logger
	// Sender delivers a message to a receiver; nil is by the network.
	Sender func(ctx context.Context, r *Receiver, m *Mail, message Message) error
	Agent  string           // User-Agent of webhooks
	Now    func() time.Time // the clock of the store; nil is time.Now
}

const (
	firstRetry, lastRetry = 10 * time.Second, 15 * time.Minute
	giveUp                = 24 * time.Hour   // after that a notice is dropped: it is no news any more
	oneCall               = 15 * time.Second // may a delivery take
	grace                 = 5 * time.Second  // of those under way at a stop
	keeping               = 2 * time.Second  // may it take to store what was told, before it is told all the same

	// A receiver gets at most so many messages in such a time; what is more comes as one.
	mostAtOnce = 6
	atOnce     = 10 * time.Minute
)

// Alerts tell receivers what is wrong. Make them with New.
type Alerts struct {
	o    Options
	wake chan struct{}

	nextLook time.Time // not before; Run's own

	mu        sync.Mutex
	judge     *judge
	plan      *Plan
	loaded    bool
	dirty     bool // what is stored is older than what is known
	notices   []messaging.AlertNotice
	receivers map[string]*standing
}

// A standing is how it goes with one receiver.
type standing struct {
	messaging.AlertReceiver
	busy bool
	sent []time.Time // in the last atOnce, the oldest first
}

// New makes Alerts without a plan.
func New(o Options) *Alerts {
	o.Pace = o.Pace.withDefaults()
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sender == nil {
		o.Sender = newNetwork(o.Agent).send
	}
	return &Alerts{o: o, wake: make(chan struct{}, 1), judge: newJudge(o.Pace, nil), plan: &Plan{}, receivers: map[string]*standing{}}
}

// Use takes up a plan. An alert whose condition or receiver is gone ends without a word, and what such a receiver was still
// to be told is dropped: whoever took it out knows, and the trouble may well last.
func (a *Alerts) Use(p *Plan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plan, a.judge.plan = p, p
	a.forgetGone()
}

// forgetGone drops what belongs to receivers that the plan does not have. a.mu is held.
func (a *Alerts) forgetGone() {
	if !a.loaded {
		return
	}
	gone := func(id string) bool {
		return !slices.ContainsFunc(a.plan.Receivers, func(r Receiver) bool { return r.ID == id })
	}
	a.notices = slices.DeleteFunc(a.notices, func(n messaging.AlertNotice) bool { return gone(n.Receiver) })
	for id := range a.receivers {
		if gone(id) {
			delete(a.receivers, id)
			a.dirty = true // its notices went with it
		}
	}
	for i := range a.plan.Receivers {
		r := &a.plan.Receivers[i]
		s := a.receivers[r.ID]
		if s == nil {
			s = &standing{}
			a.receivers[r.ID] = s
		}
		if s.Name != r.Name {
			s.ID, s.Name = r.ID, r.Name
			a.dirty = true
		}
	}
}

// Run looks and tells until ctx is done. Deliveries under way then have a moment to end; what is not told is stored, and
// told after the next start.
func (a *Alerts) Run(ctx context.Context) error {
	a.mu.Lock()
	a.loaded = false // where others told meanwhile, they kept it
	a.mu.Unlock()
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var calls sync.WaitGroup
	tick := time.NewTicker(a.o.Pace.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		a.load(ctx)
		a.findTroubles(ctx)
		for again := true; again && ctx.Err() == nil; {
			a.keep(ctx)
			a.startDeliveries(calling, &calls)
			select {
			case <-ctx.Done():
				again = false
			case <-tick.C:
				again = false
			case <-a.wake: // a delivery has ended
			}
		}
	}
	stop := time.AfterFunc(grace, cut)
	defer stop.Stop()
	calls.Wait()
	a.keep(context.WithoutCancel(ctx))
	return nil
}

// load reads what was told before, until that went well once.
func (a *Alerts) load(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loaded {
		return
	}
	state, err := a.o.Store.Alerts(ctx)
	if err != nil {
		a.o.Log.Warn("read what alerts were told before", zap.Error(err))
		return
	}
	a.judge = newJudge(a.o.Pace, state.Alerts)
	a.judge.restored = state.RestoredAt
	a.judge.plan, a.loaded = a.plan, true
	for i := range state.Notices {
		state.Notices[i].NextAt = time.Time{} // a start is a good moment to try again
	}
	a.notices = append(state.Notices, a.notices...)
	for _, r := range state.Receivers {
		a.receivers[r.ID] = &standing{AlertReceiver: r}
	}
	a.forgetGone()
}

// looksTake is the part of the time that looks may take: over a large ledger they are made less often.
const looksTake = 20

func (a *Alerts) findTroubles(ctx context.Context) {
	a.mu.Lock()
	idle := len(a.plan.Watches)+len(a.judge.known) == 0
	a.mu.Unlock()
	if idle {
		return
	}
	began := a.o.Now()
	urgent := a.o.Urgent != nil && a.o.Urgent()
	if began.Before(a.nextLook) && a.nextLook.Sub(began) < time.Hour && !urgent { // a later one is of a clock that was set back
		return
	}
	look, err := a.o.Look(ctx)
	a.nextLook = a.o.Now().Add((looksTake - 1) * a.o.Now().Sub(began))
	if err != nil || slices.ContainsFunc(look.Troubles, func(one messaging.Trouble) bool { return one.Code == messaging.TroubleData }) {
		a.nextLook = time.Time{} // it waited for data that does not answer, and that is what people are to hear soon
	}
	if err != nil {
		if ctx.Err() == nil {
			a.o.Log.Warn("look for what alerts are to tell", zap.Error(err))
		}
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.loaded {
		return // else what was told would be told again
	}
	for i := range look.Troubles {
		look.Troubles[i] = tidy(look.Troubles[i])
	}
	notices, changed := a.judge.step(look)
	a.dirty = a.dirty || changed
	for i := range notices {
		n := &notices[i]
		fields := []zap.Field{zap.String("to", a.judge.nameOfReceiver(n.Receiver)), zap.String("code", string(n.Trouble.Code)), zap.String("subject", n.Trouble.Subject), zap.String("words", n.Trouble.Words)}
		if n.EndedAt.IsZero() {
			a.o.Log.Warn("an alert", fields...)
		} else {
			a.o.Log.Info("an alert is over", append(fields, zap.Duration("lasted", n.EndedAt.Sub(n.Began)))...)
		}
	}
	a.notices = append(a.notices, notices...)
	for id, s := range a.receivers {
		a.thin(id, s)
	}
}

// mostWaiting bounds what waits for one receiver.
const mostWaiting = 200

// thin drops what is too old to be news, and the oldest of too much. a.mu is held.
func (a *Alerts) thin(id string, s *standing) {
	if s.busy {
		return
	}
	now, waiting := a.o.Now(), 0
	for i := range a.notices {
		if a.notices[i].Receiver == id {
			waiting++
		}
	}
	a.notices = slices.DeleteFunc(a.notices, func(n messaging.AlertNotice) bool {
		if n.Receiver != id || now.Sub(n.CreatedAt) < giveUp && waiting <= mostWaiting {
			return false
		}
		waiting--
		a.dirty = true
		a.o.Log.Error("an alert could not be told, and is dropped", zap.String("to", s.Name), zap.String("words", n.Trouble.Words), zap.String("error", s.LastError))
		return true
	})
}

// keep stores what is known. Where it cannot be stored it is tried again after the next look, and told meanwhile.
func (a *Alerts) keep(ctx context.Context) {
	a.mu.Lock()
	if !a.dirty || !a.loaded {
		a.mu.Unlock()
		return
	}
	state := a.state()
	a.dirty = false
	a.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, keeping)
	defer cancel()
	if err := a.o.Store.KeepAlerts(bounded, state); err != nil {
		a.mu.Lock()
		a.dirty = true
		a.mu.Unlock()
		if ctx.Err() == nil {
			a.o.Log.Warn("store what alerts told; they are told all the same, and perhaps again after a restart", zap.Error(err))
		}
	}
}

// state is what is stored. a.mu is held.
func (a *Alerts) state() messaging.AlertState {
	s := messaging.AlertState{Alerts: a.judge.alerts(), Notices: slices.Clone(a.notices)}
	for _, r := range a.receivers {
		s.Receivers = append(s.Receivers, r.AlertReceiver)
	}
	slices.SortFunc(s.Receivers, func(x, y messaging.AlertReceiver) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	return s
}

// startDeliveries begins a delivery to each receiver that something waits for, one at a time for each.
func (a *Alerts) startDeliveries(ctx context.Context, calls *sync.WaitGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.o.Now()
	for i := range a.plan.Receivers {
		r := a.plan.Receivers[i]
		s := a.receivers[r.ID]
		if s == nil || s.busy {
			continue
		}
		if batch := a.next(s, now); len(batch) > 0 {
			s.busy = true
			mail := a.plan.Mail
			calls.Go(func() {
				err := a.deliver(ctx, &r, mail, message(batch, a.o.From))
				a.deliveryEnded(ctx, s, batch, err)
			})
		}
	}
}

// next are the notices that a receiver gets next: one, or all that wait where one each would be too many. a.mu is held.
func (a *Alerts) next(s *standing, now time.Time) (batch []messaging.AlertNotice) {
	for _, n := range a.notices {
		if n.Receiver == s.ID {
			batch = append(batch, n)
		}
	}
	s.sent = slices.DeleteFunc(s.sent, func(at time.Time) bool { return now.Sub(at) >= atOnce || at.After(now) })
	switch left := mostAtOnce - len(s.sent); {
	case len(batch) == 0 || left <= 0:
		return nil
	case batch[0].NextAt.After(now) && batch[0].NextAt.Sub(now) <= lastRetry: // a later one is of a clock that was set back
		return nil
	case left > 1:
		return batch[:1]
	default:
		return batch
	}
}

func (a *Alerts) deliver(ctx context.Context, r *Receiver, m *Mail, message Message) error {
	bounded, cancel := context.WithTimeout(ctx, oneCall)
	defer cancel()
	err := a.o.Sender(bounded, r, m, message)
	if err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", oneCall)
	}
	return err
}

// deliveryEnded takes in how a delivery ended.
func (a *Alerts) deliveryEnded(ctx context.Context, s *standing, batch []messaging.AlertNotice, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.busy, a.dirty = false, true
	select {
	case a.wake <- struct{}{}:
	default:
	}
	if err == nil {
		a.receiverReached(s)
		a.notices = slices.DeleteFunc(a.notices, func(n messaging.AlertNotice) bool {
			return slices.ContainsFunc(batch, func(done messaging.AlertNotice) bool { return done.ID == n.ID })
		})
		return
	}
	if ctx.Err() != nil {
		return // it was cut by the stop, and says nothing of the receiver
	}
	a.missed(s, err)
	for i := range a.notices {
		if n := &a.notices[i]; n.ID == batch[0].ID {
			n.Attempts++
			pause := backoff.Next(n.Attempts, firstRetry, lastRetry, backoff.Jitter())
			if asked, ok := errors.AsType[*receiver.RefusedError](err); ok {
				pause = min(max(pause, asked.After), lastRetry)
			}
			n.NextAt = a.o.Now().Add(pause)
		}
	}
}

// receiverReached notes a delivery. a.mu is held.
func (a *Alerts) receiverReached(s *standing) {
	now := a.o.Now()
	if !s.FailingSince.IsZero() {
		a.o.Log.Info("a receiver of alerts is reached again", zap.String("to", s.Name), zap.Duration("after", now.Sub(s.FailingSince)))
	}
	s.sent = append(s.sent, now)
	s.DeliveredAt, s.FailedAt, s.FailingSince, s.LastError = now, time.Time{}, time.Time{}, ""
}

// missed notes a delivery that failed. a.mu is held.
func (a *Alerts) missed(s *standing, err error) {
	now := a.o.Now()
	s.FailedAt, s.LastError = now, mask.Words(err.Error(), mostWords)
	if s.FailingSince.IsZero() {
		s.FailingSince = now
		a.o.Log.Warn("a receiver of alerts cannot be reached; it is tried again", zap.String("to", s.Name), zap.String("error", s.LastError))
	}
}

// ErrNoReceiver is a name that no receiver has.
var ErrNoReceiver = errors.New("there is no such receiver")

// A Tested is how the test of a receiver ended.
type Tested struct {
	Name  string `json:"receiver" kind:"ours"`
	Error string `json:"error,omitempty" kind:"text"` // "" for one that was reached
}

// Test sends a test to the receiver of that name, or to all for "". It does not count as an alert.
func (a *Alerts) Test(ctx context.Context, name string) (out []Tested, err error) {
	a.mu.Lock()
	plan := a.plan
	a.mu.Unlock()
	var of []Receiver
	for _, r := range plan.Receivers {
		if name == "" || r.Name == name {
			of = append(of, r)
		}
	}
	if len(of) == 0 && name != "" {
		return nil, ErrNoReceiver
	}
	out = make([]Tested, len(of))
	var calls sync.WaitGroup
	for i := range of {
		calls.Go(func() {
			out[i].Name = of[i].Name
			err := a.deliver(ctx, &of[i], plan.Mail, test(rand.Text(), a.o.From, a.o.Now()))
			a.mu.Lock()
			defer a.mu.Unlock()
			s := a.receivers[of[i].ID]
			if err != nil {
				out[i].Error = mask.Words(err.Error(), mostWords)
			}
			switch {
			case s == nil || ctx.Err() != nil: // gone meanwhile, or nobody waits for the answer
			case err != nil:
				a.missed(s, err)
			default:
				sent := s.sent
				a.receiverReached(s)
				s.sent = sent
				for k := range a.notices {
					if a.notices[k].Receiver == s.ID {
						a.notices[k].NextAt = time.Time{} // what waits for the receiver to be well need not wait
					}
				}
			}
			a.dirty = true
		})
	}
	calls.Wait()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return out, nil
}
