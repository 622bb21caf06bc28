package pace

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAlarmSleepsUntilTheEarliestTimeItKnows(t *testing.T) {
	tests := map[string]struct {
		told  []time.Duration // from the start
		until time.Duration
		want  time.Duration
	}{
		"nothing told: until the caller's time":       {nil, time.Minute, time.Minute},
		"a time before that":                          {[]time.Duration{20 * time.Second}, time.Minute, 20 * time.Second},
		"a later time does not matter":                {[]time.Duration{2 * time.Hour}, time.Minute, time.Minute},
		"the earliest of several, in any order":       {[]time.Duration{9 * time.Second, 3 * time.Second, 5 * time.Second}, time.Minute, 3 * time.Second},
		"a time that has come ends the sleep at once": {[]time.Duration{-time.Second}, time.Minute, 0},
		"a time too far for the clock is never":       {[]time.Duration{1<<63 - 1}, time.Minute, time.Minute},
		"a caller's time in the past does not sleep":  {nil, -time.Second, 0},
		"now itself is at once":                       {[]time.Duration{0}, time.Minute, 0},
		"past and planned: the past one counts first": {[]time.Duration{5 * time.Second, -time.Second}, time.Minute, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, start := NewAlarm(time.Now), time.Now()
				a.Sleep(t.Context(), start.Add(-1)) // told nothing: must not block on a past time
				var wg sync.WaitGroup
				wg.Go(func() {
					// A ring may end one sleep early; the loop of a real sleeper looks again.
					for {
						a.Sleep(t.Context(), start.Add(tt.until))
						due, planned := a.Take(time.Now())
						if due || planned || !time.Now().Before(start.Add(tt.until)) {
							return
						}
					}
				})
				synctest.Wait()
				for _, d := range tt.told {
					a.At(start.Add(d))
				}
				wg.Wait()
				if got := time.Since(start); got != tt.want {
					t.Errorf("slept %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestAlarmTellsDueAndPlannedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAlarm(time.Now)
		a.At(time.Now())
		a.At(time.Now().Add(time.Second))
		if due, planned := a.Take(time.Now()); !due || planned {
			t.Errorf("Take at once = %v, %v, want only due", due, planned)
		}
		time.Sleep(time.Second)
		if due, planned := a.Take(time.Now()); due || !planned {
			t.Errorf("Take after a second = %v, %v, want only planned", due, planned)
		}
		if due, planned := a.Take(time.Now()); due || planned {
			t.Errorf("third Take = %v, %v, want nothing: it was taken", due, planned)
		}
	})
}

func TestAlarmNeverLosesAWakeUp(t *testing.T) {
	a := NewAlarm(time.Now)
	const tellers, each = 8, 2000
	var told sync.WaitGroup
	for range tellers {
		told.Go(func() {
			for range each {
				a.At(time.Now())
			}
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	var sleeper sync.WaitGroup
	sleeper.Go(func() {
		for ctx.Err() == nil {
			a.Take(time.Now())
			a.Sleep(ctx, time.Now().Add(time.Hour))
		}
	})
	told.Wait()
	stop()
	sleeper.Wait()
	// Nobody sleeps: the last word must either have been taken or still be there to take.
	a.At(time.Now())
	if due, _ := a.Take(time.Now()); !due {
		t.Error("a time told to a resting alarm was lost")
	}
}

func TestAlarmRingEndsASleepWithoutATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, start := NewAlarm(time.Now), time.Now()
		go func() {
			time.Sleep(time.Second)
			a.Ring()
			a.Ring() // never blocks
		}()
		a.Sleep(t.Context(), start.Add(time.Hour))
		if got := time.Since(start); got != time.Second {
			t.Errorf("slept %v, want 1s", got)
		}
		if due, planned := a.Take(time.Now()); due || planned {
			t.Error("a ring is not a time")
		}
	})
}

func TestAlarmSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		start := time.Now()
		NewAlarm(time.Now).Sleep(ctx, start.Add(time.Hour))
		if got := time.Since(start); got != time.Second {
			t.Errorf("slept %v, want 1s", got)
		}
	})
}
