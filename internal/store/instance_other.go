//go:build !unix

package store

// fileNumber is not known on this system.
func fileNumber(string) string { return "" }
