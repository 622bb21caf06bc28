//go:build race

package app_test

// The race detector makes rows ten times as slow: fewer of them, in smaller files, meet the same code.
const (
	longList = 6_000
	longPart = 171_000
)
