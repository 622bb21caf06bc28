// Command torture treats the running program badly and audits what comes of it: it starts
// the real binary against the sandbox, posts signed carts and orders as a shop does,
// breaks the service, kills, stops and reloads the daemon at random, and then holds the ledger, the
// shop's memory and the service's against each other.
//
// What it holds them to is in audit.go: every acknowledged webhook is stored once; every
// queued message is taken at most once, and is missing only where the ledger says in doubt;
// nothing is sent after the order, the block or the halt that forbids it; a kill puts in
// doubt at most the calls under way; a part of a campaign is uploaded at most once; each minute
// of a job that fires each minute has one run; all daemons together keep the rate. What rules
// promise is in audit_rules.go: no marketing inside quiet hours, over the limit, after a STOP, or
// of a trigger that is off; steps in their order and none after its stop; nothing lost by a deferral. What
// a rule still holds back at the end, until a time that is to come, is not waited for.
//
// The plan of faults and customers follows from a seed. What the processes make of it in
// time does not, so a seed brings back the same plan and not the same run.
//
//	go run ./test/torture -for 10m -seed 7
//
// Everything happens on this machine, in a folder of its own. The program is built first, unless -binary names one.
//
// Read in this order: main.go, torture.go (the round), rules.go (its config), shop.go (what is posted), chaos.go (what
// breaks), service.go and daemon.go (the two ends), audit.go and audit_rules.go (what must hold).
package main
