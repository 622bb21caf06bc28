package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// The benchmarks answer one question each about the promises of design.md: what a commit
// costs when many share it, and whether history makes anything slower. Numbers are only
// worth comparing within one run on one machine.

const benchCallers = 64

var benchNow = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

var benchPayload = []byte(`{"id":"c0ffee","currency":"EUR","line_items":[` + strings.TrimSuffix(strings.Repeat(`{"title":"Enamel mug, 350 ml","quantity":1,"price":"18.50","sku":"MUG-350-BLUE","vendor":"Potters & Sons"},`, 18), ",") + `]}`)

// benchPlan is a cart with one decision and one message.
func benchPlan(n int64, due time.Time) messaging.Plan {
	phone := messaging.Phone(fmt.Sprintf("4477%08d", n%100_000_000))
	key := fmt.Sprintf("cart-%d", n)
	return messaging.Plan{
		Event: messaging.Event{
			Connector: "shopify", Kind: "cart.updated", Topic: "carts/update", DedupeKey: fmt.Sprintf("webhook-%d", n),
			OccurredAt: benchNow, ReceivedAt: benchNow.Add(time.Duration(n) * time.Millisecond),
			Contact: messaging.Contact{Phone: phone, FirstName: "Ana", LastName: "Example", Email: "ana@example.com", Country: "GB"},
			Cart:    messaging.Cart{ID: key, Total: messaging.AmountOf(74), Currency: "EUR", Items: []messaging.Item{{Title: "Enamel mug", Quantity: 4}}},
			Payload: benchPayload, ContentType: "application/json",
		},
		Proposals: []messaging.Proposal{{
			Decision: messaging.Decision{
				Trigger: "abandoned-cart", Outcome: messaging.Planned, Reason: "waits 45m", Key: key, Config: "a1b2c3d4", At: benchNow,
				Clauses: []messaging.Clause{{Text: "cart.total >= 50", Held: true, Values: []messaging.Value{{Name: "cart.total", Value: "74"}}}},
			},
			Correlation: messaging.Correlation{Trigger: "abandoned-cart", Key: key, Phone: phone},
			Message: messaging.Message{
				Trigger: "abandoned-cart", Key: key, Phone: phone, Category: messaging.Marketing, DueAt: due, ExpiresAt: due.Add(6 * time.Hour), Config: "a1b2c3d4",
				Send: messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"Ana", "Enamel mug", "https://shop.example.com/cart/c0ffee"}},
			},
		}},
	}
}

func always(w messaging.Proposal, _ messaging.Facts) messaging.Settlement {
	return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: w.Decision.Outcome == messaging.Planned}
}

func benchOpen(b *testing.B) *store.Store {
	b.Helper()
	return benchOpenAt(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"))
}

func benchOpenAt(b *testing.B, dsn string) *store.Store {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{DSN: dsn, Settle: always, Now: func() time.Time { return benchNow }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// together runs do b.N times from a number of callers.
func together(b *testing.B, callers int, do func(n int64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_s")
}

func BenchmarkAccept(b *testing.B) { accepts(b, benchOpen) }

func accepts(b *testing.B, open func(*testing.B) *store.Store) {
	b.Helper()
	for _, callers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("%dcallers", callers), func(b *testing.B) {
			s := open(b)
			ctx := context.Background()
			b.ReportAllocs()
			together(b, callers, func(n int64) error {
				_, err := s.Accept(ctx, []messaging.Plan{benchPlan(n, benchNow)})
				return err
			})
			b.ReportMetric(float64(s.Stats().Operations)/float64(s.Stats().Batches), "ops/commit")
		})
	}
}

// BenchmarkAcceptOneCommitEach is the design without the group: callers in turn, an fsync each.
func BenchmarkAcceptOneCommitEach(b *testing.B) {
	s := benchOpen(b)
	var turn sync.Mutex
	together(b, benchCallers, func(n int64) error {
		turn.Lock()
		defer turn.Unlock()
		_, err := s.Accept(context.Background(), []messaging.Plan{benchPlan(n, benchNow)})
		return err
	})
}

// fill stores n events with a message each, due at due.
func fill(b *testing.B, s *store.Store, n, from int, due time.Time) {
	b.Helper()
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				last := next.Add(100)
				if last > int64(from+n) {
					return
				}
				plans := make([]messaging.Plan, 100)
				for i := range plans {
					plans[i] = benchPlan(last-int64(i), due)
					plans[i].Event.Payload = benchPayload[:100]
				}
				if _, err := s.Accept(context.Background(), plans); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkClaimFinish(b *testing.B) {
	s := benchOpen(b)
	fill(b, s, (b.N+200)/100*100, 0, benchNow)
	now := benchNow.Add(time.Second)
	together(b, benchCallers, func(n int64) error {
		got, err := s.Claim(context.Background(), messaging.ClaimRequest{Owner: "bench", Now: now, Lease: time.Minute, Marketing: 1})
		if err != nil || len(got) != 1 {
			return fmt.Errorf("claimed %d: %w", len(got), err)
		}
		return s.Finish(context.Background(), benchAttempt(got[0], now))
	})
	b.ReportMetric(float64(s.Stats().Operations)/float64(s.Stats().Batches), "ops/commit")
}

func BenchmarkSends(b *testing.B) { sends(b, benchOpen(b)) }

// sends claims as a sender does, many at once, and finishes each by itself.
func sends(b *testing.B, s *store.Store) {
	b.Helper()
	fill(b, s, (b.N+200)/100*100, 0, benchNow)
	now := benchNow.Add(time.Second)
	next := inTurn(func() ([]messaging.Message, error) {
		return s.Claim(context.Background(), messaging.ClaimRequest{Owner: "bench", Now: now, Lease: time.Minute, Marketing: 128})
	})
	together(b, benchCallers, func(int64) error {
		d, err := next()
		if err != nil {
			return err
		}
		return s.Finish(context.Background(), benchAttempt(d, now))
	})
}

// inTurn hands out one by one what is claimed many at once.
func inTurn[T any](claim func() ([]T, error)) func() (T, error) {
	var mu sync.Mutex
	var held []T
	return func() (one T, err error) {
		mu.Lock()
		defer mu.Unlock()
		if len(held) == 0 {
			if held, err = claim(); err != nil || len(held) == 0 {
				return one, fmt.Errorf("claimed %d: %w", len(held), err)
			}
		}
		one, held = held[0], held[1:]
		return one, nil
	}
}

func benchAttempt(d messaging.Message, now time.Time) messaging.Attempt {
	return messaging.Attempt{
		MessageID: d.ID, Owner: "bench", Number: d.Attempt, State: messaging.StateAccepted, At: now, Answer: `{"message_id":1}`,
		Message: &messaging.Message{
			ServiceID: messaging.ServiceID(fmt.Sprintf("%d", 90071992547409930+int64(d.ID))), Phone: d.Phone, Category: d.Category, NextPollAt: now,
		},
	}
}

// What an open page of fifty messages that failed asks every three seconds, beside the senders.
func BenchmarkPlanOfRetries(b *testing.B) {
	s := benchOpen(b)
	fill(b, s, 100, 0, benchNow)
	now := benchNow.Add(time.Second)
	lost, err := s.Claim(b.Context(), messaging.ClaimRequest{Owner: "bench", Now: now, Lease: time.Hour, Marketing: 50})
	var of []messaging.MessageID
	for _, d := range lost {
		of = append(of, d.ID)
		err = errors.Join(err, s.Finish(b.Context(), messaging.Attempt{MessageID: d.ID, Owner: "bench", Number: d.Attempt, State: messaging.StateRejected, At: now, Words: "no such template"}))
	}
	for b.Loop() {
		var plan []store.Again
		if plan, err = s.RetryEach(b.Context(), store.Retry{Of: of, Now: now, DryRun: true}); err != nil || len(plan) != 50 || !plan[0].Goes {
			b.Fatalf("%d messages, %v, %v", len(plan), plan, err)
		}
	}
}

func BenchmarkPolls(b *testing.B) { polls(b, benchOpen(b)) }

func polls(b *testing.B, s *store.Store) {
	b.Helper()
	fill(b, s, (b.N+200)/100*100, 0, benchNow)
	now := benchNow.Add(time.Second)
	drain(b, s, now)
	next := inTurn(func() ([]messaging.Message, error) { return s.ClaimPolls(context.Background(), now, time.Hour, 128) })
	together(b, benchCallers, func(int64) error {
		m, err := next()
		if err != nil {
			return err
		}
		return s.FinishPoll(context.Background(), messaging.Poll{MessageID: m.ID, Status: messaging.StatusSent, At: now, NextPollAt: now.Add(time.Hour)})
	})
}

// drain claims and finishes all that is due.
func drain(b *testing.B, s *store.Store, now time.Time) {
	b.Helper()
	for {
		got, err := s.Claim(context.Background(), messaging.ClaimRequest{Owner: "bench", Now: now, Lease: time.Hour, Marketing: 256})
		if err != nil {
			b.Fatal(err)
		}
		if len(got) == 0 {
			return
		}
		var wg sync.WaitGroup
		for _, d := range got {
			wg.Go(func() {
				if err := s.Finish(context.Background(), benchAttempt(d, now)); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
