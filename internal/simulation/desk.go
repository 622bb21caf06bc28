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
)

// Warm is how long before the time that is asked for events are played, so that what was sent then counts: as long as the longest limit that is usual.
const Warm = 31 * 24 * time.Hour

// An Order asks for a simulation beside the running daemon.
type Order struct {
	Since   time.Time `json:"since,omitzero"`                // events from here on are compared; zero is seven days ago
	Version string    `json:"version,omitempty" kind:"ours"` // of a config that was used before; "" is that of the files as they are now
	Edited  string    `json:"config,omitempty" kind:"ours"`  // triggers, as YAML, in place of those of the config in use
	Ledger  bool      `json:"ledger,omitempty"`              // the config in use is held against what was really sent
}

// usualSince is how far a simulation goes back where nobody says.
const usualSince = 7 * 24 * time.Hour

// The states of a Played.
const (
	None    = "none"    // nothing was asked for since the daemon began
	Running = "running" // it is played now
	Done    = "done"
	Failed  = "failed" // Error says why
	Stopped = "stopped"
)

// A Played is the newest simulation of a daemon.
type Played struct {
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
	Triggers []Total   `json:"triggers,omitempty"`
	Days     []Total   `json:"days,omitempty"`
	Changes  []Change  `json:"changes,omitempty"` // the first of them
	More     int       `json:"more,omitempty"`    // changes that are not among them
	Notes    []string  `json:"notes,omitempty" kind:"text"`
}

// mostKept is how many changes a Desk keeps: a page shows no more, and "nudgewire simulate" has all.
const mostKept = 500

// keptFor is how long a Desk keeps what came of a simulation: it holds what is said to people.
const keptFor = 24 * time.Hour

// Configs are the two that an Order names.
type Configs struct {
	Was, Is       *Rules // Was is nil for what was really sent
	WasName, Name string // their versions
}

// A Desk plays one simulation at a time beside a daemon, on one processor, and keeps what came of the newest. It keeps it in memory: a restart has none.
type Desk struct {
	Store  *store.Store
	Folder string // for what is thrown away; it is the desk's own
	Now    func() time.Time
	Zone   func() *time.Location

	// Configs are those that an order names, as they are at this moment. Its errors are told as they are.
	Configs func(ctx context.Context, o Order) (Configs, error)

	mu     sync.Mutex
	newest Played
	stop   context.CancelFunc // of the one that runs; nil while none does
	closed bool
	plays  sync.WaitGroup
}

// Begin begins a simulation. Errors: a *refusal.Error, among them where one runs already.
func (d *Desk) Begin(ctx context.Context, o Order) (Played, error) {
	now := d.Now().UTC()
	if o.Since.IsZero() {
		o.Since = now.Add(-usualSince)
	}
	if !o.Since.Before(now) {
		return Played{}, refusal.Fieldf("since", "name a time that has passed", "%s is to come", o.Since.UTC().Format(time.RFC3339))
	}
	both, err := d.Configs(ctx, o)
	if err != nil {
		return Played{}, err
	}
	past := Past{Store: d.Store, From: o.Since.UTC(), Warm: Warm, Until: now, Zone: d.Zone(), Folder: d.Folder, OneByOne: true}
	first, err := d.Store.FirstEventSince(ctx, past.From.Add(-past.Warm))
	if err != nil {
		return Played{}, err
	}
	last, err := d.Store.FirstEventSince(ctx, now)
	if err != nil {
		return Played{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return Played{}, refusal.Newf(http.StatusServiceUnavailable, "ask again when it has started", "the daemon stops")
	case d.stop != nil:
		return Played{}, refusal.Newf(http.StatusConflict, "wait for it, or stop it", "a simulation is running already")
	}
	d.newest = Played{State: Running, Since: past.From, Was: both.WasName, Is: both.Name, Edited: o.Edited != "", Began: now, Of: max(0, int64(last-first))}
	past.Playing = d.note
	// It goes on when whoever asked has gone.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.plays.Go(func() { d.play(running, past, both) })
	return d.newest, nil
}

func (d *Desk) play(ctx context.Context, past Past, both Configs) {
	got, err := Compare(ctx, past, both.Was, both.Is)
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.newest
	stopped := ctx.Err() != nil
	d.stop()
	d.stop = nil
	switch p.Ended = d.Now().UTC(); {
	case stopped:
		p.State = Stopped
	case err != nil:
		p.State, p.Error = Failed, err.Error()
	default:
		p.State, p.Triggers, p.Days, p.Notes = Done, got.Triggers, got.Days, got.Notes
		p.Changes = slices.Clone(got.Changes[:min(len(got.Changes), mostKept)])
		p.More = len(got.Changes) - len(p.Changes)
	}
}

// note takes up how many events were played.
func (d *Desk) note(events int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest.Events = events
}

// Show is the newest simulation. Who was forgotten since then is not among its changes.
func (d *Desk) Show(ctx context.Context) (Played, error) {
	d.mu.Lock()
	p := d.newest
	d.mu.Unlock()
	if p.State == "" || !p.Ended.IsZero() && d.Now().Sub(p.Ended) > keptFor {
		p = Played{State: None}
	}
	phones := make([]messaging.Phone, len(p.Changes))
	for i := range p.Changes {
		phones[i] = p.Changes[i].Phone
	}
	gone, err := d.Store.Forgotten(ctx, phones)
	if err != nil {
		return Played{}, err
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return !gone[c.Phone].IsZero() })
	return p, nil
}

// Stop ends the one that runs.
func (d *Desk) Stop(ctx context.Context) (Played, error) {
	d.mu.Lock()
	running := d.stop != nil
	if running {
		d.stop()
	}
	d.mu.Unlock()
	if !running {
		return Played{}, refusal.Newf(http.StatusConflict, "look at what came of it", "no simulation is running")
	}
	return d.Show(ctx)
}

// Close stops what runs, and waits for it.
func (d *Desk) Close() {
	d.mu.Lock()
	d.closed = true
	if d.stop != nil {
		d.stop()
	}
	d.mu.Unlock()
	d.plays.Wait()
}
