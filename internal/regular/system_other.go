//go:build !linux

package regular

import "os"

// ofTheSystem reports a file that says it is regular and is none; only Linux is known to have such.
func ofTheSystem(*os.File) bool { return false }
