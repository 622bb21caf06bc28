// Package webhooks is the daemon's public door: it takes webhooks, and besides them answers only whether the daemon lives. A webhook
// is answered 2xx once its events, the decisions about them and the messages they queue are on disk, and not before.
//
// Before anything is verified, what a request may take is measured: bodies by memory, connections by address, traces by rate.
package webhooks
