package app

import (
	"runtime"
	"testing"
)

func TestOneProcessorToSpare(t *testing.T) {
	for name, tt := range map[string]struct {
		told string
		more int
	}{
		"one more than there are":           {"", 1},
		"as many as the environment allows": {"2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", tt.told)
			before := runtime.GOMAXPROCS(0)
			undo := SpareProcessor()
			if got := runtime.GOMAXPROCS(0); got != before+tt.more {
				t.Errorf("%d threads beside %d processors", got, before)
			}
			undo()
			if got := runtime.GOMAXPROCS(0); got != before {
				t.Errorf("%d threads afterwards, want %d", got, before)
			}
		})
	}
}
