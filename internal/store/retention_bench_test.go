package store_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

// BenchmarkBesideRetention asks what retention costs those who work beside it: webhooks at a constant rate, and sends, while
// rows of half a year leave, or not. ROWS sets how many there are.
func BenchmarkBesideRetention(b *testing.B) {
	rows, _ := strconv.Atoi(os.Getenv("ROWS"))
	if rows == 0 {
		rows = 50_000
	}
	const perSecond = 500
	for _, beside := range []string{"nothing", "retention"} {
		b.Run(beside, func(b *testing.B) {
			ctx := context.Background()
			s := benchOpen(b)
			fillOld(b, s, rows)
			done := make(chan privacy.RetentionRun, 1)
			var commits []time.Duration
			stop, cancel := context.WithCancel(ctx)
			if beside == "retention" {
				go func() {
					run, _ := privacy.Records{Store: s}.Retain(stop, privacy.Retention{
						Payloads: 24 * time.Hour, Decisions: 24 * time.Hour, Events: 24 * time.Hour, Messages: 24 * time.Hour,
						Rest: func(ctx context.Context, took time.Duration) error {
							commits = append(commits, took)
							select {
							case <-ctx.Done():
								return ctx.Err()
							case <-time.After(max(100*time.Millisecond, 9*took)):
								return nil
							}
						},
					}, benchNow.AddDate(1, 0, 0))
					done <- run
				}()
			}
			var mu sync.Mutex
			var took []time.Duration
			var all sync.WaitGroup
			sent := 0
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for n := 0; stop.Err() == nil; n++ {
					sent += sendSome(b, s)
				}
			}()
			b.ResetTimer()
			began := time.Now()
			for n := range b.N {
				due := began.Add(time.Duration(n) * time.Second / perSecond)
				time.Sleep(time.Until(due))
				all.Go(func() {
					if _, err := s.Accept(ctx, []messaging.Plan{benchPlan(int64(10_000_000+n), benchNow)}); err != nil {
						b.Error(err)
					}
					mu.Lock()
					took = append(took, time.Since(due))
					mu.Unlock()
				})
			}
			all.Wait()
			b.StopTimer()
			lasted := time.Since(began).Seconds()
			cancel()
			<-ended
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50_ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99_ms")
			b.ReportMetric(float64(sent)/lasted, "sends/s")
			if beside == "retention" {
				run := <-done
				n := int64(0)
				for _, one := range run.Removed {
					n += one
				}
				b.ReportMetric(float64(n)/lasted, "removed/s")
				slices.Sort(commits)
				b.ReportMetric(float64(commits[len(commits)/2].Microseconds())/1000, "commit_p50_ms")
				b.ReportMetric(float64(commits[len(commits)*99/100].Microseconds())/1000, "commit_p99_ms")
				b.ReportMetric(float64(len(commits))/lasted, "commits/s")
			}
		})
	}
}

// sendSome claims what is due and ends it.
func sendSome(b *testing.B, s *store.Store) int {
	due, err := s.Claim(context.Background(), messaging.ClaimRequest{Owner: "me", Now: benchNow.Add(time.Hour), Lease: time.Hour, Marketing: 32})
	if err != nil {
		b.Error(err)
	}
	var all sync.WaitGroup
	for i := range due {
		d := &due[i]
		all.Go(func() {
			m := &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(d.ID)), Phone: d.Phone, Category: d.Category, Status: "accepted", NextPollAt: benchNow.Add(time.Hour)}
			if err := s.Finish(context.Background(), messaging.Attempt{MessageID: d.ID, Owner: "me", Number: d.Attempt, State: messaging.StateAccepted, Message: m, At: benchNow}); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	if len(due) == 0 {
		time.Sleep(time.Millisecond)
	}
	return len(due)
}

// fillOld stores events with messages that ended.
func fillOld(b *testing.B, s *store.Store, rows int) {
	b.Helper()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for n := w * 64; n < rows; n += 8 * 64 {
				plans := make([]messaging.Plan, 0, 64)
				for i := range 64 {
					p := benchPlan(int64(n+i), benchNow)
					p.Event.ReceivedAt = benchNow
					plans = append(plans, p)
				}
				if _, err := s.Accept(context.Background(), plans); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	for {
		due, err := s.Claim(context.Background(), messaging.ClaimRequest{Owner: "fill", Now: benchNow.Add(time.Hour), Lease: time.Hour, Marketing: 512})
		if err != nil {
			b.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
		for i := range due {
			all.Go(func() {
				err := s.Finish(context.Background(), messaging.Attempt{MessageID: due[i].ID, Owner: "fill", Number: 1, State: messaging.StateRejected, Reason: "no", At: benchNow})
				if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
}
