package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// groups is a runner that keeps how many ops came together, and when. A commit takes as long as it is told.
type groups struct {
	takes time.Duration
	began time.Time
	sizes []int
	at    []time.Duration
}

func (g *groups) runGroup(ops []*waiting) error {
	g.sizes, g.at = append(g.sizes, len(ops)), append(g.at, time.Since(g.began))
	time.Sleep(g.takes)
	for _, o := range ops {
		if err := o.run(nil); err != nil {
			return err
		}
	}
	return nil
}

func nothing(*tx) error { return nil }

// frontOf starts a front whose last two groups held so many events, inside a bubble.
func frontOf(t *testing.T, events [2]int) (*front, *groups) {
	t.Helper()
	g := &groups{takes: time.Millisecond, began: time.Now()}
	f := newFront(g, 1000)
	f.mu.Lock()
	f.events = events
	f.mu.Unlock()
	time.Sleep(time.Second) // the flusher has nothing to do
	g.began = time.Now()
	return f, g
}

// put hands one op to the front, which answers it later.
func put(t *testing.T, f *front, l lane) {
	t.Helper()
	go func() {
		if err := f.do(context.Background(), l, nothing); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// crowd hands n ops to the front at one moment.
func crowd(f *front, l lane, n int) {
	f.mu.Lock()
	for range n {
		f.lanes[l] = append(f.lanes[l], &waiting{run: nothing, lane: l, done: make(chan struct{}, 1)})
	}
	f.mu.Unlock()
	f.poke()
	synctest.Wait()
}

func TestWhenAGroupIsTaken(t *testing.T) {
	const us = time.Microsecond
	tests := map[string]struct {
		before [2]int // events in the two groups before
		do     func(*testing.T, *front)
		sizes  []int
		at     []time.Duration
	}{
		"who comes alone waits for nobody": {
			[2]int{1, 1},
			func(t *testing.T, f *front) { put(t, f, laneIngest) },
			[]int{1},
			[]time.Duration{0},
		},
		"half of those in play are enough": {
			[2]int{40, 24},
			func(t *testing.T, f *front) {
				crowd(f, laneIngest, 31)
				time.Sleep(100 * us)
				put(t, f, laneIngest)
			},
			[]int{32},
			[]time.Duration{100 * us},
		},
		"after a crowd one waits no longer than patience, twice": {
			[2]int{60, 60},
			func(t *testing.T, f *front) {
				for range 3 {
					put(t, f, laneIngest)
					time.Sleep(10 * time.Millisecond)
				}
			},
			[]int{1, 1, 1},
			[]time.Duration{patience, 10*time.Millisecond + patience, 20 * time.Millisecond},
		},
		"work goes at once and takes along what waits": {
			[2]int{60, 60},
			func(t *testing.T, f *front) {
				crowd(f, laneIngest, 5)
				time.Sleep(50 * us)
				put(t, f, laneWork)
			},
			[]int{6},
			[]time.Duration{50 * us},
		},
		"work does not count as company": {
			[2]int{1, 1},
			func(t *testing.T, f *front) {
				crowd(f, laneWork, 64)
				time.Sleep(10 * time.Millisecond)
				put(t, f, laneIngest)
			},
			[]int{64, 1},
			[]time.Duration{0, 10 * time.Millisecond},
		},
		"the end waits for nobody": {
			[2]int{60, 60},
			func(_ *testing.T, f *front) {
				crowd(f, laneIngest, 2)
				time.Sleep(20 * us)
				f.close()
			},
			[]int{2},
			[]time.Duration{20 * us},
		},
		"a group is no larger than a commit should be": {
			[2]int{1, 1},
			func(_ *testing.T, f *front) { crowd(f, laneIngest, maxGroup+3) },
			[]int{maxGroup, 3},
			[]time.Duration{0, time.Millisecond + patience},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, g := frontOf(t, tt.before)
				tt.do(t, f)
				time.Sleep(10 * time.Millisecond)
				f.close() // again, for one of them
				if !slices.Equal(g.sizes, tt.sizes) || !slices.Equal(g.at, tt.at) {
					t.Errorf("groups of %v after %v\nwant      %v after %v", g.sizes, g.at, tt.sizes, tt.at)
				}
			})
		})
	}
}

func TestAnEventThatWaitsForCompanyCanBeWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, g := frontOf(t, [2]int{60, 60})
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- f.do(ctx, laneIngest, nothing) }()
		synctest.Wait()
		cancel(errors.New("hung up"))
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(g.began) != 0 {
			t.Errorf("ended with %v after %s", err, time.Since(g.began))
		}
		time.Sleep(time.Second)
		f.close()
		if len(g.sizes) > 0 {
			t.Errorf("groups of %v were run", g.sizes)
		}
	})
}
