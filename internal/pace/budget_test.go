package pace

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// count lets workers of class c ask for requests as fast as they get them, for as long as ctx
// lives, and returns where the number of grants is kept.
func count(ctx context.Context, b *Budget, c Class, workers int, wg *sync.WaitGroup) *int {
	n, mu := new(int), new(sync.Mutex)
	for range workers {
		wg.Go(func() {
			for b.Wait(ctx, c, time.Time{}) == nil {
				mu.Lock()
				*n++
				mu.Unlock()
			}
		})
	}
	return n
}

func TestBudgetShares(t *testing.T) {
	tests := map[string]struct {
		rate         float64
		sends, polls int // workers that always want another request
		wantSends    int // in ten seconds
		wantPolls    int
	}{
		"sends alone get all":                {20, 64, 0, 200, 0},
		"polls alone get all":                {20, 0, 64, 0, 200},
		"both: polls get one of eight":       {80, 64, 64, 700, 100},
		"many polls cannot starve one send":  {80, 8, 500, 700, 100},
		"many sends cannot starve one poll":  {80, 500, 1, 700, 100},
		"a fast rate is reached":             {5000, 64, 0, 50000, 0},
		"a rate below one a second is kept":  {0.5, 3, 0, 5, 0},
		"a rate of a request every minute":   {1.0 / 60, 3, 0, 1, 0},
		"both at a slow rate, polls not nil": {2, 4, 4, 18, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBudget(tt.rate)
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Second-time.Millisecond)
				defer stop()
				var wg sync.WaitGroup
				sends, polls := count(ctx, b, Send, tt.sends, &wg), count(ctx, b, Poll, tt.polls, &wg)
				wg.Wait()
				if !near(*sends, tt.wantSends) || !near(*polls, tt.wantPolls) {
					t.Errorf("in 10s: %d sends and %d polls, want about %d and %d", *sends, *polls, tt.wantSends, tt.wantPolls)
				}
				s := b.State()
				if s.Sends != uint64(*sends) || s.Polls != uint64(*polls) || s.WaitSends != 0 || s.WaitPolls != 0 {
					t.Errorf("State() = %+v, want %d sends, %d polls and nobody waiting", s, *sends, *polls)
				}
			})
		})
	}
}

// near allows for the burst at the start and for the place in the turn where time ran out.
func near(got, want int) bool { return math.Abs(float64(got-want)) <= 3+0.02*float64(want) }

func TestUrgentSendsGoFirstButLeaveThePollsTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(80)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second-time.Millisecond)
		defer stop()
		var wg sync.WaitGroup
		sends, polls := count(ctx, b, Send, 64, &wg), count(ctx, b, Poll, 64, &wg)
		synctest.Wait()
		for range 100 { // one now and then: it waits for one request, or two when a poll's turn is next
			time.Sleep(71 * time.Millisecond)
			began := time.Now()
			if err := b.Wait(ctx, Urgent, time.Time{}); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d > 26*time.Millisecond {
				t.Fatalf("an urgent send waited %v behind a backlog", d)
			}
		}
		urgent := count(ctx, b, Urgent, 8, &wg)
		before := *sends
		wg.Wait()
		if *sends > before+1 {
			t.Errorf("%d other sends left beside a backlog of urgent ones", *sends-before)
		}
		if !near(*polls, 100) || !near(*sends+*urgent+100, 700) {
			t.Errorf("%d polls, %d sends and %d urgent ones in 10s at 80/s", *polls, *sends, *urgent+100)
		}
	})
}

func TestBudgetNeverPassesItsRateInAnySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(20)
		time.Sleep(time.Hour) // a long rest saves nothing up
		var left []time.Time
		for range 100 {
			if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
				t.Fatal(err)
			}
			left = append(left, time.Now())
		}
		for i := 20; i < len(left); i++ {
			if d := left[i].Sub(left[i-20]); d < time.Second-time.Millisecond {
				t.Fatalf("21 requests within %v", d)
			}
		}
	})
}

func TestBudgetWithoutALimitNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := NewBudget(0), time.Now()
		for range 10000 {
			if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("10,000 requests took %v", d)
		}
		if n, _ := b.Room(Send, time.Second); n != math.MaxInt {
			t.Errorf("Room = %d, want no bound", n)
		}
	})
}

func TestBudgetWaitEnds(t *testing.T) {
	tests := map[string]struct {
		timeout time.Duration // of the context
		by      time.Duration // from now; 0 is no hurry
		want    error
		after   time.Duration
	}{
		"with the context":             {time.Second, 0, context.DeadlineExceeded, time.Second},
		"at by, when that is earlier":  {time.Minute, 3 * time.Second, ErrTooLate, 3 * time.Second},
		"with a grant":                 {time.Minute, 0, nil, 10 * time.Second},
		"with a grant just before by":  {time.Minute, 11 * time.Second, nil, 10 * time.Second},
		"at once when by has gone by":  {time.Minute, -time.Second, ErrTooLate, 0},
		"with the context's end first": {time.Second, 5 * time.Second, context.DeadlineExceeded, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBudget(0.1)
				if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithTimeout(t.Context(), tt.timeout)
				defer stop()
				start, by := time.Now(), time.Time{}
				if tt.by != 0 {
					by = start.Add(tt.by)
				}
				err := b.Wait(ctx, Send, by)
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("Wait = %v, want %v", err, tt.want)
				}
				if d := time.Since(start); d.Round(time.Millisecond) != tt.after {
					t.Errorf("after %v, want %v", d, tt.after)
				}
				if s := b.State(); s.WaitSends != 0 {
					t.Errorf("%d still wait", s.WaitSends)
				}
			})
		})
	}
}

func TestBudgetRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(20)
		if n, _ := b.Room(Send, 250*time.Millisecond); n != 6 {
			t.Errorf("rested: Room in 250ms at 20/s = %d, want 6: one now and five to come", n)
		}
		if err := b.Wait(t.Context(), Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if n, _ := b.Room(Send, 250*time.Millisecond); n != 5 {
			t.Errorf("after one: Room = %d, want 5", n)
		}
		b.SetRate(0.1)
		n, again := b.Room(Send, 250*time.Millisecond)
		if n != 0 {
			t.Fatalf("at 0.1/s: Room = %d, want 0", n)
		}
		time.Sleep(time.Until(again))
		if n, _ = b.Room(Send, 250*time.Millisecond); n != 1 {
			t.Errorf("at the time it named: Room = %d, want 1", n)
		}
		b.Slow(Send, time.Now(), time.Minute)
		if n, again = b.Room(Send, 250*time.Millisecond); n != 0 || time.Until(again) != time.Minute {
			t.Errorf("paused: Room = %d, again in %v, want 0 and 1m", n, time.Until(again))
		}
	})
}

func TestBudgetRoomIsAShareWhileTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(80)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		count(ctx, b, Poll, 20, &wg)
		synctest.Wait()
		if n, _ := b.Room(Send, time.Second); n < 69 || n > 71 {
			t.Errorf("Room for sends in 1s at 80/s beside waiting polls = %d, want about 70", n)
		}
		stop()
		wg.Wait()
	})
}
