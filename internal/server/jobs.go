package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
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
		return rejectf(http.StatusNotFound, `"nudgewire jobs history" shows the numbers`, "there is no such run")
	case errors.Is(err, messaging.ErrMoved):
		return rejectf(http.StatusConflict, "look at it with jobs show, then try again", "the run moved on in this very moment; nothing was changed")
	case errors.As(err, &hinted):
		if errors.Is(err, scheduler.ErrNothing) {
			return rejectf(http.StatusNotFound, hinted.Hint(), "%s", err.Error())
		}
		return rejectf(http.StatusConflict, hinted.Hint(), "%s", err.Error())
	default:
		return err
	}
}

func (a admin) jobs(r *http.Request) (any, error) {
	now := a.Now()
	out := []JobView{}
	for _, j := range a.Jobs.Jobs(now) {
		v := JobView{
			Name: j.Name, Cron: j.Cron, Timezone: j.Timezone, Source: j.Source, Campaign: j.Campaign, Deliver: j.Deliver,
			Off: j.Paused, NextAt: optional(j.NextAt),
		}
		last, err := a.Store.Runs(r.Context(), store.RunFilter{Job: j.Name, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			run := runView(&last[0], nil)
			if err := a.judged(r.Context(), &run); err != nil {
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
	return rejectf(http.StatusNotFound, hint, "no job %q in the config", name)
}

func (a admin) forecast(r *http.Request) (any, error) {
	f, err := a.Jobs.Forecast(r.Context(), r.PathValue("name"))
	if errors.Is(err, scheduler.ErrNoJob) {
		return nil, a.noJob(r.PathValue("name"))
	}
	if err != nil {
		if hinted, ok := jobError(err).(*Error); ok { //nolint:errorlint // jobError wraps nothing
			return nil, hinted
		}
		return nil, rejectf(http.StatusConflict, "", "%v", err) // a source that cannot be read is no fault of the daemon
	}
	v := ForecastView{Job: f.Job, Source: f.Source, Tally: f.Tally, Awaiting: f.Awaiting, Repeats: f.Repeats, Repeat: f.RepeatWords, Nothing: f.Nothing, Columns: f.Columns, Priced: f.Priced, Seconds: f.Takes.Seconds(), Basis: f.Basis, Later: f.Later}
	if v.Halted, err = a.halted(r.Context(), &f.Run); err != nil {
		return nil, err
	}
	for _, p := range f.Previews {
		v.First = append(v.First, PreviewView{Phone: p.Phone, SentAs: p.SentAs, Variables: p.Variables})
	}
	return v, nil
}

// runHeld is the hold that keeps a run back, in words; "" for none.
func (a admin) runHeld(ctx context.Context, r *messaging.Run) (string, error) {
	h, held, err := a.Store.RunHeld(ctx, r)
	if err != nil || !held {
		return "", err
	}
	return h.Words(), nil
}

// halted says what holds all that a run would send, be it a hold or that the service is unwell; "" for nothing.
func (a admin) halted(ctx context.Context, r *messaging.Run) (string, error) {
	words, err := a.runHeld(ctx, r)
	if err != nil || words != "" || a.Daemon == nil {
		return words, err
	}
	for _, h := range a.Daemon.View().Halts {
		if h.Stops(r.Account, r.Category) {
			return h.Words(a.Now()), nil
		}
	}
	return "", nil
}

func (a admin) fire(r *http.Request, in RunOrder) (any, error) {
	who, _ := WhoOf(r.Context())
	order := scheduler.HandOrder{Repeats: in.Repeats, Person: who.Person(), Makers: who.Makers}
	if in.Approve {
		order.Approved = person(r)
	}
	id, err := a.Jobs.Fire(r.Context(), r.PathValue("name"), order)
	if errors.Is(err, scheduler.ErrNoJob) {
		return nil, a.noJob(r.PathValue("name"))
	}
	if err != nil {
		return nil, jobError(err)
	}
	return a.runOf(r.Context(), id)
}

func runNumber(r *http.Request) (messaging.RunID, error) {
	id, err := number(r, "id", `"nudgewire jobs history" shows the numbers`, "a run's number")
	return messaging.RunID(id), err
}

// retryOrder is what a person's word says of a retry.
func (a admin) retryOrder(in RunOrder) (what scheduler.RetryOrder, err error) {
	if in.MinWait < 0 || in.Deadline < 0 {
		return what, rejectf(http.StatusBadRequest, "", "a wait and a deadline are not negative")
	}
	what.InDoubt, what.MinWait = in.InDoubt, in.MinWait
	if in.Deadline > 0 {
		what.Until = a.Now().Add(in.Deadline).UTC()
	}
	what.Classes, err = parseClasses(in.Classes)
	return what, err
}

func (a admin) retry(r *http.Request, in RunOrder) (any, error) {
	what, err := a.retryOrder(in)
	if err != nil {
		return nil, err
	}
	return a.ordered(r, func(who string, id messaging.RunID) (messaging.RunID, error) {
		return a.Jobs.Retry(r.Context(), id, who, what)
	})
}

// approve notes who approves a run: the person whom the socket, the token or the session proves.
func (a admin) approve(r *http.Request) (any, error) {
	return a.ordered(r, func(name string, id messaging.RunID) (messaging.RunID, error) {
		who, _ := WhoOf(r.Context())
		return id, a.Jobs.Approve(r.Context(), id, messaging.Approval{
			Who: name, Person: who.Person(), Makers: who.Makers, LetInAt: who.LetInAt.UTC(), Via: string(who.From), At: a.Now().UTC(),
		})
	})
}

// order is the route of a word about a run.
func (a admin) order(do func(Jobs, context.Context, messaging.RunID, string) error) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		return a.ordered(r, func(who string, id messaging.RunID) (messaging.RunID, error) {
			return id, do(a.Jobs, r.Context(), id, who)
		})
	}
}

// ordered carries out an order about a run and shows the run that do names.
func (a admin) ordered(r *http.Request, do func(who string, id messaging.RunID) (messaging.RunID, error)) (any, error) {
	of, err := runNumber(r)
	if err != nil {
		return nil, err
	}
	who := person(r)
	id, err := do(who, of)
	if err != nil {
		return nil, jobError(err)
	}
	a.Log.Info("a person's order about a run", zap.String("order", path.Base(r.URL.Path)), zap.Int64("run", int64(of)), zap.String("who", who))
	return a.runOf(r.Context(), id)
}

func (a admin) runs(r *http.Request) (any, error) {
	q, _, err := a.parseList(r)
	if err != nil {
		return nil, err
	}
	if q.State != "" && !slices.Contains(messaging.RunStates, messaging.RunState(q.State)) {
		return nil, badField("state", "one of: "+strings.Join(RunWords(), ", "), "unknown state %q", q.State)
	}
	return a.runsIn(r.Context(), store.RunFilter{Since: q.Since, Limit: q.Limit, Job: q.Trigger, State: messaging.RunState(q.State), Before: messaging.RunID(q.Before)})
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
		out[i] = runView(&rows[i], nil)
		if rows[i].StartedAt.IsZero() {
			continue // it sent nothing
		}
		if err := a.judged(ctx, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// RunWords lists what a list of runs can be narrowed to.
func RunWords() []string {
	words := make([]string, len(messaging.RunStates))
	for i, s := range messaging.RunStates {
		words[i] = string(s)
	}
	return words
}

func (a admin) run(r *http.Request) (any, error) {
	id, err := runNumber(r)
	if err != nil {
		return nil, err
	}
	return a.runOf(r.Context(), id)
}

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
		if v.Halted, err = a.runHeld(ctx, &run); err != nil {
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

func (a admin) blocks(r *http.Request) (any, error) {
	q, _, err := a.parseList(r)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Blocks(r.Context(), q.Limit)
	if err != nil {
		return nil, err
	}
	out := make([]BlockView, len(rows))
	for i, b := range rows {
		out[i] = *blockView(&b)
	}
	return out, nil
}

// maxBlocks bounds one request; a longer list comes in several.
const maxBlocks = 10_000

func (a admin) block(r *http.Request, in BlockRequest) (any, error) {
	if len(in.Phones) == 0 || len(in.Phones) > maxBlocks {
		return nil, badField("phones", "", "want 1 to %d phones, not %d", maxBlocks, len(in.Phones))
	}
	var blocks []store.Block
	answer := BlockAnswer{}
	for i, text := range in.Phones {
		phone, err := a.phone(text, cmp.Or(in.Country, a.Country))
		if err != nil {
			answer.Bad = append(answer.Bad, BadRow{Row: i + 1, Reason: err.Error()})
			continue
		}
		blocks = append(blocks, store.Block{Phone: phone, Reason: in.Reason, Source: cmp.Or(in.Source, byHand(r)), At: a.Now()})
	}
	fresh, err := a.Store.Block(r.Context(), blocks)
	if err != nil {
		return nil, err
	}
	answer.Blocked, answer.Before = fresh, len(blocks)-fresh
	return answer, nil
}

func (a admin) allow(r *http.Request) (any, error) {
	phone, err := a.phone(r.PathValue("phone"), a.Country)
	if err != nil {
		return nil, err
	}
	err = a.Store.Allow(r.Context(), phone)
	if errors.Is(err, messaging.ErrNotFound) {
		return nil, rejectf(http.StatusNotFound, `"nudgewire contacts list" shows who is`, "%s is not blocked", phone)
	}
	return BlockView{Phone: phone}, err
}
