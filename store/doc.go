// Package store keeps everything that the daemon promises to remember: events, decisions, dispatches, messages, runs,
// rejected requests. Every method that writes returns only once its commit is on disk. It decides nothing: whether an
// event queues a message is settled by Options.Settle (package triggers) inside the commit, and what to do after a
// failed send is the sender's decision. The store holds each of them to the states of docs/states.md, which the
// schema repeats as CHECK constraints.
//
// Read in this order:
//
//  1. store.go: what is opened, in which order, and closed.
//  2. group.go: callers hand over an operation and wait; one flusher runs all that wait as one transaction.
//  3. writer.go: that transaction, from its begin to what is called after the commit.
//  4. coordinator.go: what a transaction asks because others may write too; single_writer.go answers for one process.
//  5. accept.go: one webhook becomes an event, its decisions and its dispatches; dedupe.go, correlation.go.
//  6. claim.go, calls.go, finish.go, rescue.go: a dispatch is claimed, called for, ended, or left by a crash.
//  7. messages.go, transitions.go: what became of a message; back.go, retry.go: what is sent again.
//  8. runs.go, parts.go, enqueue.go: runs of lists, the files they upload and the rows they queue.
//  9. halts.go, pause.go, blocks.go: what keeps a dispatch from being sent.
//  10. read.go and read_*.go: what commands show. dialect.go, connect.go, checkpoint.go, log.go: SQLite.
package store
