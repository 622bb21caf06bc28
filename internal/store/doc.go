// Package store keeps everything that the daemon promises to remember: events, decisions, messages, runs,
// rejected requests. Every method that writes returns only once its commit is on disk. It decides nothing: whether an
// event queues a message is settled by Options.Settle (package triggers) inside the commit, and what to do after a
// failed send is the sender's decision. The store holds each of them to the states of docs/internals/states.md, which the
// schema repeats as CHECK constraints.
//
// Read in this order:
//
//  1. store.go: what is opened, in which order, and closed.
//  2. package commit: callers hand over an operation and wait; one flusher runs all that wait as one transaction.
//  3. commit_writer.go: that transaction, from its begin to what is called after the commit; commit_changes.go: what it changed, and who notes that.
//  4. package peers: what a transaction asks because others may write too, and what a process answers that is alone, or beside others, with
//     keyindex, lowwater and reach; numbers has which numbers rows get.
//  5. event_accept.go, with event_dedupe.go and event_correlation.go: a webhook becomes an event, decisions, messages.
//  6. message_claim.go, message_finish.go: a message is claimed, called for and ended;
//     message_due.go: what the rules say in that commit; message_rescue.go: or left by a crash; message_back.go: the one way back to
//     waiting.
//  7. message_poll.go: what became of a message; message_retry.go: what is sent again.
//  8. run.go, run_parts.go, run_enqueue.go: runs of lists, the files they upload and the rows they queue.
//  9. hold.go and its kinds, contact_blocks.go: what keeps a message from being sent.
//  10. contact_forget.go, contact_redaction.go: who is forgotten, or shall be, and package erased: how they are known; space.go: when
//     keys and free pages go.
//  11. package place, instance.go, restoration.go: data that was restored knows it, and what may have been sent is in doubt.
//  12. read.go, read_*.go: what commands show. sqlite_open.go, postgres_open.go: how the data of a file and of a server is opened.
//  13. postgres_notices.go: what is heard of others that write, too; postgres_identity.go: where the data lives.
//
// What knows SQLite and PostgreSQL, and no table, is package engine: how a statement is written for both, and the connections that run it. How
// events, messages and runs stand in rows says package stored. What
// is counted is added up by package tally (labels has what tells messages apart), what webhooks out tell is noted by package outgoing, what is written into the audit by package chain, and which calls had begun when a process died is known by package calls.
//
// What only one feature needs stands in its folder, with its statements, as methods of its Records: package auth has who
// may come in, report the numbers that people look at, history what happened to an event and a phone, audit who ordered what, contacts what events
// say of people, alerts and outbox what is told to people and systems outside, privacy what is removed by its age, or because
// its contact is to be forgotten, delivery/enricher the refresh tokens of look-ups. Their tables are in schema/schema.sql. Package
// transfer copies all of it to another engine; package place opens both places for that. Who reads the data for long says package readers.
package store
