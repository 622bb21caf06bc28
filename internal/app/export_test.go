package app

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/report"
)

// LateRules is what the daemon does once a minute for a while after a change of its config.
func (a *App) LateRules(ctx context.Context, now time.Time) error { return a.lateRules(ctx, now) }

// LookAtConfigFile does what the daemon does when the file was changed.
func LookAtConfigFile(a *App) { a.lookAtConfigFile(context.Background()) }

// LookForSilence does what the daemon does now and then.
func LookForSilence(a *App) { _ = a.lookForSilence(context.Background(), map[string]bool{}) }

// NoteTotals has the shares of failures counted as if it were at.
func NoteTotals(a *App, at time.Time) {
	totals, err := report.Records{Store: a.store}.Totals(context.Background())
	if err != nil {
		panic(err)
	}
	a.rates.noteTotals(totals, at)
}
