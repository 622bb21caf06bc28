// Package store is the ledger: it says what durability means, on one page. Everything the
// daemon promises to remember (events, decisions, dispatches, messages, refusals) is written
// here and nowhere else, and every method that writes returns only once its commit is on disk.
//
// Writers meet in the group commit (group.go): each hands over one operation and waits;
// a flusher runs all that wait as one transaction, so sixty-four webhooks pay for one fsync.
// Operations are grouped by who asks: the server (Accept, Refuse), the sender (Claim, Finish,
// RescueClaims), the tracker (ClaimPolls, FinishPoll), the enricher (ClaimLookups, Complete), the scheduler
// (runs, their parts and rows), people (CancelDispatch, Resolve, Halt, Block and their like), and the reads of
// the commands. These are examples; go doc lists all of them by their files' names.
//
// It will not decide anything. Whether an event queues a message is settled by Options.Settle
// (package triggers) inside the commit; what to do after a failed send is the sender's word.
// The store only holds each of them to the law of states, which docs/states.md spells out
// and the schema repeats as CHECK constraints.
//
// Before here: packages server, sender and tracker. After here: the disk.
package store
