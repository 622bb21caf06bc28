package pace

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A line is a lessor with a clock of its own and a way to it that takes time.
type line struct {
	mu    sync.Mutex
	next  time.Time
	skew  time.Duration
	takes time.Duration
	gone  bool
	asked int
}

func (l *line) Lease(ctx context.Context, n int, every time.Duration) (Lease, error) {
	time.Sleep(l.takes)
	l.mu.Lock()
	if l.asked++; l.gone {
		l.mu.Unlock()
		<-ctx.Done()
		return Lease{}, ctx.Err()
	}
	clock := time.Now().Add(l.skew)
	if l.next.Before(clock) {
		l.next = clock
	}
	out := Lease{First: l.next, Clock: clock}
	l.next = l.next.Add(time.Duration(n) * every)
	l.mu.Unlock()
	time.Sleep(l.takes)
	return out, nil
}

func (l *line) set(gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = gone
}

// node is one process: workers that send as fast as they may, and the times at which they did.
type node struct {
	*Budget
	mu   sync.Mutex
	sent []time.Time
}

func startNode(ctx context.Context, wg *sync.WaitGroup, l Lessor, perSecond float64, workers int) *node {
	n := &node{Budget: NewBudget(perSecond)}
	n.Share(l)
	wg.Go(func() { _ = n.Run(ctx) })
	for range workers {
		wg.Go(func() {
			for n.Wait(ctx, Send, time.Time{}) == nil {
				n.mu.Lock()
				n.sent = append(n.sent, time.Now())
				n.mu.Unlock()
			}
		})
	}
	return n
}

func (n *node) times() []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sent)
}

// most is how many of the times lie in any one second.
func most(times []time.Time) (n int) {
	slices.SortFunc(times, time.Time.Compare)
	for i, from := 0, 0; i < len(times); i++ {
		for times[i].Sub(times[from]) >= time.Second {
			from++
		}
		n = max(n, i-from+1)
	}
	return n
}

func TestManyProcessesShareOneRate(t *testing.T) {
	for name, tt := range map[string]struct {
		perSecond float64
		nodes     int
		takes     time.Duration
		skew      time.Duration
	}{
		"one alone has all":         {100, 1, time.Millisecond, 0},
		"two":                       {100, 2, time.Millisecond, time.Hour},
		"five, another clock":       {20, 5, 3 * time.Millisecond, -time.Hour},
		"fast":                      {2000, 3, time.Millisecond, 0},
		"slower than one a second":  {0.5, 2, time.Millisecond, 0},
		"a database that is far":    {100, 2, 20 * time.Millisecond, 0},
		"one alone, slow and alone": {0.2, 1, time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				l := &line{takes: tt.takes, skew: tt.skew}
				var all []*node
				for range tt.nodes {
					all = append(all, startNode(ctx, &wg, l, tt.perSecond, 64))
				}
				const lasted = 20 * time.Second
				time.Sleep(lasted)
				stop()
				wg.Wait()
				var times []time.Time
				for i, n := range all {
					if share := tt.perSecond * lasted.Seconds() / float64(tt.nodes); float64(len(n.sent)) < share/2-1 {
						t.Errorf("process %d sent %d, of a share of %v", i, len(n.sent), share)
					}
					times = append(times, n.sent...)
				}
				want := tt.perSecond * lasted.Seconds()
				if got := float64(len(times)); got < 0.95*want-2 || got > want+1 {
					t.Errorf("%v requests in %v, want about %v", got, lasted, want)
				}
				if got := most(times); float64(got) > tt.perSecond*(1+burstWindow)+1 {
					t.Errorf("%d requests in one second, of a rate of %v", got, tt.perSecond)
				}
			})
		})
	}
}

func TestAProcessWithoutItsLessorStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		l := &line{takes: time.Millisecond}
		a, b := startNode(ctx, &wg, l, 100, 8), startNode(ctx, &wg, l, 100, 8)
		time.Sleep(3 * time.Second)
		l.set(true)
		cut := time.Now()
		time.Sleep(10 * time.Second)
		for _, n := range []*node{a, b} {
			times := n.times()
			if last := times[len(times)-1].Sub(cut); last > 500*time.Millisecond {
				t.Errorf("a process went on for %v", last)
			}
			if room, again := n.Room(Send, 250*time.Millisecond); room != 0 || time.Until(again) <= 0 {
				t.Errorf("Room() = %d, again in %v", room, time.Until(again))
			}
			if err := n.Wait(ctx, Send, time.Now().Add(time.Second)); !errors.Is(err, ErrTooLate) {
				t.Errorf("Wait() = %v, want ErrTooLate", err)
			}
		}
		l.mu.Lock()
		if l.asked > 700 {
			t.Errorf("asked %d times", l.asked)
		}
		l.mu.Unlock()
		l.set(false)
		back := time.Now()
		time.Sleep(3 * time.Second)
		stop()
		wg.Wait()
		times := slices.Concat(a.sent, b.sent)
		if got := most(times); got > 102 {
			t.Errorf("%d requests in one second", got)
		}
		if n := slices.IndexFunc(times, func(at time.Time) bool { return at.After(back.Add(1500 * time.Millisecond)) }); n < 0 {
			t.Error("nothing was sent once the lessor was back")
		}
	})
}

// While a kind is held back, its requests take no times from other processes.
func TestAPausedProcessLeasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		l := &line{takes: time.Millisecond}
		a, b := startNode(ctx, &wg, l, 100, 8), startNode(ctx, &wg, l, 100, 8)
		time.Sleep(time.Second)
		a.Slow(Send, time.Now(), time.Minute)
		time.Sleep(time.Second)
		before := len(b.times())
		time.Sleep(10 * time.Second)
		if got := len(b.times()) - before; got < 950 {
			t.Errorf("the other process sent %d in ten seconds, want about 1000", got)
		}
		stop()
		wg.Wait()
	})
}

// Where nobody waits any more, Room tells the truth about times that come later.
func TestRoomOfASharedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		l := &line{takes: time.Millisecond}
		n := startNode(ctx, &wg, l, 0.5, 0)
		if room, _ := n.Room(Send, 250*time.Millisecond); room != 1 {
			t.Errorf("Room() = %d at first, want 1", room)
		}
		if err := n.Wait(ctx, Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		room, again := n.Room(Send, 250*time.Millisecond)
		if wait := time.Until(again); room != 0 || wait < time.Second || wait > 2*time.Second {
			t.Errorf("Room() = %d, again in %v; want 0 and a bit less than 2s", room, wait)
		}
		time.Sleep(time.Until(again) + 10*time.Millisecond)
		if room, _ := n.Room(Send, 250*time.Millisecond); room != 1 {
			t.Errorf("Room() = %d when it was said to be time, want 1", room)
		}
		n.SetRate(50)
		if room, _ := n.Room(Send, 250*time.Millisecond); room < 5 {
			t.Errorf("Room() = %d at a new rate", room)
		}
		n.SetRate(0)
		if err := n.Wait(ctx, Send, time.Time{}); err != nil {
			t.Fatal(err)
		}
		stop()
		wg.Wait()
	})
}
