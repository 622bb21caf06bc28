//go:build linux || darwin

package main

import "syscall"

// diskSpace is how many bytes are free to this user on the disk that holds path, and how many
// there are.
func diskSpace(path string) (free, all uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	block := uint64(s.Bsize) // a size, of a type that differs by system
	return s.Bavail * block, s.Blocks * block, nil
}
