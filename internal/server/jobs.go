package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/scheduler"
)

// Jobs is what the admin API asks of scheduled campaigns. Who is the person's name, for the
// record.
type Jobs interface {
	Jobs(now time.Time) []messaging.Job
	// Forecast and Fire answer scheduler.ErrNoJob for a name that is not in the config.
	Forecast(ctx context.Context, job string) (scheduler.Forecast, error)
	Fire(ctx context.Context, job string, order scheduler.HandOrder) (messaging.RunID, error)
	// ForecastRun says what a run that awaits approval would send.
	ForecastRun(ctx context.Context, id messaging.RunID) (scheduler.Forecast, error)
	Approve(ctx context.Context, id messaging.RunID, by messaging.Approval) error
	Pause(ctx context.Context, id messaging.RunID, who string) error
	Resume(ctx context.Context, id messaging.RunID, who string) error
	Cancel(ctx context.Context, id messaging.RunID, who string) error
	// ForecastRetry says what Retry would send.
	ForecastRetry(ctx context.Context, id messaging.RunID, who string, what scheduler.RetryOrder) (scheduler.Retry, error)
	Retry(ctx context.Context, id messaging.RunID, who string, what scheduler.RetryOrder) (messaging.RunID, error)
	// ResolvePart settles a part in doubt: it was accepted, or it is sent again.
	ResolvePart(ctx context.Context, id messaging.RunID, number int, as messaging.Resolution, who, reason string) error
	Progress(id messaging.RunID) (scheduler.Progress, bool)
	// Missed are the newest times of jobs that passed, and of which no run is stored.
	Missed(ctx context.Context, now time.Time) ([]scheduler.Missed, error)
	// WaitsFor are the runs whose lists are being read while this one waits for a place.
	WaitsFor(id messaging.RunID) []messaging.RunID
	// RowTurn is when a row of a run may go by its job's time of day; zero for one that may go at once.
	RowTurn(r *messaging.Run, phone messaging.Phone) time.Time
}

// jobError gives an error about jobs its status.
func jobError(err error) error {
	var hinted interface {
		error
		Hint() string
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, messaging.ErrNotFound):
		return refusal.Newf(http.StatusNotFound, `"nudgewire jobs history" shows the numbers`, "there is no such run")
	case errors.Is(err, messaging.ErrMoved):
		return refusal.Newf(http.StatusConflict, "look at it with jobs show, then try again", "the run moved on in this very moment; nothing was changed")
	case errors.As(err, &hinted):
		if errors.Is(err, scheduler.ErrNothing) {
			return refusal.Newf(http.StatusNotFound, hinted.Hint(), "%s", err.Error())
		}
		return refusal.Newf(http.StatusConflict, hinted.Hint(), "%s", err.Error())
	default:
		return err
	}
}

func (a admin) jobs(ctx context.Context, _ None) ([]JobView, error) {
	now := a.Now()
	out := []JobView{}
	for _, j := range a.Jobs.Jobs(now) {
		v := JobView{
			Name: j.Name, Cron: j.Cron, Timezone: j.Timezone, Source: j.Source, Campaign: j.Campaign, Deliver: j.Deliver,
			Off: j.Paused, NextAt: j.NextAt.UTC(),
		}
		last, err := a.Store.Runs(ctx, store.RunFilter{Job: j.Name, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			run, err := a.listedRun(ctx, &last[0])
			if err != nil {
				return nil, err
			}
			v.Last = &run
		}
		out = append(out, v)
	}
	return out, nil
}

// noJob names the nearest job.
func (a admin) noJob(name string) error {
	var names []string
	for _, j := range a.Jobs.Jobs(a.Now()) {
		names = append(names, j.Name)
	}
	hint := `there are none: see jobs: in docs/config.md`
	if len(names) > 0 {
		hint = "there are " + strings.Join(names, ", ")
	}
	if near := nearest.Of(name, names); near != "" {
		hint = `did you mean "` + near + `"?`
	}
	return refusal.Newf(http.StatusNotFound, hint, "no job %q in the config", name)
}

func (a admin) forecast(ctx context.Context, name string) (ForecastView, error) {
	f, err := a.Jobs.Forecast(ctx, name)
	if errors.Is(err, scheduler.ErrNoJob) {
		return ForecastView{}, a.noJob(name)
	}
	if err != nil {
		if hinted, ok := jobError(err).(*refusal.Error); ok { //nolint:errorlint // jobError wraps nothing
			return ForecastView{}, hinted
		}
		return ForecastView{}, refusal.Newf(http.StatusConflict, "", "%v", err) // a source that cannot be read is no fault of the daemon
	}
	return a.forecastView(ctx, &f)
}

// forecastRun is of a run that awaits approval.
func (a admin) forecastRun(ctx context.Context, id messaging.RunID) (ForecastView, error) {
	f, err := a.Jobs.ForecastRun(ctx, id)
	if err != nil {
		return ForecastView{}, jobError(err)
	}
	return a.forecastView(ctx, &f)
}

func (a admin) forecastView(ctx context.Context, f *scheduler.Forecast) (v ForecastView, err error) {
	v = ForecastView{Run: f.Run.ID, Job: f.Job, Source: f.Source, Tally: f.Tally, Awaiting: f.Awaiting, Repeats: f.Repeats, Repeat: f.RepeatWords, Nothing: f.Nothing, Columns: f.Columns, Priced: f.Priced, Seconds: f.Takes.Seconds(), Basis: f.Basis, Later: f.Later}
	if v.Halted, err = a.halted(ctx, &f.Run); err != nil {
		return ForecastView{}, err
	}
	if f.Before != nil {
		v.Before = f.Before.Words(f.Tally.Kept)
	}
	if f.Run.ID != 0 && f.Takes > 0 && len(f.Later) == 0 && v.Halted == "" {
		v.Ends = a.Now().Add(f.Takes).UTC()
	}
	for _, p := range f.Previews {
		v.First = append(v.First, PreviewView{Phone: p.Phone, SentAs: p.SentAs, Variables: p.Variables, Reads: p.Reads})
	}
	return v, nil
}

// halted says what holds all that a run would send, be it a hold or that the service is unwell; "" for nothing.
func (a admin) halted(ctx context.Context, r *messaging.Run) (string, error) {
	switch hold, held, err := a.Store.RunHeld(ctx, r); {
	case err != nil:
		return "", err
	case held:
		return hold.Words(), nil
	case a.Daemon == nil:
		return "", nil
	}
	for _, h := range a.Daemon.View().Halts {
		if h.Stops(r.Account, r.Category) {
			return h.Words(a.Now()), nil
		}
	}
	return "", nil
}

// A JobOrder runs a job now.
type JobOrder struct {
	Job     string          `json:"-" path:"name"`
	Approve bool            `json:"approve,omitempty"` // it waits for no approval
	Repeats messaging.RunID `json:"repeats,omitempty"` // the run whose list and template it may send once more
}

func (a admin) fire(ctx context.Context, in JobOrder) (RunView, error) {
	who, _ := access.WhoOf(ctx)
	order := scheduler.HandOrder{Repeats: in.Repeats, Person: who.Person(), Makers: who.Makers}
	if in.Approve {
		order.Approved = who.Name
	}
	id, err := a.Jobs.Fire(ctx, in.Job, order)
	if errors.Is(err, scheduler.ErrNoJob) {
		return RunView{}, a.noJob(in.Job)
	}
	if err != nil {
		return RunView{}, jobError(err)
	}
	return a.runOf(ctx, id)
}

// approve notes who approves a run: the person whom the socket, the token or the session proves.
func (a admin) approve(ctx context.Context, id messaging.RunID) (RunView, error) {
	who, _ := access.WhoOf(ctx)
	return a.ordered(ctx, "approve", id, id, a.Jobs.Approve(ctx, id, messaging.Approval{
		Who: who.Name, Person: who.Person(), Makers: who.Makers, LetInAt: who.LetInAt.UTC(), Via: string(who.From), At: a.Now().UTC(),
	}))
}

func (a admin) pause(ctx context.Context, id messaging.RunID) (RunView, error) {
	return a.ordered(ctx, "pause", id, id, a.Jobs.Pause(ctx, id, access.NameOf(ctx)))
}

func (a admin) resumeRun(ctx context.Context, id messaging.RunID) (RunView, error) {
	return a.ordered(ctx, "resume", id, id, a.Jobs.Resume(ctx, id, access.NameOf(ctx)))
}

func (a admin) cancelRun(ctx context.Context, id messaging.RunID) (RunView, error) {
	return a.ordered(ctx, "cancel", id, id, a.Jobs.Cancel(ctx, id, access.NameOf(ctx)))
}

// ordered tells of an order about a run that was carried out, and shows the run that came of it.
func (a admin) ordered(ctx context.Context, order string, of, id messaging.RunID, err error) (RunView, error) {
	if err != nil {
		return RunView{}, jobError(err)
	}
	a.Log.Info("a person's order about a run", zap.String("order", order), zap.Int64("run", int64(of)), zap.String("who", access.NameOf(ctx)))
	return a.runOf(ctx, id)
}

func (a admin) runs(ctx context.Context, in ListQuery) ([]RunView, error) {
	q, _, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	if q.State != "" && !slices.Contains(messaging.RunStates, messaging.RunState(q.State)) {
		return nil, refusal.Fieldf("state", "one of: "+strings.Join(RunWords(), ", "), "unknown state %q", q.State)
	}
	return a.runsIn(ctx, store.RunFilter{Since: q.Since, Limit: q.Limit, Job: q.Trigger, State: messaging.RunState(q.State), Before: messaging.RunID(q.Before)})
}

// failing are the newest runs that began within a day and of whose messages at least half failed.
func (a admin) failing(ctx context.Context) (out []FailingView, err error) {
	const most = 100
	runs, err := a.runsOf(ctx, store.RunFilter{Since: a.Now().Add(-24 * time.Hour), Limit: most})
	for i := range runs {
		if f, most := runs[i].failing(); most {
			out = append(out, f)
		}
	}
	return out, err
}

// runsOf lists runs, with what became of their messages.
func (a admin) runsOf(ctx context.Context, f store.RunFilter) ([]RunView, error) {
	rows, err := a.Store.Runs(ctx, f)
	if err != nil {
		return nil, err
	}
	out := make([]RunView, len(rows))
	for i := range rows {
		if out[i], err = a.listedRun(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listedRun is a run as lists show it: with what became of its messages, and what holds it back.
func (a admin) listedRun(ctx context.Context, r *messaging.Run) (v RunView, err error) {
	v = runView(r, nil)
	if !r.State.Final() {
		if v.Halted, err = a.halted(ctx, r); err != nil {
			return v, err
		}
	}
	if r.StartedAt.IsZero() {
		return v, nil // it sent nothing
	}
	return v, a.judged(ctx, &v)
}

// RunWords lists what a list of runs can be narrowed to.
func RunWords() []string {
	words := make([]string, len(messaging.RunStates))
	for i, s := range messaging.RunStates {
		words[i] = string(s)
	}
	return words
}

func (a admin) run(ctx context.Context, id messaging.RunID) (RunView, error) { return a.runOf(ctx, id) }

// runOf is a run with its parts, its messages and how far it has come.
func (a admin) runOf(ctx context.Context, id messaging.RunID) (RunView, error) {
	run, err := a.Store.Run(ctx, id)
	if err != nil {
		return RunView{}, jobError(err)
	}
	parts, err := a.Store.Parts(ctx, id)
	if err != nil {
		return RunView{}, err
	}
	v := runView(&run, parts)
	if err := a.judged(ctx, &v); err != nil {
		return v, err
	}
	if v.Retries, err = a.Store.RetriesOf(ctx, id); err != nil {
		return v, err
	}
	if !run.State.Final() {
		if v.Halted, err = a.halted(ctx, &run); err != nil {
			return v, err
		}
	}
	if run.State == messaging.RunPaused && a.Daemon != nil {
		v.UnderWay = min(v.Messages[string(messaging.StateSending)], int64(a.Daemon.View().UnderWay))
	}
	if a.Jobs != nil && !run.State.Final() {
		v.WaitsFor = a.Jobs.WaitsFor(id)
		if p, ok := a.Jobs.Progress(id); ok && p.State == run.State {
			v.Progress = progressView(&p)
		}
	}
	return v, nil
}

func (a admin) blocks(ctx context.Context, in ListQuery) ([]store.Block, error) {
	q, _, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Blocks(ctx, q.Limit)
	if err != nil {
		return nil, err
	}
	return listed(rows), nil
}

// maxBlocks bounds one request; a longer list comes in several.
const maxBlocks = 10_000

func (a admin) block(ctx context.Context, in BlockRequest) (BlockAnswer, error) {
	if len(in.Phones) == 0 || len(in.Phones) > maxBlocks {
		return BlockAnswer{}, refusal.Fieldf("phones", "", "want 1 to %d phones, not %d", maxBlocks, len(in.Phones))
	}
	var blocks []store.Block
	answer := BlockAnswer{}
	for i, text := range in.Phones {
		phone, err := a.phone(text, cmp.Or(in.Country, a.Country))
		if err != nil {
			answer.Bad = append(answer.Bad, BadRow{Row: i + 1, Reason: err.Error()})
			continue
		}
		blocks = append(blocks, store.Block{Phone: phone, Reason: in.Reason, Source: cmp.Or(in.Source, access.ByHand(ctx)), At: a.Now()})
	}
	fresh, err := a.Store.Block(ctx, blocks)
	if err != nil {
		return BlockAnswer{}, err
	}
	answer.Blocked, answer.Before = fresh, len(blocks)-fresh
	return answer, nil
}

func (a admin) allow(ctx context.Context, text string) (store.Block, error) {
	phone, err := a.phone(text, a.Country)
	if err != nil {
		return store.Block{}, err
	}
	err = a.Store.Allow(ctx, phone)
	if errors.Is(err, messaging.ErrNotFound) {
		return store.Block{}, refusal.Newf(http.StatusNotFound, `"nudgewire contacts list" shows who is`, "%s is not blocked", phone)
	}
	return store.Block{Phone: phone}, err
}
