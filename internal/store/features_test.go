package store_test

import (
	"context"
	"time"

	_ "github.com/nudgewire/nudgewire/internal/alerts"
	_ "github.com/nudgewire/nudgewire/internal/auth"
	_ "github.com/nudgewire/nudgewire/internal/delivery/enricher"
	_ "github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

// The statements of features stand in folders above this one. What holds for all statements is tested here for theirs, too.
func init() {
	store.FeatureReads = append(store.FeatureReads, func(ctx context.Context, s *store.Store) error {
		const year = 365 * 24 * time.Hour
		_, err := privacy.Records{Store: s}.Retain(ctx, privacy.Retention{
			Payloads: year, Facts: year, Decisions: year, Events: year, Messages: year, Phones: year, Attempts: year, RejectedRequests: year,
			Runs: year, Lists: year, WebhooksOut: year, Once: func(string, bool) bool { return true },
		}, time.Now().Add(3*year))
		return err
	})
}
