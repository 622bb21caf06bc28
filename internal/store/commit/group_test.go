package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// batches runs batches and keeps how many ops came together, and when. A commit takes 1 ms.
type batches struct {
	began time.Time
	sizes []int
	at    []time.Duration
}

func (b *batches) runBatch(ops []*Operation[struct{}]) error {
	b.sizes, b.at = append(b.sizes, len(ops)), append(b.at, time.Since(b.began))
	time.Sleep(time.Millisecond)
	for _, o := range ops {
		if err := o.Run(struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

func nothing(struct{}) error { return nil }

func startBatches() (*Group[struct{}], *batches) {
	b := &batches{began: time.Now()}
	return NewGroup(1000, MaxBatch, b.runBatch), b
}

// put hands n ops to the group commit, which answers them later.
func put(t *testing.T, g *Group[struct{}], l Lane, n int, run func(struct{}) error) {
	t.Helper()
	for range n {
		go func() {
			if err := g.Do(context.Background(), l, Operation[struct{}]{Run: run}); err != nil {
				t.Error(err)
			}
		}()
	}
	synctest.Wait()
}

func TestABatchIsAllThatWaits(t *testing.T) {
	const us = time.Microsecond
	tests := map[string]struct {
		do    func(*testing.T, *Group[struct{}])
		sizes []int
		at    []time.Duration
	}{
		"who comes alone is committed at once, after a crowd, too": {
			func(t *testing.T, g *Group[struct{}]) {
				put(t, g, LaneIngest, 1, nothing)
				put(t, g, LaneIngest, 60, nothing)
				time.Sleep(10 * time.Millisecond)
				put(t, g, LaneIngest, 1, nothing)
			},
			[]int{1, 60, 1},
			[]time.Duration{0, time.Millisecond, 10 * time.Millisecond},
		},
		"what comes during a commit is the next batch": {
			func(t *testing.T, g *Group[struct{}]) {
				put(t, g, LaneIngest, 1, nothing)
				time.Sleep(100 * us)
				put(t, g, LaneIngest, 5, nothing)
				time.Sleep(100 * us)
				put(t, g, LaneWork, 3, nothing)
			},
			[]int{1, 8},
			[]time.Duration{0, time.Millisecond},
		},
		"what waits at the end is written": {
			func(t *testing.T, g *Group[struct{}]) {
				put(t, g, LaneWork, 1, nothing)
				put(t, g, LaneIngest, 2, nothing)
				g.Close()
			},
			[]int{1, 2},
			[]time.Duration{0, time.Millisecond},
		},
		"a batch has its limit": {
			func(t *testing.T, g *Group[struct{}]) {
				put(t, g, LaneIngest, 1, nothing)
				put(t, g, LaneIngest, MaxBatch+3, nothing)
			},
			[]int{1, MaxBatch, 3},
			[]time.Duration{0, time.Millisecond, 2 * time.Millisecond},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, b := startBatches()
				tt.do(t, g)
				time.Sleep(10 * time.Millisecond)
				g.Close() // again, for one of them
				if !slices.Equal(b.sizes, tt.sizes) || !slices.Equal(b.at, tt.at) {
					t.Errorf("batches of %v after %v\nwant       %v after %v", b.sizes, b.at, tt.sizes, tt.at)
				}
			})
		})
	}
}

// Where not all fit into one batch, work is not kept waiting by events that came before it.
func TestWorkGoesBeforeEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := startBatches()
		put(t, g, LaneIngest, 1, nothing)
		put(t, g, LaneIngest, MaxBatch, nothing)
		batch := 0
		put(t, g, LaneWork, 1, func(struct{}) error { batch = len(b.sizes); return nil })
		g.Close()
		if batch != 2 {
			t.Errorf("work was in batch %d of %v", batch, b.sizes)
		}
	})
}

// A disk or a server that does not answer holds up no sender: the event comes again, and is known where it was stored. What nobody may
// repeat is waited for.
func TestNobodyWaitsForAnEventThatIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := startBatches()
		hangs := make(chan struct{})
		ran := 0
		run := func(struct{}) error { <-hangs; ran++; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Do(ctx, LaneIngest, Operation[struct{}]{Run: run}); !errors.Is(err, ErrUnanswered) {
			t.Errorf("an event: %v", err)
		}
		outcome := make(chan error, 1)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		go func() { outcome <- g.Do(context.WithoutCancel(ctx), LaneWork, Operation[struct{}]{Run: nothing}) }()
		put(t, g, LaneIngest, 3, nothing)
		close(hangs)
		if err := <-outcome; err != nil {
			t.Errorf("an outcome: %v", err)
		}
		g.Close()
		if ran != 1 {
			t.Errorf("the event was stored %d times", ran)
		}
	})
}

func TestAnEventThatWaitsCanBeWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := startBatches()
		put(t, g, LaneIngest, 1, nothing)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- g.Do(ctx, LaneIngest, Operation[struct{}]{Run: nothing}) }()
		put(t, g, LaneIngest, 1, nothing)
		cancel(errors.New("hung up"))
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(b.began) != 0 {
			t.Errorf("ended with %v after %s", err, time.Since(b.began))
		}
		g.Close()
		if !slices.Equal(b.sizes, []int{1, 1}) {
			t.Errorf("batches of %v were run", b.sizes)
		}
	})
}

// lanesOf keeps of which lanes its batches were.
type lanesOf struct{ batches [][]Lane }

func (l *lanesOf) runBatch(ops []*Operation[struct{}]) error {
	var of []Lane
	for _, o := range ops {
		of = append(of, o.lane)
	}
	l.batches = append(l.batches, slices.Compact(of))
	time.Sleep(time.Millisecond)
	return nil
}

// Events lock keys and then rows. Behind work, which has rows already, they would wait in a circle with the events of others.
func TestManyFlushersKeepEventsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runners := []*lanesOf{{}, {}}
		g := NewGroup(1000, MaxBatch, runners[0].runBatch, runners[1].runBatch)
		for range 5 {
			put(t, g, LaneWork, 3, nothing)
			put(t, g, LaneIngest, 7, nothing)
			put(t, g, LaneRows, 1, nothing)
		}
		g.Close()
		events, work := 0, 0
		for _, r := range runners {
			for _, of := range r.batches {
				if slices.Contains(of, LaneIngest) {
					events++
					if len(of) > 1 {
						t.Errorf("a batch is of the lanes %v", of)
					}
				} else {
					work++
				}
			}
		}
		if events == 0 || work == 0 {
			t.Errorf("%d batches of events, %d of work", events, work)
		}
	})
}

// What runs together passes no other operation, and no two with one key run together.
func TestWhatRunsTogether(t *testing.T) {
	a, b := &Set[struct{}]{}, &Set[struct{}]{}
	of := func(s *Set[struct{}], key int64) *Operation[struct{}] { return &Operation[struct{}]{Set: s, Key: key} }
	ops := []*Operation[struct{}]{of(a, 3), of(b, 0), of(a, 1), of(a, 3), of(b, 0), of(nil, 0), of(a, 7)}
	var turns []string
	for left := slices.Clone(ops); len(left) > 0; {
		n := together(left)
		var turn []string
		for _, o := range left[:n] {
			turn = append(turn, fmt.Sprint(slices.Index(ops, o)))
		}
		turns, left = append(turns, strings.Join(turn, " ")), left[n:]
	}
	if got := strings.Join(turns, ", "); got != "0 2, 1 4, 3, 5, 6" {
		t.Errorf("in turns of %s", got)
	}
}
