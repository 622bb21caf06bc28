// Package certificates is how a listener speaks TLS: by files that are read again when they change, or by an authority (ACME); and
// whose certificates it asks callers for.
package certificates
