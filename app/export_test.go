package app

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/store"
)

// StoreStats shows tests how many commits there were.
func (a *App) StoreStats() store.Stats { return a.store.Stats() }

// LateRules is what the daemon does once a minute for a while after a change of its config.
func (a *App) LateRules(ctx context.Context, now time.Time) error { return a.lateRules(ctx, now) }

// LookAtConfigFile does what the daemon does when the file was changed.
func LookAtConfigFile(a *App) { a.lookAtConfigFile() }
