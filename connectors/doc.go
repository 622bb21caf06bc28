// Package connectors turns a sender's webhook into events: it verifies that the request is genuine,
// takes it apart, and names what it finds in the words that triggers use.
//
// What differs from sender to sender is data, not code: a preset (presets/*.yaml, or the same keys
// under connectors: in config.yaml) says how requests are signed, where the items of a batch are,
// which word means "order created", and where the phone number is.
//
// Read in this order:
//
//	connector.go   what a connector is; compile.go makes one of a Config (config.go)
//	receive.go     a request's way: size, handshake, method, address, verify, body, items, events
//	handshake.go   a sender trying out the URL, answered before anything is verified (reply.go)
//	verify.go      the kinds of verifier, and how to add one; verify_NAME.go is one kind each; keys and
//	               written signatures are in signatures
//	read_body.go   JSON, forms, multipart and XML become one JSON text; read_token.go a body that is a JWT
//	event.go       kind, dedupe key and time of one item
//	mapping        the fields of an event, and the path language by which a map finds them; optout says what a
//	               person's answer means
//	enrich.go      the GETs that fetch what a webhook lacks; package enricher makes them
//	presets.go     what comes with the program; show_*.go says it to people
//
// The verifier sees the bytes that came, before anything parses them. This package stores nothing,
// calls nobody and asks no clock: a Request carries its time. It does not notice that an event came
// twice (it names events so that the store can), and evaluates nothing that a payload says: "{{" in
// a customer's name is two characters.
//
// Before here: package server. After here: package triggers.
package connectors
