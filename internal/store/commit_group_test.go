package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// batches is a runner that keeps how many ops came together, and when. A commit takes 1 ms.
type batches struct {
	began time.Time
	sizes []int
	at    []time.Duration
}

func (b *batches) runBatch(ops []*waiting) error {
	b.sizes, b.at = append(b.sizes, len(ops)), append(b.at, time.Since(b.began))
	time.Sleep(time.Millisecond)
	for _, o := range ops {
		if err := o.run(nil); err != nil {
			return err
		}
	}
	return nil
}

func nothing(*Tx) error { return nil }

func startBatches() (*groupCommit, *batches) {
	b := &batches{began: time.Now()}
	return newGroupCommit(1000, maxBatch, b), b
}

// put hands n ops to the group commit, which answers them later.
func put(t *testing.T, g *groupCommit, l lane, n int, run op) {
	t.Helper()
	for range n {
		go func() {
			if err := g.do(context.Background(), l, waiting{run: run}); err != nil {
				t.Error(err)
			}
		}()
	}
	synctest.Wait()
}

func TestABatchIsAllThatWaits(t *testing.T) {
	const us = time.Microsecond
	tests := map[string]struct {
		do    func(*testing.T, *groupCommit)
		sizes []int
		at    []time.Duration
	}{
		"who comes alone is committed at once, after a crowd, too": {
			func(t *testing.T, g *groupCommit) {
				put(t, g, laneIngest, 1, nothing)
				put(t, g, laneIngest, 60, nothing)
				time.Sleep(10 * time.Millisecond)
				put(t, g, laneIngest, 1, nothing)
			},
			[]int{1, 60, 1},
			[]time.Duration{0, time.Millisecond, 10 * time.Millisecond},
		},
		"what comes during a commit is the next batch": {
			func(t *testing.T, g *groupCommit) {
				put(t, g, laneIngest, 1, nothing)
				time.Sleep(100 * us)
				put(t, g, laneIngest, 5, nothing)
				time.Sleep(100 * us)
				put(t, g, LaneWork, 3, nothing)
			},
			[]int{1, 8},
			[]time.Duration{0, time.Millisecond},
		},
		"what waits at the end is written": {
			func(t *testing.T, g *groupCommit) {
				put(t, g, LaneWork, 1, nothing)
				put(t, g, laneIngest, 2, nothing)
				g.close()
			},
			[]int{1, 2},
			[]time.Duration{0, time.Millisecond},
		},
		"a batch has its limit": {
			func(t *testing.T, g *groupCommit) {
				put(t, g, laneIngest, 1, nothing)
				put(t, g, laneIngest, maxBatch+3, nothing)
			},
			[]int{1, maxBatch, 3},
			[]time.Duration{0, time.Millisecond, 2 * time.Millisecond},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, b := startBatches()
				tt.do(t, g)
				time.Sleep(10 * time.Millisecond)
				g.close() // again, for one of them
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
		put(t, g, laneIngest, 1, nothing)
		put(t, g, laneIngest, maxBatch, nothing)
		batch := 0
		put(t, g, LaneWork, 1, func(*Tx) error { batch = len(b.sizes); return nil })
		g.close()
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
		run := func(*Tx) error { <-hangs; ran++; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.do(ctx, laneIngest, waiting{run: run}); !errors.Is(err, ErrUnanswered) {
			t.Errorf("an event: %v", err)
		}
		outcome := make(chan error, 1)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		go func() { outcome <- g.do(context.WithoutCancel(ctx), LaneWork, waiting{run: nothing}) }()
		put(t, g, laneIngest, 3, nothing)
		close(hangs)
		if err := <-outcome; err != nil {
			t.Errorf("an outcome: %v", err)
		}
		g.close()
		if ran != 1 {
			t.Errorf("the event was stored %d times", ran)
		}
	})
}

func TestAnEventThatWaitsCanBeWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := startBatches()
		put(t, g, laneIngest, 1, nothing)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- g.do(ctx, laneIngest, waiting{run: nothing}) }()
		put(t, g, laneIngest, 1, nothing)
		cancel(errors.New("hung up"))
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(b.began) != 0 {
			t.Errorf("ended with %v after %s", err, time.Since(b.began))
		}
		g.close()
		if !slices.Equal(b.sizes, []int{1, 1}) {
			t.Errorf("batches of %v were run", b.sizes)
		}
	})
}
