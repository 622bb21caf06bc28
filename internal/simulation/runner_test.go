package simulation_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
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
	held.Points = func(*messaging.Message) float64 { // the first that is sent waits here
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
