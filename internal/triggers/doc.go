// Package triggers decides which messages an event queues, and says why. It turns the triggers
// of config.yaml into a Set once (Compile), holds every event against it (Set.Match), and
// answers what becomes of a proposal in the light of what the store already knows (Settle).
//
// It is pure: no network, no disk, no clock, no log, no goroutine. Time is an argument, so
// that the daemon, "try", "why" and the tests reach the same verdict with the same code.
//
// Read in this order:
//
//	rule.go     a trigger as YAML writes it
//	build.go    its check and compilation: pattern.go has "on", due.go "wait", sending.go "send"
//	steps.go    a trigger with several messages; steps_due.go decides about each when it falls due
//	set.go      all triggers together, and who listens to an event
//	match.go    an event meets the triggers: what each proposes; fill.go fills its message in
//	settle.go   a proposal meets what the store knows: queue, restart, cancel or skip; settle_sequence.go
//	            does so where steps wait
//	replan.go   what a rule that was edited wants because of a stored event
//	explain.go  a condition in a line for people
//	tell.go     a rule in sentences for people
//
// Before here: packages connectors and expressions. After here: package store, which calls Settle
// inside the commit that stores the event.
package triggers
