// Package tracker follows messages to their end: it asks the messaging service where each one
// stands, on a schedule counted from its acceptance, and records what it hears.
//
// Polls share the rate budget with sends and can neither starve them nor be starved. A look
// that brings nothing readable says nothing about the message and is repeated; only the
// service's own word, or the end of tracking.give_up, ends a message.
//
// It sends nothing and never changes a message.
//
// Before here: package sender, which recorded the message with its acceptance. After here:
// the store, for people to read.
package tracker
