package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/scheduler"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
)

// campaigns are the jobs of the config in force, with the scheduler that fires them. It is
// server.Jobs.
type campaigns struct {
	*scheduler.Scheduler
	store *store.Store
	cfg   atomic.Pointer[config.Config]
	api   atomic.Pointer[apiclient.Client] // swapped by reload; nil where nothing is sent
	board board
	watch Watch
	who   excluder // is excluded

	// A retry and a word on a part look at the same files before they change anything: one at a
	// time, or both would send the part.
	afterwards sync.Mutex
}

// JobsBeside is what can be asked of the jobs of cfg without a daemon: they are listed and
// forecast, and nothing is fired or changed.
func JobsBeside(cfg *config.Config, st *store.Store, now func() time.Time) server.Jobs {
	c := &campaigns{store: st, who: excluder{store: st}}
	c.cfg.Store(cfg)
	c.Scheduler = scheduler.New(scheduler.Options{
		Store: runStore{store: st}, Excluder: &c.who, Folder: runsFolder(cfg), Owner: "nobody", Now: now,
		Points: c.points, Rate: cfg.API.Rate.PerSecond,
	})
	return c
}

// openJobs builds the scheduler and clears up what an earlier process left in the middle.
func (a *App) openJobs(ctx context.Context, cfg *config.Config, owner string) error {
	c := &campaigns{store: a.store, watch: a.opt.Watch, who: excluder{store: a.store}}
	c.cfg.Store(cfg)
	c.api.Store(a.api)
	runs := runStore{a.store, a.opt.Watch, a.log.Named("scheduler"), c.excluded}
	c.Scheduler = scheduler.New(scheduler.Options{
		Store: runs, Owing: runs, Uploader: uploader{c, a.budget}, Excluder: &c.who,
		Retention: a.store, Keep: func() time.Duration { return c.cfg.Load().Retention.Lists.D() },
		Folder: runsFolder(cfg), Owner: owner, Log: a.log.Named("scheduler"), Grace: grace, Now: a.opt.JobClock, Runs: cfg.Server.ListsAtOnce,
		Points: c.points, Rate: func() float64 { return c.cfg.Load().API.Rate.PerSecond() },
		Admit: func(ctx context.Context) error { return a.budget.Wait(ctx, pace.Upload, time.Time{}) },
		Halted: func(job string) bool {
			s := a.sender.Stats()
			return a.store.JobHalted(job) || s.Halted != "" && time.Now().Before(s.HaltedUntil)
		},
		Progress: func(p scheduler.Progress) { c.board.put(p); tell(a.opt.Watch.Progress, p) },
	})
	c.Use(cfg.Jobs)
	a.jobs = c
	// The store's lock says that no other daemon lives: whoever had a run is dead.
	if err := a.store.FreeRuns(ctx, owner); err != nil {
		return err
	}
	return a.store.FollowRest(ctx)
}

// firstPoll spreads the first look at the messages of a run that uploads files: they are
// accepted all at once, and asked about no faster than half the rate, so that the other half
// is left for whoever else calls.
func (a *App) firstPoll(accepted time.Time, place int64) time.Time {
	first := a.tracker.First(accepted)
	if rate := a.jobs.cfg.Load().API.Rate.PerSecond(); rate > 0 {
		first = first.Add(time.Duration(float64(place) / (rate / 2) * float64(time.Second)))
	}
	return first
}

// retune takes up another config. Runs under way keep the job that they were built from.
func (c *campaigns) retune(api *apiclient.Client, cfg *config.Config) {
	c.cfg.Store(cfg)
	c.api.Store(api)
	c.Use(cfg.Jobs)
}

// points is the price of a message by the config in force, also after a reload; 0 where there
// are no prices.
func (c *campaigns) points(category nudgewire.Category, phone string) float64 {
	if p := c.cfg.Load().API.Price; p != nil {
		return p.Of(category, phone)
	}
	return 0
}

// runsFolder is where runs keep their files: beside the database.
func runsFolder(cfg *config.Config) string {
	path := store.Path(cfg.Storage)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Join(filepath.Dir(path), "runs")
}

// Jobs are the jobs of the config in force, in its order.
func (c *campaigns) Jobs(now time.Time) []nudgewire.Job {
	cfg := c.cfg.Load()
	out := make([]nudgewire.Job, len(cfg.Jobs))
	for i, j := range cfg.Jobs {
		out[i] = j.Noun(now)
		out[i].Paused = j.Mode == scheduler.Off
	}
	return out
}

func (c *campaigns) job(name string) (*scheduler.Compiled, error) {
	for _, j := range c.cfg.Load().Jobs {
		if j.Name == name {
			return j, nil
		}
	}
	return nil, scheduler.ErrNoJob
}

// Fire runs a job by hand.
func (c *campaigns) Fire(ctx context.Context, name string, order scheduler.HandOrder) (nudgewire.RunID, error) {
	j, err := c.job(name)
	if err != nil {
		return 0, err
	}
	return c.RunNow(ctx, j, c.Now(), order)
}

// Forecast says what a run of a job would do.
func (c *campaigns) Forecast(ctx context.Context, name string) (scheduler.Forecast, error) {
	j, err := c.job(name)
	if err != nil {
		return scheduler.Forecast{}, err
	}
	f, err := c.DryRun(ctx, j, c.Now(), nil)
	f.Priced = c.cfg.Load().API.Price != nil
	return f, err
}

// Progress is how far a run has come that is under way.
func (c *campaigns) Progress(id nudgewire.RunID) (scheduler.Progress, bool) { return c.board.get(id) }

// A board holds how far the runs under way have come.
type board struct {
	mu sync.Mutex
	at map[nudgewire.RunID]scheduler.Progress
}

// mostOnBoard bounds the board: ended runs are never asked for, and the newest numbers matter.
const mostOnBoard = 64

func (b *board) put(p scheduler.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == nil {
		b.at = map[nudgewire.RunID]scheduler.Progress{}
	}
	b.at[p.Run] = p
	if len(b.at) > mostOnBoard {
		oldest := p.Run
		for id := range b.at {
			oldest = min(oldest, id)
		}
		delete(b.at, oldest)
	}
}

func (b *board) get(id nudgewire.RunID) (scheduler.Progress, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.at[id]
	return p, ok
}

// uploader is the client in force; what an upload shows about the service, the budget learns.
type uploader struct {
	c      *campaigns
	budget *pace.Budget
}

func (u uploader) CreateCampaign(ctx context.Context, name string, templateID int64, fileName string, file io.Reader, size int64) (apiclient.Answer, error) {
	began := time.Now()
	answer, err := u.c.api.Load().CreateCampaign(ctx, name, templateID, fileName, file, size)
	call, _ := errors.AsType[*apiclient.CallError](err)
	switch trouble := apiclient.TroubleOf(err); {
	case trouble == apiclient.TroubleBusy || trouble == apiclient.TroubleOutage:
		if ctx.Err() == nil { // else it was us who cut the call
			u.budget.Slow(pace.Upload, began, call.RetryAfter)
		}
	default:
		u.budget.Took(pace.Upload)
	}
	return answer, err
}

func tell[T any](to func(T), what T) {
	if to != nil {
		to(what)
	}
}

// A runStore is the store as the scheduler sees it.
type runStore struct {
	store *store.Store
	watch Watch
	log   *zap.Logger

	excluded func(ctx context.Context, r nudgewire.Run, phones []nudgewire.Phone) ([]scheduler.Why, error) // of a retry of the run
}

// runError gives the store's errors the names that the scheduler knows them by.
func runError(err error) error {
	switch {
	case errors.Is(err, store.ErrMoved):
		return fmt.Errorf("%w (%v)", scheduler.ErrMoved, err) //nolint:errorlint // one name is enough
	case errors.Is(err, store.ErrNotFound):
		return scheduler.ErrNoRun
	default:
		return err
	}
}

func (l runStore) StartRun(ctx context.Context, r nudgewire.Run) (nudgewire.RunID, bool, error) {
	id, won, err := l.store.StartRun(ctx, r)
	if won {
		r.ID = id
		tell(l.watch.Run, r)
	}
	return id, won, err
}

func (l runStore) Run(ctx context.Context, id nudgewire.RunID) (nudgewire.Run, error) {
	r, err := l.store.Run(ctx, id)
	return r, runError(err)
}

func (l runStore) OpenRuns(ctx context.Context, job string) ([]nudgewire.Run, error) {
	return l.store.OpenRuns(ctx, job)
}

func (l runStore) LastSent(ctx context.Context, job string) (nudgewire.Run, bool, error) {
	return l.store.LastSent(ctx, job)
}

func (l runStore) LastScheduled(ctx context.Context, job, line string, now time.Time) (time.Time, error) {
	return l.store.LastScheduled(ctx, job, line, now)
}

// SetRun also ends the rows of a run that is cancelled. They are many, so they are not part
// of its commit, from which on the store holds them: a crash between the two is made good at the
// next start.
func (l runStore) SetRun(ctx context.Context, by string, r nudgewire.Run, from ...nudgewire.RunState) error {
	if err := l.store.SetRun(ctx, by, r, from...); err != nil {
		return runError(err)
	}
	tell(l.watch.Run, r)
	if r.State != nudgewire.RunCancelled || r.Deliver != nudgewire.DeliverPerMessage {
		return nil
	}
	_, err := l.CancelRows(ctx, r.ID, r.Reason)
	return err
}

func (l runStore) SaveParts(ctx context.Context, by string, r nudgewire.Run, parts []nudgewire.Part) error {
	err := l.store.SaveParts(ctx, by, r, parts)
	if err == nil {
		tell(l.watch.Run, r)
	}
	return runError(err)
}

func (l runStore) Parts(ctx context.Context, id nudgewire.RunID) ([]nudgewire.Part, error) {
	return l.store.Parts(ctx, id)
}

func (l runStore) ReplacePart(ctx context.Context, owner string, r nudgewire.Run, p nudgewire.Part, into ...nudgewire.Part) error {
	err := l.store.ReplacePart(ctx, owner, r, p, into...)
	if err == nil {
		tell(l.watch.Run, r)
	}
	return runError(err)
}

func (l runStore) ClaimPart(ctx context.Context, id nudgewire.RunID, number int, owner string, now time.Time) (nudgewire.Part, error) {
	p, err := l.store.ClaimPart(ctx, id, number, owner, now)
	if err == nil {
		tell(l.watch.Part, p)
	}
	return p, runError(err)
}

func (l runStore) FinishPart(ctx context.Context, p nudgewire.Part) error {
	if err := l.store.FinishPart(ctx, p); err != nil {
		return runError(err)
	}
	tell(l.watch.Part, p)
	// How the upload ended is on disk, with the ids that its answer names. What cannot be made a
	// message of them now is made one after the next upload, or at the next start.
	if err := l.store.FollowRest(ctx); err != nil {
		l.log.Error("following the messages of an upload", zap.Int64("run", int64(p.RunID)), zap.Int("part", p.Number), zap.Error(err))
	}
	return nil
}

func (l runStore) ClaimRuns(ctx context.Context, owner string, now, until time.Time) ([]nudgewire.Run, error) {
	return l.store.ClaimRuns(ctx, owner, now, until)
}

func (l runStore) Renew(ctx context.Context, id nudgewire.RunID, owner string, until time.Time) (nudgewire.Run, error) {
	r, err := l.store.Renew(ctx, id, owner, until)
	return r, runError(err)
}

// mostAhead is how many rows of a run wait to be sent before more are handed over: enough for
// a minute at a common rate, few enough that a pause or cancel finds the others at home.
const mostAhead = 1024

func (l runStore) Enqueue(ctx context.Context, id nudgewire.RunID, first int64, rows []nudgewire.Dispatch) error {
	return runError(l.store.Enqueue(ctx, id, first, rows))
}

// rowsAgain is how many rows of an ended run are queued once more in one commit.
const rowsAgain = 256

// EnqueueRetries hands over once more what may go again.
func (l runStore) EnqueueRetries(ctx context.Context, id nudgewire.RunID, after int64) (last, total int64, err error) {
	r, err := l.store.Run(ctx, id)
	if err != nil {
		return 0, 0, runError(err)
	}
	rows, err := l.store.RowsToGoAgain(ctx, r.RetryOf, after, rowsAgain)
	if err != nil {
		return 0, 0, err
	}
	answers, err := l.excluded(ctx, r, phonesOfRows(rows))
	if err != nil {
		return 0, 0, err
	}
	var of []nudgewire.DispatchID
	for i := range rows {
		if last = rows[i].Number; answers[i].Reason == "" {
			of = append(of, rows[i].Dispatch.ID)
		}
	}
	total, err = l.store.EnqueueRetries(ctx, id, of, time.Now().UTC())
	return last, total, runError(err)
}

// Room waits until few enough rows of a run wait to be sent, so that they are handed over no faster than
// they leave. A run that a person stopped meanwhile has moved on.
func (l runStore) Room(ctx context.Context, id nudgewire.RunID) error {
	for {
		waiting, err := l.store.Backlog(ctx, id)
		if err != nil {
			return err
		}
		if waiting <= mostAhead {
			return nil
		}
		r, err := l.store.Run(ctx, id)
		if err != nil {
			return runError(err)
		}
		if r.State != nudgewire.RunUploading {
			return scheduler.ErrMoved
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l runStore) CancelRows(ctx context.Context, id nudgewire.RunID, reason string) (int64, error) {
	n, err := l.store.CancelRows(context.WithoutCancel(ctx), id, reason)
	if n > 0 {
		l.log.Info("rows of a cancelled run will not be sent", zap.Int64("run", int64(id)), zap.Int64("rows", n))
	}
	return n, err
}

func (l runStore) EndCancelled(ctx context.Context) (bool, error) {
	n, left, err := l.store.EndCancelled(ctx)
	if n > 0 {
		l.log.Info("rows that came back of cancelled runs will not be sent", zap.Int64("rows", n))
	}
	return left, err
}

func (l runStore) PauseSent(ctx context.Context, id nudgewire.RunID, who, reason string) (bool, error) {
	paused, err := l.store.PauseSent(ctx, id, who, reason)
	if !paused || err != nil {
		return paused, err
	}
	r, err := l.store.Run(ctx, id)
	if err == nil {
		tell(l.watch.Run, r)
	}
	return true, err
}

func (l runStore) Standing(ctx context.Context, id nudgewire.RunID) (ended, failed int64, err error) {
	return l.store.Standing(ctx, id)
}
