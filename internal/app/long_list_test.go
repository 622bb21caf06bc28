//go:build !race

package app_test

// A list of rows for two files, of the most bytes that the service takes.
const (
	longList = 350_000
	longPart = 10_000_000
)
