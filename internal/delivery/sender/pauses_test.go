package sender

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// A board keeps the trouble of an account for the senders of a test, which hear of changes a second later.
type board struct {
	mu   sync.Mutex
	is   pace.Halted
	away bool
	all  []*running
}

func (b *board) Paused() pace.Halted {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.is
}

func (b *board) Swap(_ context.Context, from, to pace.Halted) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return false, errors.New("the database is away")
	}
	if !b.is.Since.Equal(from.Since) || !b.is.Until.Equal(from.Until) {
		return false, nil
	}
	b.is = to
	for _, r := range b.all {
		time.AfterFunc(time.Second, r.Look)
	}
	return true, nil
}

func (s *service) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.questions)
}

// nodes starts n senders over the same store that share a board.
func (b *board) nodes(t *testing.T, n int, store *memory, api *service) {
	t.Helper()
	for range n {
		r := start(t, store, api, func(o *Options) { o.Pauses, o.Concurrency = Pauses{Account: b}, 2 })
		b.mu.Lock()
		b.all = append(b.all, r)
		b.mu.Unlock()
	}
}

// Three nodes and one refused key: hardly a call more than by one node, one at a time, whichever of them is lost. When the key is taken
// again all go on, and each message is sent once.
func TestNodesShareARefusedKey(t *testing.T) {
	for name, ends := range map[string]bool{"all live": false, "the one that tries ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refuses atomic.Bool
				refuses.Store(true)
				answer := func() error {
					time.Sleep(50 * time.Millisecond)
					if refuses.Load() {
						return refusal(apiclient.Rejected, 401, 0, "no")
					}
					return nil
				}
				api := &service{question: answer}
				api.answer = func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
					if err := answer(); err != nil {
						return apiclient.Answer{}, err
					}
					return accepts(n), nil
				}
				b, store := &board{}, newMemory(many(300, messaging.Marketing)...)
				b.nodes(t, 3, store, api)
				pass(2 * time.Second)
				wave := len(api.made())
				if wave == 0 || wave > 3*2*2 {
					t.Fatalf("%d calls before all knew, want at most those of a second", wave)
				}
				for i, r := range b.all {
					if s := r.Stats(); s.Halt().Cause != string(apiclient.TroubleKey) || s.Halt().NextProbe != haltOf(b.all[0]).NextProbe {
						t.Errorf("node %d: %q until %v", i, s.Halt().Cause, s.Halt().NextProbe)
					}
				}
				if ends {
					b.all[0].stop()
				}
				pass(10 * time.Minute)
				if n := len(api.made()); n != wave {
					t.Errorf("%d messages were risked though questions are refused", n-wave)
				}
				// 5, 10, 20, 40, 80, 160 and 300 seconds apart, for all of them together.
				if n := api.asked(); n < 5 || n > 8 {
					t.Errorf("%d questions in ten minutes", n)
				}
				refuses.Store(false)
				pass(10 * time.Minute)
				if n := store.in(messaging.StateAccepted); n != 300 || len(api.made()) != 300+wave {
					t.Errorf("%d accepted, %d calls after the wave of %d", n, len(api.made()), wave)
				}
				for i, r := range b.all {
					if s := r.Stats(); len(s.Halts) > 0 {
						t.Errorf("node %d is still halted: %s", i, s.Halt().Why)
					}
				}
				if (b.Paused() != pace.Halted{}) {
					t.Errorf("kept: %+v", b.Paused())
				}
			})
		})
	}
}

// A node that holds the turn is lost in the middle of its call: another one tries when the turn is over.
func TestATurnThatIsLostIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		b := &board{is: pace.Halted{Cause: "points", Why: "none", Since: now.Add(-time.Minute).UTC(), Until: now.Add(20 * time.Second).UTC(), Strikes: 2}}
		store, api := newMemory(many(50, messaging.Marketing)...), &service{}
		b.nodes(t, 2, store, api) // a start tries at once
		pass(5 * time.Second)
		if n := store.in(messaging.StateAccepted); n != 50 {
			t.Fatalf("%d accepted after a start, want all", n)
		}
		for _, r := range b.all {
			r.Look()
		}
		store.add(many(20, messaging.Marketing)...)
		now = time.Now()
		b.mu.Lock()
		b.is = pace.Halted{Cause: "points", Why: "none", Since: now.UTC(), Until: now.Add(25 * time.Second).UTC(), Strikes: 1} // the turn of one that is dead
		b.mu.Unlock()
		for _, r := range b.all {
			r.Look()
			r.Wake(time.Time{})
		}
		pass(24 * time.Second)
		if n := store.in(messaging.StateAccepted); n != 50 {
			t.Errorf("%d were sent in the turn of another one", n-50)
		}
		pass(5 * time.Second)
		if n := store.in(messaging.StateAccepted); n != 70 || len(api.made()) != 70 {
			t.Errorf("%d accepted, %d calls", n, len(api.made()))
		}
	})
}

// While nobody can be told nothing is tried, and what was learned is told when that ends.
func TestNothingIsTriedWhileNobodyCanBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: fails(-1, refusal(apiclient.Rejected, 401, 0, "no"))}
		b := &board{away: true}
		b.nodes(t, 1, newMemory(many(50, messaging.Marketing)...), api)
		pass(time.Minute)
		if n, q := len(api.made()), api.asked(); n > 4 || q != 0 {
			t.Errorf("%d calls and %d questions", n, q)
		}
		b.mu.Lock()
		b.away = false
		b.mu.Unlock()
		pass(11 * time.Second) // claims failed, too, and rest for as long
		if b.Paused().Cause != "key" {
			t.Errorf("kept: %+v", b.Paused())
		}
	})
}
