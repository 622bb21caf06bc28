// Package commit lets many callers share one commit (group commit): group.go has callers hand over operations and wait, and flushers that run
// all that wait as one transaction; run.go runs the operations of such a batch. It knows no table: what a transaction is, and what is
// written at its end, the store says (internal/store/commit_writer.go).
package commit
