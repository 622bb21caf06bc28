package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// Defaults for the fields of Options that are left zero.
const (
	DefaultLease = 2 * time.Minute
	DefaultGrace = 20 * time.Second
	DefaultRuns  = 2
)

// Options say what a Scheduler works with.
type Options struct {
	Store Store
	Line  func(account string) Line // how uploads of an account leave
	Facts Facts                     // nil knows nothing that keeps a contact from a message
	Owner string                    // signs the claims; it must differ between processes, and between two runs of one
	Log   *zap.Logger

	// Prices is the price table of an account; it gives nil where there is none, and nil is no table at all.
	Prices func(account string) Prices
	// Rules are the rules of the due moment as they are now; it gives nil where there are none, and nil is
	// none at all. Of a job that uploads files the quiet hours and the limits are asked before a file leaves.
	Rules func() *duerules.Rules
	// Errors gives the service's words their class, for retries of some classes; nil, and nil rules, hold those
	// that come with nudgewire.
	Errors func() *messaging.ErrorRules
	// Rate is how many requests a second an account makes, for forecasts; nil where it is not known.
	Rate func(account string) float64
	// Held is what duerules.MayGo should know of a run at present: a person stopped its job, or everything, or its account cannot send.
	// While it is held no further part is claimed and no further row handed over. It is asked once a second; nil is never.
	Held func(r *messaging.Run) messaging.DueFacts
	// Kept is a job as an earlier config had it, nil where nobody knows that any more: its rules hold the runs that began
	// with it once the name has left the config. nil knows none.
	Kept func(version, job string) *Compiled
	// Restored is up to when a job may have been run by whoever had the data before it was restored, zero where it never
	// was, and whether that is still to be reviewed: then nothing is fired. nil is never.
	Restored func() (until time.Time, review bool)
	// Past is the list of a run that is played again, as it was read then (Again); it gives nil for a run whose source is read, and
	// nil is no such run.
	Past func(id messaging.RunID) *PastList
	// Contacts are the rows of an audience at a moment; home is the zone of whoever has none. nil knows no contacts.
	Contacts func(ctx context.Context, a *triggers.Audience, now time.Time, home *time.Location) (lists.Rows, error)
	// OnProgress gets how far runs have come, about five times a second. It must not block.
	OnProgress func(Progress)

	Runs  int           // most lists that are read at a time
	Lease time.Duration // how long a claim of a run holds without being renewed
	Grace time.Duration // how long an upload may go on once Run is to stop
	Heed  time.Duration // how often a run that waits looks up whether somebody stopped it; zero is a second

	// Now, Sleep and Jitter are the clock; nil is the real one.
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Jitter func() float64
}

// A Scheduler fires jobs and takes their runs to the end. Make it with New.
type Scheduler struct {
	Options

	board board

	// A retry and a word on a part look at the same rows before they change anything: one at a
	// time, or both would send the part.
	afterwards sync.Mutex

	leaving sync.Mutex // held from the question who may still get it until the store knows that they do

	mu      sync.Mutex
	jobs    []*Compiled
	wake    chan struct{}
	slots   chan struct{}
	busy    map[messaging.RunID]bool
	reading map[messaging.RunID]bool // true while its list is read, false while it waits for a place
}

// Prices is a price table.
type Prices interface {
	Of(category messaging.Category, phone string) float64
}

// New makes a Scheduler. Options.Store and Owner must be set.
func New(o Options) *Scheduler {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Runs <= 0 {
		o.Runs = DefaultRuns
	}
	if o.Heed <= 0 {
		o.Heed = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) error { backoff.Sleep(ctx, d); return context.Cause(ctx) }
	}
	if o.Jitter == nil {
		o.Jitter = backoff.Jitter
	}
	s := &Scheduler{
		Options: o,
		wake:    make(chan struct{}, 1),
		slots:   make(chan struct{}, o.Runs),
		busy:    map[messaging.RunID]bool{},
		reading: map[messaging.RunID]bool{},
	}
	s.OnProgress = func(p Progress) {
		s.board.put(p)
		if o.OnProgress != nil {
			o.OnProgress(p)
		}
	}
	return s
}

// Use replaces the jobs, at the start and after a reload. Runs under way keep what they were built from, and what holds
// them back is that of the new jobs at once.
func (s *Scheduler) Use(jobs []*Compiled) {
	s.mu.Lock()
	s.jobs = slices.Clone(jobs)
	s.mu.Unlock()
	s.Wake()
}

// Wake makes Run look at the store at once: a run was approved or resumed. It never blocks.
func (s *Scheduler) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Scheduler) all() []*Compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs
}

func (s *Scheduler) job(name string) *Compiled {
	for _, j := range s.all() {
		if j.Name == name {
			return j
		}
	}
	return nil
}

// lookAgain bounds the sleep of a scheduler that knows of nothing due: another process may
// have stored something, and a laptop may have slept.
const lookAgain = 10 * time.Second

// Run fires jobs and works on their runs until ctx is done, and returns when uploads under
// way have ended or their grace is over. A stop is no error; trouble with the store is
// logged and waited out.
func (s *Scheduler) Run(ctx context.Context) error {
	var runs sync.WaitGroup
	defer runs.Wait()
	failures := 0
	for ctx.Err() == nil {
		now := s.Now()
		next, err := s.Tick(ctx, now)
		if err == nil {
			err = s.start(ctx, &runs)
		}
		wait := lookAgain
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failures++
			wait = backoff.Next(failures, 100*time.Millisecond, 10*time.Second, s.Jitter())
			s.Log.Error("looking for jobs that are due", zap.Error(err), zap.Duration("again_in", wait))
		default:
			failures = 0
			if !next.IsZero() {
				wait = min(wait, max(0, next.Sub(s.Now())))
			}
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-t.C:
		}
		t.Stop()
	}
	return nil
}

// Tick stores a run for every job that is due at now, or a skipped one with its reason, and
// says when the next one is due; zero for never. It starts nothing. It also ends what came back of
// cancelled runs.
func (s *Scheduler) Tick(ctx context.Context, now time.Time) (next time.Time, err error) {
	n, left, err := s.Store.EndCancelled(ctx)
	errs := []error{err}
	if left {
		next = now.Add(time.Second)
	}
	if n > 0 {
		s.Log.Info("rows that came back of cancelled runs will not be sent", zap.Int64("rows", n))
	}
	if _, review := s.restored(); review {
		return next, errors.Join(errs...)
	}
	for _, j := range s.all() {
		sched := j.Schedule()
		if sched == nil {
			continue
		}
		since, err := s.Store.LastScheduled(ctx, j.Name, sched.String()+" "+j.zone.String(), now.UTC())
		if err != nil {
			errs = append(errs, fmt.Errorf("job %s: %w", j.Name, err))
			continue
		}
		due := sched.Look(since, now, j.OnMissed)
		if !due.Next.IsZero() && (next.IsZero() || due.Next.Before(next)) {
			next = due.Next
		}
		for _, f := range due.Missed {
			errs = append(errs, s.record(ctx, j, f, messaging.CauseMissed, messaging.RunSkipped, due.Reason, now))
		}
		if due.Now != nil {
			errs = append(errs, s.fire(ctx, j, *due.Now, due, now))
		}
	}
	return next, errors.Join(errs...)
}

// fire stores the run of one firing, as overlap has it.
func (s *Scheduler) fire(ctx context.Context, j *Compiled, f Firing, due Due, now time.Time) error {
	state, reason, err := s.overlapped(ctx, j, f, due.Reason)
	if err != nil {
		return err
	}
	return s.record(ctx, j, f, due.Cause, state, reason, now)
}

// overlapped is what becomes of a firing of which the run before has not ended.
func (s *Scheduler) overlapped(ctx context.Context, j *Compiled, f Firing, reason string) (messaging.RunState, string, error) {
	open, err := s.Store.OpenRuns(ctx, j.Name)
	if err != nil {
		return "", "", err
	}
	if f.Named != "" {
		reason = joinWords(fmt.Sprintf("%s does not exist on this day: the clock skips it", f.Named[len("2006-01-02 "):]), reason)
	}
	if len(open) == 0 {
		return messaging.RunPlanned, reason, nil
	}
	before := open[len(open)-1]
	switch j.Overlap {
	case OverlapQueue:
		return messaging.RunPlanned, joinWords(reason, fmt.Sprintf("queued behind run %d", before.ID)), nil
	case OverlapCancel:
		for _, r := range open {
			if r.Slot == f.Slot {
				continue // stored by another process a moment ago: it is this very firing
			}
			if err := s.cancel(ctx, r, messaging.StopNewer, "", fmt.Sprintf("the run of %s took its place (overlap: cancel_previous)", f.Slot)); err != nil {
				return "", "", err
			}
		}
		return messaging.RunPlanned, reason, nil
	default:
		return messaging.RunSkipped, joinWords(reason, fmt.Sprintf("run %d of %s is still %s (overlap: skip)", before.ID, before.Slot, before.State.Words())), nil
	}
}

func joinWords(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func (s *Scheduler) record(ctx context.Context, j *Compiled, f Firing, cause messaging.RunCause, state messaging.RunState, reason string, now time.Time) error {
	r := j.runOf(f, cause, state, reason, now)
	id, won, err := s.Store.StartRun(ctx, r)
	if err != nil {
		return fmt.Errorf("store the run of %s at %s: %w", j.Name, f.Slot, err)
	}
	if won {
		s.Log.Info("run stored", zap.String("job", j.Name), zap.Int64("run", int64(id)), zap.String("slot", f.Slot), zap.String("state", string(state)), zap.String("reason", mask.Text(reason)))
	}
	return nil
}

// runOf is the run of a firing, before it is stored.
func (j *Compiled) runOf(f Firing, cause messaging.RunCause, state messaging.RunState, reason string, now time.Time) messaging.Run {
	r := messaging.Run{
		Job: j.Name, Slot: f.Slot, DueAt: f.At, Cause: cause, Source: j.source.String(), Config: j.Version,
		Account: j.account(), State: state, Began: reason, Deliver: j.Deliver, Category: j.category, CreatedAt: now.UTC(),
	}
	if state.Final() {
		r.Reason, r.Began, r.EndedAt = reason, "", r.CreatedAt
	}
	return r
}

// start takes runs that are nobody's and works on them, as many at a time as there are slots.
func (s *Scheduler) start(ctx context.Context, runs *sync.WaitGroup) error {
	now := s.Now()
	mine, err := s.Store.ClaimRuns(ctx, s.Owner, now.UTC(), now.Add(s.Lease).UTC(), s.may)
	if err != nil {
		return err
	}
	for _, r := range mine {
		s.mu.Lock()
		taken := s.busy[r.ID]
		if !taken {
			s.busy[r.ID] = true
		}
		s.mu.Unlock()
		if taken {
			continue
		}
		runs.Go(func() {
			defer func() {
				s.mu.Lock()
				delete(s.busy, r.ID)
				s.mu.Unlock()
			}()
			if s.work(ctx, r) {
				s.Wake() // a queued run may go on
			}
		})
	}
	return nil
}

// place waits for one of the places in which lists are read, and keeps the lease and listens for a
// person's word meanwhile. done gives it back.
func (w *working) place(ctx context.Context) (done func(), err error) {
	w.mark(false)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case w.slots <- struct{}{}:
			w.mark(true)
			return func() { w.unmark(); <-w.slots }, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-every.C:
			err = w.keep(ctx)
		}
		if err != nil {
			w.unmark()
			return nil, err
		}
	}
}

func (w *working) mark(reads bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading[w.run.ID] = reads
}

func (w *working) unmark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.reading, w.run.ID)
}

// WaitsFor are the runs whose lists are being read while this one waits for a place; none where it does
// not.
func (s *Scheduler) WaitsFor(id messaging.RunID) (readers []messaging.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reads, known := s.reading[id]; !known || reads {
		return nil
	}
	for one, reads := range s.reading {
		if reads {
			readers = append(readers, one)
		}
	}
	slices.Sort(readers)
	return readers
}

// lastTally is what the job's newest run that was sent counted; nil for none.
func (s *Scheduler) lastTally(ctx context.Context, job string) (*messaging.Tally, error) {
	last, ok, err := s.Store.LastSent(ctx, job)
	if err != nil || !ok {
		return nil, err
	}
	return &last.Tally, nil
}

// A HandOrder is what a person says when a job is run by hand.
type HandOrder struct {
	Approved string          // who approves what would stop it; "" for nobody. Not where several people have to
	Person   string          // who starts it, as messaging.Approval.Person
	Makers   []string        // as messaging.Approval.Makers
	Repeats  messaging.RunID // the run whose list and template it may send once more; 0 for none
}

// RunNow stores a run of the job by hand; Run works on it.
func (s *Scheduler) RunNow(ctx context.Context, job *Compiled, now time.Time, order HandOrder) (messaging.RunID, error) {
	if n := job.Guard.ApproveBy; n > 1 && order.Approved != "" {
		return 0, &wordError{fmt.Sprintf("guard.approve_by of %s has %d people approve what was read, and nothing was yet", job.Name, n), "start it without an approval; if its guard holds it: nudgewire jobs approve"}
	}
	open, err := s.Store.OpenRuns(ctx, job.Name)
	if err != nil {
		return 0, err
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		hint := "wait for it"
		switch last.State {
		case messaging.RunAwaiting:
			hint = fmt.Sprintf("let it send: nudgewire jobs approve %d", last.ID)
		case messaging.RunPaused:
			hint = fmt.Sprintf("let it go on: nudgewire jobs resume %d", last.ID)
		}
		return 0, &wordError{
			fmt.Sprintf("run %d of %s is still %s", last.ID, last.Slot, last.State.Words()), fmt.Sprintf("%s; or end it: nudgewire jobs cancel %d", hint, last.ID),
		}
	}
	slot := now.In(job.zone).Format(time.DateTime) + " by hand"
	r := messaging.Run{
		Job: job.Name, Slot: slot, DueAt: now.UTC(), Cause: messaging.CauseHand,
		Source: job.source.String(), Config: job.Version, State: messaging.RunPlanned, Approved: order.Approved, Approvals: messaging.Approvals{Starter: order.Person, StarterMakers: order.Makers}, Repeats: order.Repeats,
		Account: job.account(), Deliver: job.Deliver, Category: job.category, CreatedAt: now.UTC(),
	}
	if s.heldBy(job.Name) != "" {
		r.Released = cmp.Or(order.Person, "by hand")
	}
	for nth := 2; ; nth++ {
		id, won, err := s.Store.StartRun(ctx, r)
		if err != nil {
			return 0, err
		}
		if won {
			s.Wake()
			return id, nil
		}
		before, err := s.Store.Run(ctx, id)
		if err != nil {
			return 0, err
		}
		if !before.State.Final() { // two people in one second mean one run
			return 0, &wordError{fmt.Sprintf("run %d was started by hand in this very second", id), fmt.Sprintf("look at jobs show %d", id)}
		}
		r.Slot = fmt.Sprintf("%s %d", slot, nth)
	}
}

// Approve notes that somebody approves a run that awaits it, and lets it go when enough people did.
func (s *Scheduler) Approve(ctx context.Context, id messaging.RunID, by messaging.Approval) error {
	now, err := s.Store.Run(ctx, id)
	if err == nil && awaits(&now) {
		err = s.letGo(ctx, &now, by.Who)
	}
	if err == nil {
		err = s.Store.ApproveRun(ctx, id, func(r *messaging.Run) error {
			if !awaits(r) {
				return notNow(*r, "approve")
			}
			if r.State == messaging.RunPaused {
				goOn(r)
			}
			if j := s.job(r.Job); j != nil { // a reload may want more people; those whom it was held for are not taken back
				r.Approvals.Need = max(r.Approvals.Need, j.Guard.ApproveBy)
			}
			return r.Approve(by)
		})
	}
	if errors.Is(err, messaging.ErrStarter) {
		return &wordError{fmt.Sprintf("you started run %d by hand: the last to approve it has to be somebody else", id), fmt.Sprintf("have somebody else approve it: nudgewire jobs approve %d", id)}
	}
	if no, is := errors.AsType[*messaging.NotAnotherError](err); is {
		return no
	}
	if words, is := errors.AsType[*wordError](err); is { // they say which run it is
		return words
	}
	if err == nil {
		s.Wake()
	}
	return err
}

// awaits reports whether somebody may approve a run: it waits for that, or would but for its job.
func awaits(r *messaging.Run) bool {
	return r.State == messaging.RunAwaiting || r.State == messaging.RunPaused && r.Before == messaging.RunAwaiting && r.Stopped == messaging.StopConfig
}

// Pause stops a run for now: no further part is uploaded, and of its messages only those leave
// whose call has begun. A part that is on its way is taken to its end first. A run that is done with
// handing over its messages can be paused while some of them wait.
func (s *Scheduler) Pause(ctx context.Context, id messaging.RunID, who string) error {
	if paused, err := s.pauseSent(ctx, id, who); err != nil || paused {
		return err
	}
	return s.person(ctx, id, "pause", func(r *messaging.Run) {
		r.Before = r.State
		if r.State == messaging.RunBuilding {
			r.Before = messaging.RunPlanned // what was read by half is read again
		}
		if r.State != messaging.RunAwaiting { // why that has to be approved is known nowhere else
			r.Reason = "paused by " + who
		}
		r.State, r.Stopped, r.StoppedBy = messaging.RunPaused, messaging.StopPerson, who
	}, messaging.RunPlanned, messaging.RunBuilding, messaging.RunAwaiting, messaging.RunUploading)
}

// pauseSent pauses a run that has ended while messages of it wait; false where there is nothing to
// hold.
func (s *Scheduler) pauseSent(ctx context.Context, id messaging.RunID, who string) (paused bool, err error) {
	r, err := s.Store.Run(ctx, id)
	if err != nil || !r.State.Final() || r.Deliver != messaging.DeliverPerMessage {
		return false, err
	}
	return s.Store.PauseSent(ctx, id, who, "", "paused by "+who)
}

// Resume lets a paused run go on where it was. Of a run that its canary stopped it overrules the
// canary, and nothing else does: any other still has to pass it. A run whose files the service
// found too large is cut anew, but for what it took. One whose job the config does not send by goes on all the same, by
// the rules of the config that it began with where today's does not have the job.
func (s *Scheduler) Resume(ctx context.Context, id messaging.RunID, who string) error {
	now, err := s.Store.Run(ctx, id)
	if err == nil && now.State == messaging.RunPaused {
		err = s.letGo(ctx, &now, who)
	}
	if err != nil {
		return err
	}
	return s.person(ctx, id, "resume", func(r *messaging.Run) {
		if r.Stopped == messaging.StopCanary {
			r.Overruled = who
		}
		goOn(r)
	}, messaging.RunPaused)
}

// Cancel ends a run. What was uploaded stays uploaded, and a part that is on its way is taken
// to its end; the others never leave. A run that is done with handing over its messages can be
// cancelled while some of them wait.
func (s *Scheduler) Cancel(ctx context.Context, id messaging.RunID, who string) error {
	if _, err := s.pauseSent(ctx, id, who); err != nil {
		return err
	}
	r, err := s.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	if r.State.Final() {
		return notNow(r, "cancel")
	}
	return s.cancel(ctx, r, messaging.StopPerson, who, "cancelled by "+who)
}

func (s *Scheduler) cancel(ctx context.Context, r messaging.Run, stop messaging.RunStop, who, reason string) error {
	for moved := true; moved; {
		from := r.State
		r.State, r.Reason, r.Stopped, r.StoppedBy = messaging.RunCancelled, reason, stop, who
		r.EndedAt, r.Owner, r.LeaseEnd = s.Now().UTC(), "", time.Time{}
		err := s.Store.SetRun(ctx, "", r, from)
		if moved = errors.Is(err, messaging.ErrMoved); !moved && err != nil {
			return err
		}
		if moved { // a moment ago: once more with what it is now
			if r, err = s.Store.Run(ctx, r.ID); err != nil || r.State.Final() {
				return err
			}
		}
	}
	s.Wake() // for what is in a sender's hands
	if r.Deliver != messaging.DeliverPerMessage {
		return nil
	}
	// Its rows are many, so they are not part of that commit, from which on the store holds them: a
	// crash between the two is made good at the next start.
	n, err := s.Store.CancelRows(context.WithoutCancel(ctx), r.ID, r.Reason)
	if n > 0 {
		s.Log.Info("rows of a cancelled run will not be sent", zap.Int64("run", int64(r.ID)), zap.Int64("rows", n))
	}
	return err
}

func (s *Scheduler) person(ctx context.Context, id messaging.RunID, what string, edit func(*messaging.Run), from ...messaging.RunState) error {
	r, err := s.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	if !slices.Contains(from, r.State) {
		return notNow(r, what)
	}
	was := r.State
	edit(&r)
	r.Owner, r.LeaseEnd = "", time.Time{}
	if err := s.Store.SetRun(ctx, "", r, was); err != nil {
		return err
	}
	s.Wake()
	return nil
}

func notNow(r messaging.Run, what string) error {
	hint := fmt.Sprintf("look at jobs show %d", r.ID)
	switch {
	case r.State == messaging.RunPaused && what != "resume":
		hint = fmt.Sprintf("it goes on with: nudgewire jobs resume %d", r.ID)
	case r.State == messaging.RunAwaiting && what != "approve":
		hint = fmt.Sprintf("it goes on with: nudgewire jobs approve %d", r.ID)
	}
	return &wordError{fmt.Sprintf("run %d is %s: there is nothing to %s", r.ID, r.State.Words(), what), hint}
}
