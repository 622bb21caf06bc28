//go:build unix && !solaris && !aix

package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock reports whether f is now ours alone.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return true, nil
}

// lockHolder is the process that has a lock on a byte of f: 0 for none but this one, -1 where the system does not say which.
func lockHolder(f *os.File, at int64) (pid int, known bool, err error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0, Start: at, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, false, fmt.Errorf("who reads %s: %w", f.Name(), err)
	}
	switch {
	case lock.Type == unix.F_UNLCK:
		return 0, true, nil
	case lock.Pid <= 0: // it is in another container
		return -1, true, nil
	default:
		return int(lock.Pid), true, nil
	}
}
