package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A run that the config holds says so, is claimed by whoever may, and is let go by a word that no worker overwrites.
func (s suite) held(t *testing.T) {
	l := s.open(t)
	r := l.mustStart(aRun("winback", "1"))
	r.State, r.Before, r.Reason, r.Stopped, r.Held = nudgewire.RunPaused, nudgewire.RunPlanned, "its job is off", nudgewire.StopConfig, "is off"
	if err := l.SetRun(l.ctx, "", r, nudgewire.RunPlanned); err != nil {
		t.Fatal(err)
	}
	got, err := l.Run(l.ctx, r.ID)
	if err != nil || got.Stopped != nudgewire.StopConfig || got.Held != "is off" || got.StoppedBy != "" {
		t.Errorf("held: %+v, %v", got, err)
	}
	if err := l.ReleaseRun(l.ctx, r.ID, "Ann"); err != nil {
		t.Fatal(err)
	}
	stale := got // of a worker that does not know of that word
	stale.State, stale.Before, stale.Reason, stale.Stopped, stale.Held = nudgewire.RunPlanned, "", "", "", ""
	if err := l.SetRun(l.ctx, "", stale, nudgewire.RunPaused); err != nil {
		t.Fatal(err)
	}
	if got, err = l.Run(l.ctx, r.ID); err != nil || got.Released != "Ann" || got.Held != "" || got.Stopped != "" {
		t.Errorf("released: %+v, %v", got, err)
	}
	for _, may := range []bool{false, true} {
		mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), func(*nudgewire.Run) bool { return may })
		if err != nil || len(mine) != map[bool]int{false: 0, true: 1}[may] {
			t.Errorf("claimed where it may %v: %d, %v", may, len(mine), err)
		}
	}
}
