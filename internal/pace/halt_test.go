package pace

import (
	"testing"
	"time"
)

func TestHaltPausesDoubleWithEachWaveAndEndWithALift(t *testing.T) {
	cause := Cause{Name: "key", First: 5 * time.Second, Max: 5 * time.Minute}
	var h Halt
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if _, halted := h.State(); halted {
		t.Fatal("a new Halt is not halted")
	}
	if _, lifted := h.Lift(now, now); lifted {
		t.Fatal("a new Halt has nothing to lift")
	}
	start, began := now.Add(time.Second), now
	for i, seconds := range []int{5, 10, 20, 40, 80, 160, 300, 300} {
		want := time.Duration(seconds) * time.Second
		now = now.Add(time.Second)
		first, counted := h.Strike(began, now, cause, "no")
		s, halted := h.State()
		if s.Until.Sub(now) != want || first != (i == 0) || !counted || !halted || !s.Since.Equal(start) {
			t.Fatalf("strike %d: %+v, first %v, want %v", i+1, s, first, want)
		}
		if first, counted := h.Strike(began, now.Add(time.Second), cause, "no, of the same wave"); first || counted {
			t.Fatalf("strike %d: another refusal of the same wave counted", i+1)
		}
		if _, lifted := h.Lift(began, now.Add(time.Second)); lifted {
			t.Fatalf("strike %d: an answer of the same wave lifted it", i+1)
		}
		if again, _ := h.State(); again != s {
			t.Fatalf("strike %d: the wave moved it from %+v to %+v", i+1, s, again)
		}
		now = s.Until
		began = now.Add(time.Millisecond)
	}
	h.Hold(now.Add(time.Hour))
	if s, _ := h.State(); !s.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("held until %v", s.Until)
	}
	now = now.Add(time.Minute)
	if was, lifted := h.Lift(began, now); !lifted || was.Why != "no" || was.Cause != cause.Name {
		t.Errorf("lifted %v: %+v", lifted, was)
	}
	if _, lifted := h.Lift(began, now); lifted {
		t.Error("lifted twice")
	}
	if _, counted := h.Strike(began, now, cause, "late"); counted {
		t.Error("a refusal from before the lift counted")
	}
	if first, counted := h.Strike(now.Add(1), now.Add(2), cause, "again"); !first || !counted {
		t.Error("a refusal after the lift did not count as the first")
	}
	h.Reset(nil, now.Add(3))
	if s, halted := h.State(); halted || s != (Halted{}) {
		t.Errorf("after a reset: %+v", s)
	}
}
