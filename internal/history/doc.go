// Package history tells what happened to an event and a phone, as people ask for it: each event with what every trigger said and the
// messages that came of it, requests that were not taken, and the configs that decided, which it keeps.
package history

import "github.com/nudgewire/nudgewire/internal/store"

// Records are what happened, as the store has it.
type Records struct{ *store.Store }
