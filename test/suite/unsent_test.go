package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// unsent is how a name is known that has left the config.
func (s suite) unsent(t *testing.T) {
	l := s.open(t)
	unsent := func(scope messaging.HoldScope, name string) bool {
		t.Helper()
		found, err := l.Unsent(l.ctx, scope, name)
		l.must(err)
		return found
	}
	id := l.enqueue("a", due(noon), template("offer"))
	var held messaging.Message
	for _, stage := range []struct {
		state messaging.State
		reach func()
		want  bool
	}{
		{messaging.StateWaiting, func() {}, true},
		{messaging.StateSending, func() { held = l.mustClaim(noon.Add(time.Minute), 1)[0] }, true},
		{messaging.StateInDoubt, func() { l.mustFinish(held, messaging.StateInDoubt) }, true},
		{messaging.StateDropped, func() {
			l.must(l.Resolve(l.ctx, id, messaging.ResolveDrop, "let it be"))
		}, false},
	} {
		stage.reach()
		same(t, "state", stage.state, l.message(id).State)
		for _, name := range []struct {
			scope messaging.HoldScope
			name  string
			mine  bool
		}{
			{messaging.ScopeTrigger, "remind", true},
			{messaging.ScopeTemplate, "offer", true},
			{messaging.ScopeJob, "remind", false},
			{messaging.ScopeTrigger, "remin", false},
			{messaging.ScopeTemplate, "offe", false},
		} {
			if got := unsent(name.scope, name.name); got != (stage.want && name.mine) {
				t.Errorf("%s: unsent of %s %q: %v", stage.state, name.scope, name.name, got)
			}
		}
	}
	if unsent(messaging.ScopeJob, "winback") {
		t.Error("a job that never ran has something to send")
	}
	if _, _, err := l.StartRun(l.ctx, messaging.Run{
		Job: "winback", Slot: "2026-03-02 12:00", DueAt: noon, Cause: messaging.CauseCron, State: messaging.RunPlanned, Deliver: messaging.DeliverCSV, CreatedAt: noon,
	}); err != nil {
		t.Fatal(err)
	}
	if !unsent(messaging.ScopeJob, "winback") {
		t.Error("a job with an open run has nothing to send")
	}
	_, err := l.Unsent(l.ctx, messaging.ScopeAll, "")
	wantErr(t, err, `unsent of "all": nothing that has a name`)
}
