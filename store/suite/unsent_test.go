package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// unsent is how a name is known that has left the config.
func (s suite) unsent(t *testing.T) {
	l := s.open(t)
	unsent := func(scope nudgewire.HoldScope, name string) bool {
		t.Helper()
		found, err := l.Unsent(l.ctx, scope, name)
		l.must(err)
		return found
	}
	id := l.enqueue("a", due(noon), template("offer"))
	var held nudgewire.Message
	for _, stage := range []struct {
		state nudgewire.State
		reach func()
		want  bool
	}{
		{nudgewire.StateWaiting, func() {}, true},
		{nudgewire.StateSending, func() { held = l.mustClaim(noon.Add(time.Minute), 1)[0] }, true},
		{nudgewire.StateInDoubt, func() { l.mustFinish(held, nudgewire.StateInDoubt) }, true},
		{nudgewire.StateDropped, func() {
			l.must(l.Resolve(l.ctx, id, nudgewire.ResolveDrop, "let it be"))
		}, false},
	} {
		stage.reach()
		same(t, "state", stage.state, l.message(id).State)
		for _, name := range []struct {
			scope nudgewire.HoldScope
			name  string
			mine  bool
		}{
			{nudgewire.ScopeTrigger, "remind", true},
			{nudgewire.ScopeTemplate, "offer", true},
			{nudgewire.ScopeJob, "remind", false},
			{nudgewire.ScopeTrigger, "remin", false},
			{nudgewire.ScopeTemplate, "offe", false},
		} {
			if got := unsent(name.scope, name.name); got != (stage.want && name.mine) {
				t.Errorf("%s: unsent of %s %q: %v", stage.state, name.scope, name.name, got)
			}
		}
	}
	if unsent(nudgewire.ScopeJob, "winback") {
		t.Error("a job that never ran has something to send")
	}
	if _, _, err := l.StartRun(l.ctx, nudgewire.Run{
		Job: "winback", Slot: "2026-03-02 12:00", DueAt: noon, Cause: nudgewire.CauseCron, State: nudgewire.RunPlanned, Deliver: nudgewire.DeliverCSV, CreatedAt: noon,
	}); err != nil {
		t.Fatal(err)
	}
	if !unsent(nudgewire.ScopeJob, "winback") {
		t.Error("a job with an open run has nothing to send")
	}
	_, err := l.Unsent(l.ctx, nudgewire.ScopeAll, "")
	wantErr(t, err, `unsent of "all": nothing that has a name`)
}
