//go:build linux || darwin

package disk

import "syscall"

// Space is how many bytes are free to this user on the disk that holds path, and how many there
// are. The error is errors.ErrUnsupported where that cannot be told.
func Space(path string) (free, all uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	block := uint64(s.Bsize) // a size, of a type that differs by system
	return s.Bavail * block, s.Blocks * block, nil
}

// Files is how many files and connections this process may have open; 0 is not known.
func Files() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, 1<<20))
}
