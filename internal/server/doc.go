// Package server is the daemon's two doors.
//
// Hooks is the public one: it takes webhooks, and besides them answers only whether the
// daemon lives. A webhook is answered 2xx once its events, the decisions about them and the
// messages they queue are on disk, and not before.
//
// Admin is the private one, for the commands of the same binary: it is served on a Unix
// socket beside the database, and the commands speak to it through Client. What only reads
// can be served without a daemon too, straight from the database.
//
// The package decides nothing: what a webhook means is said by package connectors, what is
// queued for it by package triggers, and package store makes it last.
package server
