// Package messaging holds the nouns of a daemon that turns what happens in a shop or CRM
// into messages on a phone: a sender's webhook becomes an Event about a Contact; a Trigger
// listening to it leaves a Decision and may queue a Message, whose status is followed to its end
// once the messaging service took it.
//
// The types here are plain: no input, no output, no clock. The verbs live in the rooms
// beside this folder, and docs/internals/architecture.md walks through them in the order in which a
// webhook does.
package messaging
