// Package config reads config.yaml: the whole file at once, every problem in it with its line,
// column and hint, and the rules in it compiled, so that what "check" calls good is the very
// thing that "serve" runs.
//
// Each section of the file is a type here, or in the room that the section is about
// (connectors.Config, triggers.Rule), and describes itself by its tags: key, sentence,
// default, bounds. Decoding, the JSON Schema for editors and the reference for people are all
// made from these. What tags cannot say is in check.go, what is allowed but likely not meant in
// lint.go, what a later version will know in unknown_keys.go.
//
// It opens no network connection and no database, and it never prints a secret.
//
// Before here: the rooms whose rules it compiles. After here: package app.
package config
