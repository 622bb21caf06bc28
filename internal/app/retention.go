package app

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

const (
	// retentionEvery is how often what is old is removed. A new config is taken up at the next look.
	retentionEvery = time.Hour
	retentionLook  = time.Minute
	// retentionShare of the time is for others: after each commit retention rests so many times as long as it took.
	retentionShare = 9
	retentionRest  = 100 * time.Millisecond // at the least
)

// watchRetention removes what is older than the config keeps, and gives the file's free space back. The first run comes a
// minute after the start, which has other work.
func (a *App) watchRetention(ctx context.Context) error {
	log := a.log.Named("retention")
	tick := time.NewTicker(retentionLook)
	defer tick.Stop()
	var last time.Time
	var by *config.Config
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		cfg := a.config()
		if cfg == by && time.Since(last) < retentionEvery {
			continue
		}
		last, by = time.Now(), cfg
		run, err := privacy.Records{Store: a.store}.Retain(ctx, retentionOf(cfg), a.store.Now())
		removed := zap.Any("removed", run.Removed)
		switch {
		case ctx.Err() != nil: // what is left goes after the next start
		case err != nil:
			log.Error("what is not kept any more could not be removed; it is tried again in an hour", removed, zap.Error(err))
		case len(run.Removed) > 0 || run.Freed > 0:
			log.Info("removed what is not kept any more", removed, zap.Int64("freed_bytes", run.Freed), zap.Duration("took", run.Took))
		}
	}
}

// retentionOf is what a config keeps, with rests that leave the store to others.
func retentionOf(cfg *config.Config) privacy.Retention {
	age := func(l triggers.Lifetime) time.Duration {
		if l.Off {
			return 0
		}
		return l.For
	}
	r := &cfg.Retention
	return privacy.Retention{
		Payloads: age(r.Payloads), Facts: age(r.Facts), Decisions: age(r.Decisions), Events: age(r.Events), Messages: age(r.Messages), Phones: age(r.Phones),
		Attempts: age(r.Attempts), RejectedRequests: age(r.RejectedRequests), WebhooksOut: age(r.WebhooksOut), Runs: age(r.Runs), Lists: r.Lists.D(), Rows: longestBack(cfg),
		Once: cfg.Triggers.Once, Ages: []func(*store.Tx, time.Time) error{auth.DropOldSessions, drift.DropOld}, Rest: restFor,
	}
}

// longestBack is how far back jobs look at who was messaged.
func longestBack(cfg *config.Config) (longest time.Duration) {
	for _, j := range cfg.Jobs {
		longest = max(longest, j.Exclude.MessagedWithin.D())
		if a := j.Audience(); a != nil {
			longest = max(longest, a.Back(triggers.OfMessages))
		}
	}
	return longest
}

// restFor waits some times as long as a commit took, or until ctx ends.
func restFor(ctx context.Context, took time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(max(retentionRest, retentionShare*took)):
		return nil
	}
}
