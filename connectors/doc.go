// Package connectors turns a sender's webhook into events: it proves that the request is
// genuine, takes it apart, and names what it finds in the words that triggers use.
//
// What differs from sender to sender is data, not code: a preset (presets/*.yaml, or the same
// fields under connectors: in config.yaml) says how requests are signed, where the items of a
// batch lie, which word means "order created" and where the phone number is.
//
// The order is fixed, and receive.go reads in it: size, handshake, method, address, proof,
// content type, body, items, events. The proof is checked on the bytes that came, before
// anything parses them. A handshake (a sender trying out the URL) is answered before the
// proof, because it carries none, and leads to nothing else.
//
// This package stores nothing, calls nobody and asks no clock: a Request carries its time. It
// does not fetch what a webhook leaves out (enrich.go says which GET would, and joins its answer
// to the event), does not notice that the same event came twice
// (it only names the event so that the store can), and evaluates nothing that a payload says:
// "{{" in a customer's name is two characters.
//
// Before here: package server. After here: package triggers.
package connectors
