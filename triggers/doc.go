// Package triggers decides which messages an event queues, and says why. It turns the triggers
// of config.yaml into a Set once (Compile), holds every event against it (Set.Match), and
// answers what becomes of a proposal in the light of what the ledger already knows (Settle).
//
// It is pure: no network, no disk, no clock, no log, no goroutine. Time is an argument, so
// that the daemon, "try", "why" and the tests reach the same verdict with the same code.
//
// Conditions and templates are written in the expression language of expr-lang/expr, whose
// parser this package uses. What the names mean, which types go together and how a value is
// found is ours: see compile.go for the reasons and docs/decisions for the measured ones. Payloads are only
// ever values here: nothing that a sender wrote is parsed as an expression or a template.
//
// Before here: package connectors. After here: package store, which calls Settle inside the
// commit that stores the event.
package triggers
