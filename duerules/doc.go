// Package duerules decides at the due moment of a dispatch whether it may be sent now: quiet
// hours, limits per contact, the account's limit, and a trigger's rate. It is pure: the store hands it the facts
// inside the commit of a claim and carries out its verdict.
//
// Only marketing is held back, but for a rate, which holds for every category. Utility and authentication messages are answers that somebody waits
// for: they go at any hour, and only a limit that names their category limits them.
//
// Read in this order: keys.go (as YAML writes it), rules.go (which rules a dispatch has), decide.go
// (their order), quiet.go, limit.go, account.go, rate.go.
package duerules
