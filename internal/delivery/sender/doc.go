// Package sender delivers messages: it claims each one when it falls due, calls the
// messaging service once, and records how that ended.
//
// The claim is committed before the request leaves, so what a crash leaves behind is known
// to be in doubt. A message in doubt is not sent again by itself, with one exception:
// messaging.Category.ResendsInDoubt. Everything else that may be sent again was surely not
// taken by the service.
//
// It decides neither who gets a message nor when, and it does not follow a message once the
// service took it.
//
// Read in this order:
//
//	sender.go   what it needs, how it starts and stops
//	claim.go    what is taken in hand; internal/claims is the loop
//	deliver.go  one claim: the last looks, the call
//	judge.go    what becomes of the message, by the answer (apiclient/outcome.go says what that means)
//	health.go   what becomes of all others: halts, probes
//	record.go   the outcome is stored
//
// Before here: package store, which wakes the sender after its commits. After here: package
// tracker.
package sender
