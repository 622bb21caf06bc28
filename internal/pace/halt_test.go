package pace

import (
	"testing"
	"time"
)

func TestHaltPausesDoubleWithEachWaveAndEndWithALift(t *testing.T) {
	var h Halt
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if until, probe := h.State(now); !until.IsZero() || probe || h.Why() != "" || h.Lift() {
		t.Fatal("a new Halt is not halted")
	}
	began := now
	for i, seconds := range []int{5, 10, 20, 40, 80, 160, 300, 300} {
		want := time.Duration(seconds) * time.Second
		now = now.Add(time.Second)
		until, first := h.Strike(began, now, "no")
		if until.Sub(now) != want || first != (i == 0) {
			t.Fatalf("strike %d: %v, first %v, want %v", i+1, until.Sub(now), first, want)
		}
		if again, first := h.Strike(began, now.Add(time.Second), "no, of the same wave"); !again.Equal(until) || first {
			t.Fatalf("strike %d: another refusal of the same wave moved the pause to %v", i+1, again)
		}
		if _, probe := h.State(until.Add(-1)); probe {
			t.Fatalf("strike %d: a probe before the pause ended", i+1)
		}
		if _, probe := h.State(until); !probe {
			t.Fatalf("strike %d: no probe after the pause", i+1)
		}
		now = until
		began = until.Add(time.Millisecond)
	}
	if h.Why() != "no" || !h.Lift() || h.Lift() {
		t.Error("Lift must end it once")
	}
	if until, first := h.Strike(now, now, "again"); until.Sub(now) != haltFirst || !first {
		t.Errorf("after a lift the first pause is %v", until.Sub(now))
	}
}
