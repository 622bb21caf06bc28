package simulation

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Warm is how long before the time that is asked for events are played, so that what was sent then counts: as long as the longest limit that is usual.
const Warm = 31 * 24 * time.Hour

// A Request asks for a simulation beside the running daemon.
type Request struct {
	Since   time.Time `json:"since,omitzero"`                // events and lists from here on are compared; zero is seven days ago
	Version string    `json:"version,omitempty" kind:"ours"` // of a config that was used before; "" is that of the files as they are now
	Edited  string    `json:"config,omitempty" kind:"ours"`  // triggers, as YAML, in place of those of the config in use
	Ledger  bool      `json:"ledger,omitempty"`              // the config in use is held against what was really sent
}

// usualSince is how far a simulation goes back where nobody says.
const usualSince = 7 * 24 * time.Hour

// The states of a Status.
const (
	None    = "none"    // nothing was asked for since the daemon began
	Running = "running" // it is played now
	Done    = "done"
	Failed  = "failed" // Error says why
	Stopped = "stopped"
)

// A Status is the newest simulation of a daemon.
type Status struct {
	State    string    `json:"state" kind:"ours"`
	Since    time.Time `json:"since,omitzero"`
	Was      string    `json:"was,omitempty" kind:"ours"` // version of the config; "" for what was really sent
	Is       string    `json:"is,omitempty" kind:"ours"`  // version of the config that is compared with it
	Edited   bool      `json:"edited,omitempty"`          // Is has edited triggers, and has no version
	Began    time.Time `json:"began,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Events   int64     `json:"events,omitempty"` // played so far, by each config; those before Since, too
	Of       int64     `json:"of,omitempty"`     // events that are stored of that time
	Error    string    `json:"error,omitempty" kind:"text"`
	Runs     int64     `json:"runs,omitempty"` // of lists that were played, from Since on
	Triggers []Total   `json:"triggers,omitempty"`
	Jobs     []Total   `json:"jobs,omitempty"`
	Days     []Total   `json:"days,omitempty"`
	Changes  []Change  `json:"changes,omitempty"` // the first of them
	More     int       `json:"more,omitempty"`    // changes that are not among them
	Notes    []string  `json:"notes,omitempty" kind:"text"`
}

// Part is how much of it is played, of a hundred.
func (s Status) Part() int64 {
	if s.Of == 0 {
		return 0
	}
	return min(99, 100*s.Events/s.Of)
}

// mostKept is how many changes a Runner keeps: a page shows no more, and "nudgewire simulate" has all.
const mostKept = 500

// keptFor is how long a Runner keeps what came of a simulation: it holds what is said to people.
const keptFor = 24 * time.Hour

// Configs are the two that a Request names.
type Configs struct {
	Was, Is       *Rules // Was is nil for what was really sent
	WasName, Name string // their versions
}

// A Runner plays one simulation at a time beside a daemon, on one processor, and keeps what came of the newest. It keeps it in memory: a restart has none.
type Runner struct {
	Store  *store.Store
	Folder string // for what is thrown away; it is the runner's own
	Now    func() time.Time
	Zone   func() *time.Location

	// Configs are those that a request names, as they are at this moment. Its errors are told as they are.
	Configs func(ctx context.Context, in Request) (Configs, error)

	begun func(*World) // see Past

	mu     sync.Mutex
	newest Status
	stop   context.CancelFunc // of the one that runs; nil while none does
	closed bool
	plays  sync.WaitGroup
}

// Begin begins a simulation. Errors: a *refusal.Error, among them where one runs already.
func (r *Runner) Begin(ctx context.Context, in Request) (Status, error) {
	now := r.Now().UTC()
	if in.Since.IsZero() {
		in.Since = now.Add(-usualSince)
	}
	if !in.Since.Before(now) {
		return Status{}, refusal.Fieldf("since", "name a time that has passed", "%s is to come", in.Since.UTC().Format(time.RFC3339))
	}
	both, err := r.Configs(ctx, in)
	if err != nil {
		return Status{}, err
	}
	past := Past{Store: r.Store, From: in.Since.UTC(), Warm: Warm, Until: now, Zone: r.Zone(), Folder: r.Folder, OneByOne: true, begun: r.begun}
	first, err := r.Store.FirstEventSince(ctx, past.From.Add(-past.Warm))
	if err != nil {
		return Status{}, err
	}
	last, err := r.Store.FirstEventSince(ctx, now)
	if err != nil {
		return Status{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return Status{}, refusal.Newf(http.StatusServiceUnavailable, "ask again when it has started", "the daemon stops")
	case r.stop != nil:
		return Status{}, refusal.Newf(http.StatusConflict, "wait for it, or stop it", "a simulation is running already")
	}
	r.newest = Status{State: Running, Since: past.From, Was: both.WasName, Is: both.Name, Edited: in.Edited != "", Began: now, Of: max(0, int64(last-first))}
	past.Progress = r.note
	// It goes on when whoever asked has gone.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.plays.Go(func() { r.play(running, past, both) })
	return r.newest, nil
}

func (r *Runner) play(ctx context.Context, past Past, both Configs) {
	got, err := Compare(ctx, past, both.Was, both.Is)
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.newest
	stopped := ctx.Err() != nil
	r.stop()
	r.stop = nil
	switch p.Ended = r.Now().UTC(); {
	case stopped:
		p.State = Stopped
	case err != nil:
		p.State, p.Error = Failed, why(err)
	default:
		p.State, p.Runs, p.Triggers, p.Jobs, p.Days, p.Notes = Done, got.Runs, got.Triggers, got.Jobs, got.Days, got.Notes
		p.Changes = slices.Clone(got.Changes[:min(len(got.Changes), mostKept)])
		p.More = len(got.Changes) - len(p.Changes)
	}
}

// why says why a simulation failed, and what to do where its own disk is at fault.
func why(err error) string {
	if trouble := sqlite.DiskTrouble(err); trouble != "" {
		return trouble + ": make room on the disk of the data, and begin it again; the daemon's own data was not touched (" + err.Error() + ")"
	}
	return err.Error()
}

// note takes up how many events were played.
func (r *Runner) note(events int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest.Events = events
}

// Show is the newest simulation. Who was forgotten since then is not among its changes.
func (r *Runner) Show(ctx context.Context) (Status, error) {
	r.mu.Lock()
	p := r.newest
	r.mu.Unlock()
	if p.State == "" || !p.Ended.IsZero() && r.Now().Sub(p.Ended) > keptFor {
		p = Status{State: None}
	}
	phones := make([]messaging.Phone, len(p.Changes))
	for i := range p.Changes {
		phones[i] = p.Changes[i].Phone
	}
	gone, err := r.Store.Forgotten(ctx, phones)
	if err != nil {
		return Status{}, err
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return !gone[c.Phone].IsZero() })
	return p, nil
}

// Stop ends the one that runs.
func (r *Runner) Stop(ctx context.Context) (Status, error) {
	r.mu.Lock()
	running := r.stop != nil
	if running {
		r.stop()
	}
	r.mu.Unlock()
	if !running {
		return Status{}, refusal.Newf(http.StatusConflict, "look at what came of it", "no simulation is running")
	}
	return r.Show(ctx)
}

// Close stops what runs, and waits for it.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	if r.stop != nil {
		r.stop()
	}
	r.mu.Unlock()
	r.plays.Wait()
}
