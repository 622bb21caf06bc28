//go:build race

package app_test

// The race detector makes rows ten times as slow: fewer of them, in smaller files, meet the same code.
const (
	longList = 70_000
	longPart = 2_000_000
)
