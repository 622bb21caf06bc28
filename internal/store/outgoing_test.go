package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A message's life in the store, with nobody and with somebody to tell.
func BenchmarkToldMessages(b *testing.B) {
	for name, tells := range map[string]func(string, string) []string{
		"nobody": func(string, string) []string { return nil },
		"statuses": func(about, _ string) []string {
			if about == messaging.AboutMessage {
				return []string{"crm"}
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(b.Context(), Options{DSN: "sqlite:" + b.TempDir() + "/n.db", Tells: tells, Settle: func(p messaging.Proposal, _ messaging.Facts) messaging.Settlement {
				return messaging.Settlement{Outcome: p.Decision.Outcome, Insert: true}
			}})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			now := time.Now()
			const atOnce = 64
			must := func(err error) {
				if err != nil {
					b.Error(err)
				}
			}
			all := func(do func(int)) {
				done := make(chan struct{}, atOnce)
				for i := range atOnce {
					go func() { do(i); done <- struct{}{} }()
				}
				for range atOnce {
					<-done
				}
			}
			n := 0
			for b.Loop() {
				plans := make([]messaging.Plan, atOnce)
				for i := range plans {
					n++
					phone := messaging.Phone(fmt.Sprintf("4477%08d", n))
					plans[i] = messaging.Plan{
						Event: messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: fmt.Sprint(n), ReceivedAt: now},
						Proposals: []messaging.Proposal{{
							Decision: messaging.Decision{Trigger: "cart", Outcome: messaging.Planned, At: now}, Correlation: messaging.Correlation{Trigger: "cart", Key: fmt.Sprint(n), Phone: phone},
							Message: messaging.Message{Phone: phone, Category: messaging.Utility, DueAt: now, CreatedAt: now, Send: messaging.Send{Template: "t", Language: "en"}},
						}},
					}
				}
				_, err := s.Accept(b.Context(), plans)
				must(err)
				got, err := s.Claim(b.Context(), messaging.ClaimRequest{Owner: "me", Now: now.Add(time.Hour), Lease: 2 * time.Hour, Authentication: atOnce, Utility: atOnce})
				must(err)
				all(func(i int) {
					d := &got[i]
					must(s.Finish(b.Context(), messaging.Attempt{
						MessageID: d.ID, Owner: "me", Number: d.Attempt, State: messaging.StateAccepted, At: now,
						Message: &messaging.Message{ServiceID: "1", Phone: d.Phone, Category: d.Category, Status: messaging.StatusAccepted, NextPollAt: now},
					}))
				})
				all(func(i int) {
					must(s.FinishPoll(b.Context(), messaging.Poll{MessageID: got[i].ID, Status: messaging.StatusDelivered, At: now, Final: true}))
				})
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*atOnce), "µs/message")
		})
	}
}
