// Package report adds up what people look at as numbers: what happened by the hour and by the day, what waits for each of the
// next days, and what is in doubt or behind. It writes nothing. What is counted, and when, is the store's matter
// (internal/store/tally/hours.go): counts are added up in the commit that knows of what happened.
package report

import "github.com/nudgewire/nudgewire/internal/store"

// Records are the numbers as the store has them.
type Records struct{ *store.Store }
