// Package contacts takes in what events say of contacts, for people to read and search: who somebody is, what he ordered, and which event
// said so. No rule asks it; a job whose source is contacts does (audience.go). What is to be read the store notes in the commit of the event (internal/store/event_unread.go).
package contacts

import "github.com/nudgewire/nudgewire/internal/store"

// Records are what is known of contacts, as the store has it.
type Records struct{ *store.Store }
