package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A run that the config holds says so, is claimed by whoever may, and is let go by a word that no worker overwrites.
func (s suite) held(t *testing.T) {
	l := s.open(t)
	r := l.mustStart(aRun("winback", "1"))
	r.State, r.Before, r.Reason, r.Stopped, r.Held = messaging.RunPaused, messaging.RunPlanned, "its job is off", messaging.StopConfig, "is off"
	l.must(l.SetRun(l.ctx, "", r, messaging.RunPlanned))
	got, err := l.Run(l.ctx, r.ID)
	if err != nil || got.Stopped != messaging.StopConfig || got.Held != "is off" || got.StoppedBy != "" {
		t.Errorf("held: %+v, %v", got, err)
	}
	l.must(l.ReleaseRun(l.ctx, r.ID, "Ann"))
	stale := got // of a worker that does not know of that word
	stale.State, stale.Before, stale.Reason, stale.Stopped, stale.Held = messaging.RunPlanned, "", "", "", ""
	l.must(l.SetRun(l.ctx, "", stale, messaging.RunPaused))
	if got, err = l.Run(l.ctx, r.ID); err != nil || got.Released != "Ann" || got.Held != "" || got.Stopped != "" {
		t.Errorf("released: %+v, %v", got, err)
	}
	for _, may := range []bool{false, true} {
		mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), func(*messaging.Run) bool { return may })
		if err != nil || len(mine) != map[bool]int{false: 0, true: 1}[may] {
			t.Errorf("claimed where it may %v: %d, %v", may, len(mine), err)
		}
	}
}
