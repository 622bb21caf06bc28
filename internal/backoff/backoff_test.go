package backoff

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNext(t *testing.T) {
	tests := map[string]struct {
		attempt   int
		base, max time.Duration
		jitter    float64
		want      time.Duration
	}{
		"the first failure waits base":                  {1, time.Second, time.Minute, 0, time.Second},
		"each further one doubles it":                   {4, time.Second, time.Minute, 0, 8 * time.Second},
		"it never passes max":                           {7, time.Second, time.Minute, 0, time.Minute},
		"a thousandth attempt does not overflow":        {1000, time.Second, math.MaxInt64, 0, math.MaxInt64},
		"attempt zero waits like the first":             {0, time.Second, time.Minute, 0, time.Second},
		"half a jitter takes a quarter away":            {1, 4 * time.Second, time.Minute, 0.5, 3 * time.Second},
		"a base above max is kept":                      {3, time.Hour, time.Minute, 0, time.Hour},
		"no base is no pause":                           {5, 0, time.Minute, 0.9, 0},
		"a max that is no doubling of base is met once": {3, 3 * time.Second, 10 * time.Second, 0, 10 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Next(tt.attempt, tt.base, tt.max, tt.jitter); got != tt.want {
				t.Errorf("Next(%d, %v, %v, %v) = %v, want %v", tt.attempt, tt.base, tt.max, tt.jitter, got, tt.want)
			}
		})
	}
}

func TestNextStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "base"))
		limit := time.Duration(rapid.Int64Range(int64(base), math.MaxInt64).Draw(t, "max"))
		attempt := rapid.IntRange(-3, 100).Draw(t, "attempt")
		jitter := rapid.Float64Range(0, 0.999).Draw(t, "jitter")
		got, whole := Next(attempt, base, limit, jitter), Next(attempt, base, limit, 0)
		if whole < base || whole > limit {
			t.Fatalf("without jitter: %v is outside %v to %v", whole, base, limit)
		}
		if got > whole || got < whole/2 {
			t.Fatalf("with jitter %v: %v is outside half to all of %v", jitter, got, whole)
		}
		if next := Next(attempt+1, base, limit, 0); next < whole {
			t.Fatalf("the pause fell from %v to %v", whole, next)
		}
	})
}

func TestJitterIsAFraction(t *testing.T) {
	for range 1000 {
		if j := Jitter(); j < 0 || j >= 1 {
			t.Fatalf("Jitter() = %v", j)
		}
	}
}
