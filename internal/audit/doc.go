// Package audit reads who ordered what, and who was told of whom, and finds what somebody changed of it. Entries are added by the store in the
// transaction of what they tell of (internal/store/chain).
package audit

import "github.com/nudgewire/nudgewire/internal/store"

// Records are the audit, as the store has it.
type Records struct{ *store.Store }
