package app

import "github.com/nudgewire/nudgewire/store"

// StoreStats shows tests how many commits there were.
func (a *App) StoreStats() store.Stats { return a.store.Stats() }
