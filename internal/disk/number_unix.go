//go:build unix

package disk

import (
	"os"
	"strconv"
	"syscall"
)

// FileNumber is the number that the system gave the file at path, which a copy does not have; "" where it is not known.
func FileNumber(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(s.Ino), 10) //nolint:unconvert // its type differs by system
}
