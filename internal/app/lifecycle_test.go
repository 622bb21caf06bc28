package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// recorder notes the order in which parts end.
type recorder struct {
	mu    sync.Mutex
	ended []string
}

func (r *recorder) part(name string, end error) part {
	return part{name, func(ctx context.Context) error {
		<-ctx.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = append(r.ended, name)
		return end
	}}
}

func TestPartsStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- runParts(ctx, []part{r.part("a", nil), r.part("b", nil), r.part("c", nil)}, func(string, error) {}, nil)
		}()
		synctest.Wait()
		if len(r.ended) != 0 {
			t.Errorf("ended before the stop: %v", r.ended)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("a stop that was asked for returned %v", err)
		}
		if want := []string{"c", "b", "a"}; !slices.Equal(r.ended, want) {
			t.Errorf("ended %v, want %v", r.ended, want)
		}
	})
}

func TestAPartThatEndsByItselfStopsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		trouble := errors.New("disk on fire")
		err := runParts(t.Context(), []part{
			r.part("a", nil),
			{"b", func(context.Context) error { return trouble }},
			r.part("c", nil),
		}, func(string, error) {}, nil)
		if !errors.Is(err, trouble) || !errors.Is(err, errEndedEarly) {
			t.Errorf("runParts = %v, want the part's own error", err)
		}
		if want := []string{"c", "a"}; !slices.Equal(r.ended, want) {
			t.Errorf("ended %v, want %v", r.ended, want)
		}
	})
}

func TestTroubleWhileStoppingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		trouble := errors.New("could not flush")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := runParts(ctx, []part{r.part("a", trouble), r.part("b", nil)}, func(string, error) {}, nil); !errors.Is(err, trouble) {
			t.Errorf("runParts = %v, want %v", err, trouble)
		}
	})
}

// Parts that all take their whole grace end together: what is left after the turn of the first is told at once.
func TestAStopIsNoSumOfGraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string) part {
			return part{name, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(mostGrace + 5*time.Second) // and the words to the store behind it
				return nil
			}}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		var told [][]string
		err := runParts(ctx, []part{slow("a"), slow("b"), slow("c"), slow("d")}, func(string, error) {}, func(names []string) { told = append(told, names) })
		if took := time.Since(began); err != nil || took >= stopTime {
			t.Errorf("the stop took %v (%v), want less than %v", took, err, stopTime)
		}
		if len(told) != 1 || !slices.Equal(told[0], []string{"d", "a", "b", "c"}) {
			t.Errorf("told of %v", told)
		}
	})
}

// What never ends does not keep the process.
func TestAStopEndsWhateverItWaitsFor(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration // the stop
		exits int
	}{"a stop in time": {stopTime - time.Second, 0}, "one that hangs": {time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				exits, at := 0, time.Duration(0)
				began := time.Now()
				ended := Bound(ctx, zap.NewNop(), func(code int) { exits, at = exits+code, time.Since(began) })
				cancel()
				time.Sleep(tt.takes)
				ended()
				synctest.Wait()
				if exits != tt.exits || at > 30*time.Second {
					t.Errorf("%d exits, after %v; want %d", exits, at, tt.exits)
				}
			})
		})
	}
}
