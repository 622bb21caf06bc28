package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// A LockedError says that another process has the data open for writing.
type LockedError struct {
	Path string // the lock file
	PID  int    // the process that holds it; 0 when it does not say
}

// Error names the holder and the next step.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another nudgewire already uses this data (it holds %s); stop it first, or give this one its own storage", e.Path)
	}
	return fmt.Sprintf("another nudgewire already uses this data (process %d holds %s); stop it first, or give this one its own storage", e.PID, e.Path)
}

// A Lock is the right to write to one set of data. The operating system gives it back when the
// process dies, however it dies, so there is never a stale lock to remove by hand.
type Lock struct{ file *os.File }

// TakeLock takes the lock at path and writes our process id into it.
func TakeLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	free, err := tryLock(f)
	for again := 0; err == nil && !free && again < 5; again++ {
		time.Sleep(10 * time.Millisecond) // a reader looks whether it is held
		free, err = tryLock(f)
	}
	if err == nil && !free {
		err = &LockedError{Path: path, PID: readPID(f)}
	}
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, err
	}
	writePID(f)
	return &Lock{f}, nil
}

// Held is a *LockedError while another process holds the lock at path.
func Held(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // nobody holds what cannot be opened, or nobody can tell
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{Path: path, PID: readPID(f)}
	}
	return errors.Join(err, f.Close())
}

// Unlocked reports whether nobody holds the lock at path, without taking it.
func Unlocked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock file: %w", err)
	}
	free, err := tryLock(f)
	return free, errors.Join(err, f.Close())
}

// IsAt reports whether the file that is locked is the one at path.
func (l *Lock) IsAt(path string) bool {
	mine, err := l.file.Stat()
	there, bad := os.Stat(path)
	return err == nil && bad == nil && os.SameFile(mine, there)
}

func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	return nil
}

func readPID(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// writePID helps on whoever finds the data locked. The lock is held without it, too, on a full disk say.
func writePID(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

// Hold keeps everybody else from a lock file until release. Whoever holds it may remove it, and whoever dies lets go. Errors: a *LockedError.
func Hold(path string) (release func() error, err error) {
	for {
		l, err := TakeLock(path)
		if err != nil {
			return nil, err
		}
		if l.IsAt(path) {
			return l.Release, nil
		}
		// It was removed after it was opened: another one may hold the one that is there now.
		if err := l.Release(); err != nil {
			return nil, err
		}
	}
}
