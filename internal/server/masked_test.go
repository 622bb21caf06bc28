package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// BenchmarkAnswers is what a page of a list costs as JSON, for who may see phones and for who may not.
func BenchmarkAnswers(b *testing.B) {
	at := time.Date(2026, 11, 22, 14, 2, 0, 123456789, time.UTC)
	var messages []server.MessageView
	var events []server.EventView
	for i := range 50 {
		messages = append(messages, server.MessageView{
			MessageStory: store.MessageStory{Message: messaging.Message{
				ID: messaging.MessageID(i + 1), EventID: messaging.EventID(i + 1), Trigger: "abandoned-cart", Key: "cart-81", Phone: "447700900123", Category: "marketing",
				State: messaging.StateAccepted, Reason: "the customer bought it: order 1001", CreatedAt: at, DueAt: at, UpdatedAt: at, Attempt: 1, ServiceID: "100287", Status: "delivered",
				AcceptedAt: at, SentAt: at, DeliveredAt: at,
			}}, What: `template "cart_reminder"`,
		})
		events = append(events, server.EventView{
			ID: messaging.EventID(i + 1), Event: "shopify.cart.updated", Topic: "carts/update", Phone: "447700900123", OccurredAt: at, ReceivedAt: at, DedupeKey: fmt.Sprint("cart-", i),
			Decisions: []messaging.Decision{{
				Trigger: "abandoned-cart", Outcome: messaging.Skipped, Reason: "cart.total >= 50 does not hold (cart.total = 12.00)", Key: "cart-81", Config: "7f3a91c2", At: at,
				Clauses: []messaging.Clause{{Text: "cart.total >= 50", Values: []messaging.Value{{Name: "cart.total", Value: "12.00"}}}},
			}},
		})
	}
	for name, v := range map[string]any{"messages": messages, "events": events} {
		for who, scopes := range map[string][]access.Scope{"viewer": {access.Read}, "whole": access.Scopes} {
			b.Run(name+"/"+who, func(b *testing.B) {
				ctx := access.WithWho(context.Background(), access.Who{Scopes: scopes})
				b.ReportAllocs()
				for b.Loop() {
					if _, err := json.Marshal(server.Seen(ctx, v)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// What a list says stands in the words of a run; who may not see phones is told the words without it.
func TestWhoMaySeeNoPhonesSeesNoCells(t *testing.T) {
	words := map[string]string{"reason": "the source has no column \"phone\"; the source has " + lists.Names([]string{"NAME=yes", "root:x:0"})}
	for scope, seen := range map[access.Scope]bool{access.Read: false, access.Phones: true} {
		ctx := access.WithWho(t.Context(), access.Who{Name: "crm", Scopes: []access.Scope{access.Read, scope}, From: access.FromToken})
		text, err := json.Marshal(server.Seen(ctx, words))
		if err != nil || strings.Contains(string(text), "NAME=yes") != seen || strings.Contains(string(text), "root:x") != seen || !strings.Contains(string(text), "no column") {
			t.Errorf("scope %s is shown %s (%v)", scope, text, err)
		}
	}
}
