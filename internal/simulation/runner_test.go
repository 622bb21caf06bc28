package simulation_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/scheduler"
)

// One simulation runs at a time. It can be stopped, and the end of the daemon ends it; the next begins anew. What came of one is shown for a day.
func TestOneSimulationAtATime(t *testing.T) {
	rules := rulesOf(t, shop)
	past := month(t, &rules, 200, 70)
	now := past.Until
	var begun chan struct{}
	going := make(chan struct{})
	var once *sync.Once
	held := rules
	held.Points = func(string, messaging.Category, messaging.Phone) float64 { // the first that is sent waits here
		once.Do(func() { close(begun) })
		<-going
		return 0
	}
	d := &simulation.Runner{
		Store: past.Store, Folder: t.TempDir(), Now: func() time.Time { return now }, Zone: func() *time.Location { return time.UTC },
		Configs: func(context.Context, simulation.Request) (simulation.Configs, error) {
			return simulation.Configs{Was: &rules, Is: &held, WasName: "one", Name: "two"}, nil
		},
	}
	begin := func() {
		t.Helper()
		begun, once = make(chan struct{}), &sync.Once{}
		if p, err := d.Begin(t.Context(), simulation.Request{Since: past.From}); err != nil || p.State != simulation.Running || p.Of != 200 {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	state := func() simulation.Status {
		t.Helper()
		p, err := d.Show(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ends := func() simulation.Status {
		t.Helper()
		for state().State == simulation.Running {
			time.Sleep(time.Millisecond)
		}
		return state()
	}

	begin()
	<-begun
	if _, err := d.Begin(t.Context(), simulation.Request{Since: past.From}); err == nil {
		t.Error("two run at the same time")
	}
	if p, err := d.Stop(t.Context()); err != nil || p.State != simulation.Running {
		t.Errorf("stopped: %+v, %v", p, err)
	}
	close(going)
	if p := ends(); p.State != simulation.Stopped || len(p.Triggers) > 0 {
		t.Errorf("one that was stopped: %+v", p)
	}

	begin()
	if p := ends(); p.State != simulation.Done || len(p.Changes) != 0 || len(p.Triggers) != 2 || p.Events != 200 {
		t.Errorf("the next: %+v", p)
	}
	now = now.Add(25 * time.Hour)
	if p := state(); p.State != simulation.None {
		t.Errorf("a day later: %+v", p)
	}

	going = make(chan struct{})
	begin()
	<-begun
	close(going)
	d.Close()
	if p := state(); p.State != simulation.Stopped && p.State != simulation.Done {
		t.Errorf("after the end: %+v", p)
	}
	if _, err := d.Begin(t.Context(), simulation.Request{Since: past.From}); err == nil {
		t.Error("one began after the end")
	}
}

// A disk that fills up while a simulation is played, under either of the configs, before it begins, in a call, while a list is read or with a file of
// it on its way, ends it with words, and no run of it is told as failed. Nothing of it is left on the disk, the data that
// it read takes what comes, and with room again the next simulation is played.
func TestASimulationOnAFullDisk(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, shop+listsOf(t))
	past := month(t, &rules, 200, 70)
	folder := t.TempDir()
	prices, read := rules.Prices, func() {} // asked for as a list is read
	rules.Prices = func(account string) (p scheduler.Prices) {
		if read(); prices != nil {
			p = prices(account)
		}
		return p
	}
	d := &simulation.Runner{
		Store: past.Store, Folder: folder, Now: func() time.Time { return past.Until }, Zone: func() *time.Location { return time.UTC },
		Configs: func(context.Context, simulation.Request) (simulation.Configs, error) {
			return simulation.Configs{Was: &rules, Is: &rules, WasName: "one", Name: "two"}, nil
		},
	}
	plays := func(full int, when func(*simulation.World, func())) simulation.Status {
		t.Helper()
		worlds := 0
		read = func() {}
		d.OnBegin(func(w *simulation.World) {
			if worlds++; worlds == full {
				when(w, sync.OnceFunc(func() {
					if err := w.FillDisk(context.Background()); err != nil {
						t.Error(err)
					}
				}))
			}
		})
		if _, err := d.Begin(t.Context(), simulation.Request{Since: past.From}); err != nil {
			t.Fatal(err)
		}
		d.Wait()
		p, err := d.Show(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		return p
	}
	for i, of := range []string{"the config before", "the other config"} {
		for when, fill := range map[string]func(*simulation.World, func()){
			"at once": func(_ *simulation.World, now func()) { now() },
			"in a call": func(w *simulation.World, now func()) {
				called := w.Called
				w.Called = func(m *messaging.Message, at time.Time, a *messaging.Attempt) { now(); called(m, at, a) }
			},
			"as a list is read": func(_ *simulation.World, now func()) { read = now },
			"with a file on its way": func(w *simulation.World, now func()) {
				uploaded := w.Uploaded
				w.Uploaded = func(ctx context.Context, run *messaging.Run, p *messaging.Part, at time.Time) error {
					now()
					return uploaded(ctx, run, p, at)
				}
			},
		} {
			p := plays(i+1, fill)
			if p.State != simulation.Failed || !strings.HasPrefix(p.Error, "the disk is full: make room") || len(p.Changes) > 0 || p.Ended.IsZero() {
				t.Errorf("under %s, %s: %+v", of, when, p)
			}
		}
		e := messaging.Event{Connector: "shop", Kind: "order.paid", DedupeKey: of, ReceivedAt: past.Until, Payload: []byte("{}")}
		if _, err := past.Store.Accept(t.Context(), []messaging.Plan{{Event: e}}); err != nil {
			t.Errorf("the data takes no event: %v", err)
		}
	}
	if p := plays(0, nil); p.State != simulation.Done || p.Error != "" || len(p.Changes) != 0 || p.Events != 202 {
		t.Errorf("with room: %+v", p)
	}
}
