// Package simulation plays what a daemon would do, under a clock that is stepped: webhooks in the order of their times in, and what was
// sent, put off, dropped and cancelled, and why, out.
//
// It decides nothing. Webhooks are mapped by the connector, planned by the rules and settled by the store; what falls due is claimed, looked
// at once more, called for and finished by the sender, and asked about by the tracker, all of them the daemon's own, over scratch data. Only
// three things are others: the clock, which jumps from one due time to the next; the service, which answers in the process; and that one
// thing happens after the other. What is due at a moment goes before a webhook of the same moment.
//
// What would depend on more than that is an error, and no guess: a look-up at another system (ErrLooksUp), and what the daemon does once
// the service refuses so much that it halts (ErrHalts).
//
// Compare plays what is stored by two configs, and says what differs; docs/simulate.md is about it.
//
// Lists are played with the rows that are stored of their runs, by the scheduler, each of whose runs is a coroutine that gives way where it sleeps.
//
// Not played: the rate of calls, retention, erasures, and edits of the config.
//
// Before here: packages store, sender, tracker and scheduler. After here: package ruletest.
package simulation
