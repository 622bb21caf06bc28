// Package tally adds up what happens in a transaction, and writes the sums at its end, a row for all that are alike. So counts are exact and ask
// no history. It knows the tables of counts alone, and no message or event: what is counted, and when, the store says where a change is made
// (internal/store/commit_changes.go). What people look at is read from these tables by package report.
//
// tally.go puts the parts together, in the order in which they are written. Each has a file:
//
//   - totals.go: counters since the data began, and those that have a name of their own.
//   - hours.go: counts by the hour.
//   - unused.go: what senders sent that came to nothing.
//   - last_seen.go: when a connector was last seen.
//   - reasons.go: why messages were rejected, by the hour.
//   - words.go: what the service said about messages that it did not send, by text.
package tally
