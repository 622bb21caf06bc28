package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// errStopped ends work on a run that a person paused or cancelled, or that another process
// took over: its row says what it is now.
var errStopped = errors.New("the run was stopped")

// A working is a run in hand.
type working struct {
	*Scheduler
	run messaging.Run
	job *Compiled // as it was when the work began; what holds the run back now is brakes

	keeping sync.Mutex
	renewed time.Time

	begun time.Time // when this process began to deliver it, or the part in hand where that was later
	log   *zap.Logger
}

// work takes a run as far as it can go. It is called for runs that are ours: planned,
// building (cut off by a crash, so built anew) or uploading. It reports whether the run came
// to a rest.
func (s *Scheduler) work(ctx context.Context, r messaging.Run) bool {
	w := s.inHand(r)
	err := w.advance(ctx)
	switch {
	case err == nil:
		w.log.Info("run ended", zap.String("state", string(w.run.State)), zap.String("reason", mask.Text(w.run.Reason)), zap.Int64("rows", w.run.Tally.Kept))
	case errors.Is(err, errStopped), errors.Is(err, messaging.ErrMoved):
		w.log.Info("run stopped")
	case ctx.Err() != nil:
		w.log.Info("run interrupted; it goes on with the next start")
		w.release(context.WithoutCancel(ctx))
	default:
		w.log.Error("run", zap.Error(err))
		w.release(context.WithoutCancel(ctx))
	}
	return err == nil || errors.Is(err, errStopped) || errors.Is(err, messaging.ErrMoved)
}

func (s *Scheduler) inHand(r messaging.Run) *working {
	return &working{Scheduler: s, run: r, job: s.brakesOf(&r), log: s.Log.With(zap.String("job", r.Job), zap.Int64("run", int64(r.ID)))}
}

// release gives the run up to whoever looks next, without waiting for the lease to end.
func (w *working) release(ctx context.Context) {
	r := w.run
	r.Owner, r.LeaseEnd = "", time.Time{}
	if err := w.Store.SetRun(ctx, w.Owner, r, r.State); err != nil && !errors.Is(err, messaging.ErrMoved) {
		w.log.Warn("giving up the claim", zap.Error(err))
	}
}

func (w *working) advance(ctx context.Context) error {
	if held := w.heldBy(w.run.Job); held != "" && w.run.Released == "" {
		return w.pauseHeld(ctx, held, "its job "+held)
	} else if w.job == nil || w.fileMayGo(&w.run, w.run.Category, w.job, true).Rule == messaging.RuleConfig {
		return w.pauseHeld(ctx, held, unknownRules(&w.run).Error())
	}
	for w.run.State == messaging.RunPlanned || w.run.State == messaging.RunBuilding {
		if err := w.awaitSource(ctx); err != nil {
			return err
		}
		done, err := w.place(ctx)
		if err != nil {
			return err
		}
		err = w.build(ctx)
		done()
		if err != nil {
			return err
		}
	}
	if w.run.State != messaging.RunUploading {
		return nil
	}
	if w.run.Waits == "" && w.run.Reason != "" { // of a try before this one
		if err := w.change(ctx, w.run.State, "", nil); err != nil {
			return err
		}
	}
	return w.deliver(ctx)
}

// change moves the run on and keeps what was stored.
func (w *working) change(ctx context.Context, next messaging.RunState, reason string, edit func(*messaging.Run)) error {
	r := w.run
	r.State, r.Reason = next, reason
	if edit != nil {
		edit(&r)
	}
	if next.Final() {
		r.EndedAt, r.Owner, r.LeaseEnd = w.Now().UTC(), "", time.Time{}
	}
	if err := w.Store.SetRun(ctx, w.Owner, r, w.run.State); err != nil {
		return err
	}
	w.run = r
	return nil
}

// fail ends the run in words; nothing of it was uploaded.
func (w *working) fail(ctx context.Context, err error) error {
	return w.change(ctx, messaging.RunFailed, failure(err), nil)
}

// failure is why a list cannot be read, with the hint.
func failure(err error) string {
	msg, hint := clockErrorWords(err)
	if wrapped := err.Error(); strings.Contains(wrapped, msg) && len(wrapped) > len(msg) {
		msg = strings.SplitN(wrapped, "\n", 2)[0]
	}
	if hint != "" {
		msg += "; " + hint
	}
	return msg
}

// keep renews the lease now and then, and notices a person's word.
func (w *working) keep(ctx context.Context) error {
	w.keeping.Lock()
	defer w.keeping.Unlock()
	now := w.Now()
	if now.Sub(w.renewed) < time.Second {
		return nil
	}
	w.renewed = now
	r, err := w.Store.Renew(ctx, w.run.ID, w.Owner, now.Add(w.Lease))
	if err != nil {
		return err
	}
	if r.State != w.run.State || r.Waits != w.run.Waits { // or paused and resumed since the last look
		return errStopped
	}
	return nil
}

// build reads the source and stores its rows.
func (w *working) build(ctx context.Context) error {
	if w.job = w.brakes(); w.job.unread != "" {
		return w.pauseHeld(ctx, w.heldBy(w.run.Job), fmt.Sprintf("its job is gone from the config, and its list cannot be read without it: %s; put the job back", w.job.unread))
	}
	if why := w.quietAtFirst(); why != "" {
		return w.change(ctx, messaging.RunSkipped, why, nil)
	}
	last, err := w.lastTally(ctx, w.run.Job)
	if err != nil {
		return err
	}
	title, err := w.title()
	if err != nil {
		return w.fail(ctx, err)
	}
	columns, past := w.job.columns.header()[1:], w.past()
	if past != nil {
		columns = w.job.columnsOf(past)
	}
	err = w.change(ctx, messaging.RunBuilding, "", func(r *messaging.Run) {
		r.Columns, r.Owner, r.LeaseEnd = columns, w.Owner, w.Now().Add(w.Lease).UTC()
		r.Source, r.Config, r.Deliver = w.job.source.String(), w.job.Version, w.job.Deliver
		r.CampaignName, r.Category = title, w.job.category
		*r = w.job.addressed(*r)
		if r.StartedAt.IsZero() {
			r.StartedAt = w.Now().UTC()
		}
	})
	if err != nil {
		return err
	}
	// Whatever a building that was cut off left was not uploaded.
	if err := w.Store.DropRows(ctx, w.Owner, w.run.ID, true); err != nil {
		return err
	}
	m := newMeter(w.run, last, w.OnProgress, w.Now)
	b := &building{job: w.job, now: w.Now(), turns: w.turns(), people: w.people(w.job), mayGo: w.asked(w.run, w.job, whileRead), prices: w.prices(w.run.Account), tick: func(rows, kept int64) error {
		m.read(rows, kept)
		return w.keep(ctx)
	}}
	if past != nil {
		b.columns = columns
		err = w.readStored(ctx, b, past)
	} else {
		err = w.read(ctx, b)
	}
	drop := func() error { return w.Store.DropRows(context.WithoutCancel(ctx), w.Owner, w.run.ID, false) }
	switch {
	case err == nil:
	case errors.Is(err, errStopped), errors.Is(err, messaging.ErrMoved), ctx.Err() != nil:
		return errors.Join(err, drop())
	case lists.Away(err) && w.run.Waits != messaging.WaitSource:
		if err := drop(); err != nil {
			return err
		}
		return w.readAgain(ctx, err)
	default:
		if w.run.Waits == messaging.WaitSource {
			err = fmt.Errorf("%w; it was read twice, %s apart", err, units.Duration(readAgainAfter))
		}
		return w.fail(ctx, errors.Join(err, drop()))
	}
	return w.judge(ctx, b.tally, last)
}

// readAgainAfter is when a source is read once more that was away, or changed while it was read: an export that is late, a server
// that starts anew and a network that is mended are there by then, and a list is not sent at another time of day.
const readAgainAfter = 10 * time.Minute

// readAgain has the run read its source once more, and says so in its row.
func (w *working) readAgain(ctx context.Context, why error) error {
	until := w.Now().Add(readAgainAfter).UTC()
	w.log.Warn("the source of a run cannot be read at present", zap.Time("again_at", until), zap.Error(why))
	return w.change(ctx, w.run.State, failure(why), func(r *messaging.Run) { r.Waits, r.WaitUntil = messaging.WaitSource, until })
}

// awaitSource waits until the source of a run may be read once more. A reload that names another one is heeded at once.
func (w *working) awaitSource(ctx context.Context) error {
	for w.run.Waits == messaging.WaitSource && w.Now().Before(w.run.WaitUntil) {
		if job := w.brakes(); job.unread != "" || job.source.String() != w.run.Source {
			return nil
		}
		if err := w.await(ctx, w.Now().Add(min(w.Heed, w.run.WaitUntil.Sub(w.Now())))); err != nil {
			return err
		}
	}
	return nil
}

// lookEvery is how soon a person's word ends the reading of a list, also of one of which nothing comes.
const lookEvery = 500 * time.Millisecond

// read reads the source, until a person pauses or cancels the run.
func (w *working) read(ctx context.Context, b *building) error {
	reading, end := context.WithCancelCause(ctx)
	b.store = func(rows []messaging.ListRow) error { return w.Store.AddRows(reading, w.Owner, w.run.ID, rows) }
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		every := time.NewTicker(lookEvery)
		defer every.Stop()
		for {
			select {
			case <-reading.Done():
				return
			case <-every.C:
				if err := w.keep(reading); errors.Is(err, errStopped) || errors.Is(err, messaging.ErrMoved) {
					end(err)
					return
				}
			}
		}
	}()
	err := b.run(reading)
	if cause := context.Cause(reading); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	end(nil)
	<-watched
	return err
}

// title is the campaign's name for this run.
func (w *working) title() (string, error) {
	f, err := bindText(w.job.title, nil, factsOf(w.job.Name, w.run.DueAt, w.job.zone))
	if err != nil {
		return "", err
	}
	text, trouble := f.Fill(nil)
	if trouble != "" {
		return "", errors.New("campaign.name " + trouble)
	}
	return text, nil
}

// judge decides what becomes of a run that was built.
func (w *working) judge(ctx context.Context, t messaging.Tally, last *messaging.Tally) error {
	if t.Kept == 0 {
		state, reason := nothingToSend(w.run.Job, t)
		return w.change(ctx, state, reason, func(r *messaging.Run) { r.Tally = t })
	}
	now := w.Now().UTC()
	r := w.run
	r.Tally, r.State, r.Reason = t, messaging.RunUploading, ""
	r.Waits, r.WaitUntil = "", time.Time{}
	job := w.brakes()
	why := job.Guard.stops(t, last)
	before, again, err := w.repeated(ctx, job, r)
	if err != nil {
		return err
	}
	if until, _ := w.restored(); r.Cause != messaging.CauseHand && !r.DueAt.After(until) && r.CreatedAt.After(until) {
		why = append(why, restoredWords(r.Slot))
	}
	if again && (r.Repeats != before.ID || job.Guard.ApproveBy > 1) { // where several people approve, one cannot say that it may
		why = append(why, repeatWords(t.Kept, before))
	}
	if len(why) > 0 && (r.Approved == "" || job.Guard.ApproveBy > 1) {
		r.Approved, r.Approvals.Need, r.Approvals.By = "", job.Guard.ApproveBy, nil
		r.State, r.Reason = messaging.RunAwaiting, strings.Join(why, "; ")
		r.Owner, r.LeaseEnd = "", time.Time{}
	}
	var parts []messaging.Part
	if r.Deliver == messaging.DeliverCSV { // until its turn comes, all of it is one part
		parts = []messaging.Part{{RunID: r.ID, Number: 1, List: r.ID, Ranges: messaging.RowRanges{{First: 1, Last: t.Kept}}, Rows: t.Kept, State: messaging.PartWaiting, UpdatedAt: now}}
	}
	if err := w.Store.SaveParts(ctx, w.Owner, r, parts); err != nil {
		return err
	}
	w.run = r
	return nil
}

// nothingToSend tells an empty list, which is well, from one in which no row can be used.
func nothingToSend(job string, t messaging.Tally) (messaging.RunState, string) {
	again := ", then: nudgewire jobs run " + job
	if t.Rows == 0 {
		return messaging.RunDone, "the list has column names and no rows, so there is nobody to send to; if that is wrong, mend what writes the list" + again
	}
	var excluded, repeated, unusable int64
	for _, x := range t.Excluded {
		switch x.Kind {
		case KindContact:
			excluded += x.Count
		case KindDuplicate:
			repeated += x.Count
		default:
			unusable += x.Count
		}
	}
	// A row whose contact is excluded is a good row, and so is the one that a duplicate repeats.
	if excluded > 0 {
		words := "the only row was excluded"
		switch {
		case excluded < t.Rows:
			words = fmt.Sprintf("%s of %s rows %s excluded", units.Number(excluded), units.Number(t.Rows), verb(excluded, "was", "were"))
		case t.Rows > 1:
			words = fmt.Sprintf("all %s rows were excluded", units.Number(t.Rows))
		}
		if repeated > 0 {
			words += fmt.Sprintf(", %s %s an earlier one", units.Number(repeated), verb(repeated, "repeats", "repeat"))
		}
		if unusable > 0 {
			words += fmt.Sprintf(", %s cannot be used", units.Number(unusable))
		}
		return messaging.RunDone, "nobody is left to send to: " + words
	}
	top := t.Excluded[0]
	in := fmt.Sprintf("row %d", top.First)
	if top.File != "" {
		in += " of " + top.File
	}
	mend := "; mend the list, or columns: of the job" + again
	if t.Rows == 1 {
		return messaging.RunFailed, fmt.Sprintf("the only row, %s, cannot be sent: %s%s", in, top.Reason, mend)
	}
	return messaging.RunFailed, fmt.Sprintf("none of the %s rows can be sent: %s of them because %s (first in %s)%s", units.Number(t.Rows), units.Number(top.Count), top.Reason, in, mend)
}

// verb is the word for one, or for several.
func verb(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}
