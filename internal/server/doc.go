// Package server is the daemon's API, for the commands of the same binary, for programs and for the console.
//
// Admin serves it: on a Unix socket beside the database, where the commands speak to it through Client, and behind Console at the
// listener for people and programs. What only reads can be served without a daemon too, straight from the database.
//
// The package decides nothing: what a webhook means is said by package connectors, what is
// queued for it by package triggers, and package store makes it last.
package server
