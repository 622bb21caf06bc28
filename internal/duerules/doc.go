// Package duerules decides whether a message may be sent now: expiry, orders that cancel it, holds, blocks, and what the config says of it (consent,
// quiet hours, limits per contact, the account's limit, the budget, a trigger's rate), then the service and its step. It is pure: whoever asks MayGo hands it the
// facts (the store inside the commit of a claim, the sender just before a call, the scheduler for rows of lists, a preview) and carries out its verdict.
//
// Only marketing is held back, but for a rate, which holds for every category. Utility and authentication messages are answers that somebody waits
// for: they go at any hour, and only a limit that names their category limits them.
//
// Read in this order: maygo.go, keys.go (as YAML writes it), rules.go (which rules a message has), decide.go
// (their order), quiet.go, limit.go, account.go, budget.go, rate.go.
package duerules
