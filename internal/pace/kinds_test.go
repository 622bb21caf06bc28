package pace

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Trouble of one kind of request slows that kind alone: each class against trouble of each kind.
func TestTroubleOfOneKindSlowsThatKindAlone(t *testing.T) {
	names := map[Class]string{Send: "sends", Urgent: "urgent sends", MostUrgent: "the most urgent sends", Poll: "status questions", Upload: "uploads"}
	for troubled, of := range names {
		for c, name := range names {
			for _, configured := range []float64{200, 0} {
				t.Run(name+" while "+of+" fail", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := NewBudget(configured)
						ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
						defer stop()
						var wg sync.WaitGroup
						defer wg.Wait()
						for range 16 { // who meets the trouble, again and again
							wg.Go(func() {
								for b.Wait(ctx, troubled, time.Time{}) == nil {
									began := time.Now()
									time.Sleep(20 * time.Millisecond)
									b.Slow(troubled, began, time.Second)
								}
							})
						}
						time.Sleep(time.Second)
						// A hundred a second, for a minute.
						slowest, began := time.Duration(0), time.Now()
						for range 6000 {
							asked := time.Now()
							if b.Wait(ctx, c, time.Time{}) != nil {
								break
							}
							slowest = max(slowest, time.Since(asked))
							time.Sleep(10 * time.Millisecond)
						}
						took := time.Since(began)
						if c.kind() == troubled.kind() {
							if took < time.Minute+30*time.Second {
								t.Errorf("6000 took %v, want far longer", took)
							}
							return
						}
						if took > time.Minute+3*time.Second || slowest > 20*time.Millisecond {
							t.Errorf("6000 took %v, and one waited %v", took, slowest)
						}
					})
				})
			}
		}
	}
}

// When the pace is cut, who would wait long is sent away at once, so that claims go back; who has all
// the time stays, and so do status questions.
func TestACutSendsAwayWhoWouldWaitLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(20)
		begin := time.Now()
		var mu sync.Mutex
		gone := map[Class]int{}
		var wg sync.WaitGroup
		for _, c := range []Class{Send, Urgent, MostUrgent, Poll, Upload} {
			for range 40 {
				wg.Go(func() {
					if b.Wait(t.Context(), c, begin.Add(30*time.Second)) != nil && time.Since(begin) < 2*time.Second {
						mu.Lock()
						gone[c]++
						mu.Unlock()
					}
				})
			}
		}
		var patient int
		for range 5 {
			wg.Go(func() {
				if b.Wait(t.Context(), Upload, time.Time{}) == nil {
					mu.Lock()
					patient++
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Second)
		b.Slow(Send, time.Now(), 0)
		synctest.Wait()
		mu.Lock()
		if gone[Send] < 36 || gone[Urgent] < 15 || gone[Poll] != 0 || gone[Upload] != 0 {
			t.Errorf("sent away by the cut: %v", gone)
		}
		mu.Unlock()
		b.Dismiss(Send, Urgent, MostUrgent)
		synctest.Wait()
		mu.Lock()
		if gone[Send] < 38 || gone[Poll] != 0 {
			t.Errorf("sent away in all: %v", gone)
		}
		mu.Unlock()
		wg.Wait()
		if patient != 5 {
			t.Errorf("%d of 5 patient ones left", patient)
		}
	})
}
