//go:build !unix

package disk

// FileNumber is not known on this system.
func FileNumber(string) string { return "" }
