package store_test

import (
	"context"
	"time"

	_ "github.com/nudgewire/nudgewire/internal/alerts"
	_ "github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/contacts"
	_ "github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/history"
	_ "github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

// The statements of features stand in folders above this one. What holds for all statements is tested here for theirs, too.
func init() {
	store.FeatureReads = append(store.FeatureReads, func(ctx context.Context, s *store.Store) error {
		_, err := history.Records{Store: s}.Story(ctx, "447700900123", 5)
		return err
	}, func(ctx context.Context, s *store.Store) error {
		known := contacts.Records{Store: s}
		_, err := known.KnownContact(ctx, "447700900123")
		if err == nil {
			_, err = known.FindContacts(ctx, "1")
		}
		if err == nil {
			_, err = known.ReadContacts(ctx, nil)
		}
		return err
	}, func(ctx context.Context, s *store.Store) error {
		const year = 365 * 24 * time.Hour
		_, err := privacy.Records{Store: s}.Retain(ctx, privacy.Retention{
			Payloads: year, Facts: year, Decisions: year, Events: year, Messages: year, Phones: year, Attempts: year, RejectedRequests: year,
			Runs: year, Lists: year, WebhooksOut: year, Once: func(string, bool) bool { return true },
		}, time.Now().Add(3*year))
		return err
	})
}
