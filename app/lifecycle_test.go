package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
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
			done <- runParts(ctx, []part{r.part("a", nil), r.part("b", nil), r.part("c", nil)}, func(string, error) {})
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
		}, func(string, error) {})
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
		if err := runParts(ctx, []part{r.part("a", trouble), r.part("b", nil)}, func(string, error) {}); !errors.Is(err, trouble) {
			t.Errorf("runParts = %v, want %v", err, trouble)
		}
	})
}
