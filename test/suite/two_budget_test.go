package suite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// both claims by both nodes at once, ten times, and gives what they got.
func both(t *testing.T, at time.Time, nodes ...*ledger) (got []messaging.Message) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, l := range nodes {
		wg.Go(func() {
			for range 10 {
				rows, err := l.Claim(l.ctx, messaging.ClaimRequest{
					Owner: fmt.Sprint("node ", i), Now: at, Lease: time.Minute, Authentication: 2, Utility: 2, Marketing: 2,
				})
				mu.Lock()
				if got = append(got, rows...); err != nil {
					t.Errorf("claim: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return got
}

// nodeLimits holds that what is counted is counted over all nodes, also while they claim at once.
func (p pair) nodeLimits(t *testing.T) {
	at := noon.Add(time.Hour)
	t.Run("contacts of an account", func(t *testing.T) {
		a, b := p.two(t)
		for _, l := range []*ledger{a, b} {
			l.ruleBy(unique{most: 7, within: 24 * time.Hour})
		}
		for i := range 40 {
			a.enqueue(fmt.Sprint("new ", i), contact(i))
		}
		got := both(t, at, a, b)
		same(t, "claimed by both", 7, len(got))
		for i := range got {
			a.mustFinish(a.message(got[i].ID), messaging.StateAccepted)
		}
		same(t, "once they were sent", 0, len(both(t, at.Add(11*time.Minute), a, b)))
	})
	t.Run("the rate of a trigger", func(t *testing.T) {
		a, b := p.two(t)
		for _, l := range []*ledger{a, b} {
			l.ruleBy(paced{most: map[string]int64{"cart": 5}})
		}
		for i := range 30 {
			a.enqueue(fmt.Sprint("cart ", i), trigger("cart"), contact(i))
		}
		same(t, "claimed by both", 5, len(both(t, at, a, b)))
		same(t, "in the next hour", 5, len(both(t, at.Add(61*time.Minute), a, b)))
	})
}

// nodeRate holds that the times of requests are given away once, by the clock of the database.
func (p pair) nodeRate(t *testing.T) {
	a, b := p.two(t)
	const every = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lease := func(l *ledger, name string, n int) pace.Lease {
		got, err := l.Account(name, 0).Lease(ctx, n, every)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if !a.Shares() {
		t.Fatal("the rate is not shared")
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	taken := map[time.Time]bool{}
	for _, l := range []*ledger{a, b, a, b} {
		wg.Go(func() {
			for range 10 {
				got := lease(l, "", 3)
				mu.Lock()
				for i := range 3 {
					at := got.First.Add(time.Duration(i) * every)
					if taken[at] || got.First.Before(got.Clock.Add(-time.Second)) {
						t.Errorf("%v was given away twice, or late", at)
					}
					taken[at] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var first, last time.Time
	for at := range taken {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if len(taken) != 120 || last.Sub(first) < 119*every {
		t.Errorf("%d times within %v", len(taken), last.Sub(first))
	}
	if other := lease(b, "other", 1); other.First.Sub(other.Clock) > time.Millisecond {
		t.Errorf("another account waits for %v", other.First.Sub(other.Clock))
	}
}
