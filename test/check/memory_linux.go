package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// room is how much a folder in memory must be able to take, in bytes, before files are kept in it. All tests at once keep less than 1 GiB.
const room = 8 << 30

// inMemory makes a folder whose files are kept in memory, where this machine has one with room and lets programs run in it: most tests
// write a database each, and wait for a disk that nobody reads again. It is empty where there is none. remove removes it.
func inMemory() (folder string, remove func() error) {
	const shared = "/dev/shm"
	none := func() error { return nil }
	var fs unix.Statfs_t
	if unix.Statfs(shared, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || uint64(fs.Bsize)*fs.Bavail < room || fs.Flags&unix.ST_NOEXEC != 0 {
		return "", none
	}
	folder, err := os.MkdirTemp(shared, "check-")
	if err != nil {
		return "", none
	}
	remove = func() error { return os.RemoveAll(folder) }
	// As in any place for temporary files, others may write there, too: a database server runs as a user of its own.
	if os.Chmod(folder, os.ModeSticky|0o777) != nil {
		return "", remove
	}
	return folder, remove
}
