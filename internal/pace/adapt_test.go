package pace

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTroubleHalvesTheRateOncePerWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := NewBudget(40), time.Now()
		time.Sleep(time.Second)
		for range 64 { // 64 answers to requests of the same moment
			b.Slow(Send, began, 0)
		}
		if s := b.State(); s.Rate != 20 || s.Cuts != 1 || !s.Slowed {
			t.Errorf("after one wave: %+v, want a rate of 20 after one cut", s)
		}
		for range 20 { // each wave begins after the cut of the one before
			began = time.Now().Add(time.Millisecond)
			time.Sleep(10 * time.Millisecond)
			b.Slow(Send, began, 0)
		}
		if s := b.State(); s.Rate != 1 {
			t.Errorf("after 20 more: rate %v, want the floor of 1", s.Rate)
		}
	})
}

func TestTheFloorIsNotAboveTheConfiguredRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0.1)
		b.Slow(Send, time.Now(), 0)
		if s := b.State(); s.Rate != 0.1 {
			t.Errorf("rate %v, want 0.1", s.Rate)
		}
	})
}

func TestTheRateRisesOnlyWithHealthyAnswersAndNoFasterThanATwentiethASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(40)
		b.Slow(Send, time.Now(), 0)
		time.Sleep(time.Hour)
		if s := b.State(); s.Rate != 20 {
			t.Fatalf("an hour of silence made the rate %v, want 20 still", s.Rate)
		}
		start := time.Now()
		for b.State().Slowed {
			b.Took(Send)
			b.Took(Send)
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(start); d < 9*time.Second || d > 10*time.Second {
			t.Errorf("half to full took %v, want about 9s", d)
		}
		if s := b.State(); s.Rate != 40 {
			t.Errorf("rate %v, want 40", s.Rate)
		}
	})
}

func TestRetryAfterHoldsEverythingBounded(t *testing.T) {
	for name, tt := range map[string]struct{ asked, want time.Duration }{
		"for as long as the service asks":   {30 * time.Second, 30 * time.Second},
		"but five minutes at the most":      {24 * time.Hour, MaxPause},
		"a shorter one does not shorten it": {-1, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, configured := range []float64{0, 20} {
					b, start := NewBudget(configured), time.Now()
					if tt.asked < 0 {
						b.Slow(Send, start, 30*time.Second)
						b.Slow(Send, start, time.Second)
					} else {
						b.Slow(Send, start, tt.asked)
					}
					if got := b.State().PausedUntil.Sub(start); got != tt.want {
						t.Errorf("rate %v: State says %v, want %v", configured, got, tt.want)
					}
					if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
						t.Fatal(err)
					}
					if got := time.Since(start); got != tt.want {
						t.Errorf("rate %v: held for %v, want %v", configured, got, tt.want)
					}
					if !b.State().PausedUntil.IsZero() {
						t.Error("State still says paused")
					}
				}
			})
		})
	}
}

func TestAPauseSendsAwayWhoCannotWaitSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0.5)
		if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ends := make(map[string]time.Duration)
		var mu sync.Mutex
		var wg sync.WaitGroup
		wait := func(name string, by time.Time, want error) {
			wg.Go(func() {
				if err := b.Wait(t.Context(), Send, by); !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
				mu.Lock()
				ends[name] = time.Since(start)
				mu.Unlock()
			})
		}
		wait("hurried", start.Add(10*time.Second), ErrTooLate)
		wait("patient", time.Time{}, nil)
		synctest.Wait()
		time.Sleep(time.Second)
		b.Slow(Send, start, time.Minute)
		wait("newcomer in a hurry", start.Add(20*time.Second), ErrTooLate)
		wg.Wait()
		if ends["hurried"] != time.Second || ends["newcomer in a hurry"] != time.Second || ends["patient"] < time.Minute {
			t.Errorf("they ended after %v, want the hurried at 1s and the patient after the pause", ends)
		}
	})
}

func TestWithoutALimitTroubleMeasuresTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0)
		for range 10 { // 300 a second
			for range 300 {
				if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}
		b.Slow(Send, time.Now().Add(-time.Second), 0)
		if s := b.State(); s.Rate != 150 {
			t.Fatalf("rate %v, want half of the 300 that met trouble", s.Rate)
		}
		var wg sync.WaitGroup
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second-time.Millisecond)
		defer stop()
		n := count(ctx, b, Send, 64, &wg)
		wg.Wait()
		if !near(*n, 1500) {
			t.Errorf("%d requests in 10s, want about 1500", *n)
		}
		start := time.Now()
		for b.State().Slowed {
			b.Took(Send)
			time.Sleep(250 * time.Millisecond)
		}
		if s := b.State(); s.Rate != 0 {
			t.Errorf("rate %v after recovery, want no limit", s.Rate)
		}
		if d := time.Since(start); d < 25*time.Second || d > 35*time.Second {
			t.Errorf("recovered in %v, want about 30s", d)
		}
		start = time.Now()
		for range 5000 {
			if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("5,000 requests took %v after recovery", d)
		}
	})
}

func TestAPauseWithoutALimitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, old := NewBudget(0), time.Now()
		b.Slow(Send, old, 0)
		for b.State().Slowed {
			time.Sleep(time.Second)
			b.Took(Send)
		}
		b.Slow(Send, old, 10*time.Second) // the late answer of a request from before all that
		start := time.Now()
		if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("two requests left after %v, want 10s", d)
		}
		if !b.paces[sends].open.Load() {
			t.Error("requests still take the lock")
		}
	})
}

func TestAQuietMomentDoesNotMakeAStranglingBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0)
		if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		b.Slow(Send, time.Now(), 0)
		if s := b.State(); s.Rate != minBase/2 {
			t.Errorf("rate %v after one failed request in a quiet second, want %v", s.Rate, minBase/2)
		}
	})
}

func TestSetRateReachesThoseWhoWait(t *testing.T) {
	for name, rate := range map[string]float64{"a higher rate": 1000, "no limit": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBudget(0.01)
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() {
						if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				start := time.Now()
				b.SetRate(rate)
				wg.Wait()
				if d := time.Since(start); d > 20*time.Millisecond {
					t.Errorf("ten waiters left after %v", d)
				}
			})
		})
	}
}

func TestSetRateDoesNotForgetTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		b.Slow(Send, time.Now(), 0)
		b.SetRate(200)
		if s := b.State(); s.Rate != 50 || !s.Slowed {
			t.Errorf("raised while slowed: %+v, want 50 and slowed", s)
		}
		b.SetRate(10)
		if s := b.State(); s.Rate != 10 {
			t.Errorf("lowered while slowed: rate %v, want 10", s.Rate)
		}
		b.SetRate(0)
		if s := b.State(); s.Rate == 0 || !s.Slowed {
			t.Errorf("limit removed while slowed: %+v, want still slowed", s)
		}
	})
}

func BenchmarkWaitUnlimited(b *testing.B) {
	budget, ctx := NewBudget(0), context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if budget.Wait(ctx, Send, time.Time{}) != nil {
				b.Error("refused")
			}
			budget.Took(Send)
		}
	})
}

func BenchmarkWaitBelowTheLimit(b *testing.B) {
	budget, ctx := NewBudget(1e9), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if budget.Wait(ctx, Send, time.Time{}) != nil {
			b.Fatal("refused")
		}
	}
}
