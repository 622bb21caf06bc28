package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A stagingFolder is the folder in which one backup is written. A lock in it says that somebody is at work. What is in it is
// removed only by who holds the lock, so nobody takes it away under another who came in between.
type stagingFolder struct {
	path    string
	release func() error
}

// unfinished ends the name of such a folder.
const unfinished = ".unfinished"

// lockName is the file in it that is locked.
const lockName = "lock"

// enter makes the folder, for its owner alone, and empties it of what one that was killed left there. Errors: a
// *store.LockedError while somebody is at work there.
func enter(path string) (*stagingFolder, error) {
	const tries = 100 // somebody leaves between the two steps
	for try := 1; ; try++ {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("folder of the backup: %w", err)
		}
		w, err := enterThere(path)
		if try == tries || !errors.Is(err, fs.ErrNotExist) {
			return w, err
		}
	}
}

// enterThere is enter for a folder that is there.
func enterThere(path string) (*stagingFolder, error) {
	release, err := sqlite.Hold(filepath.Join(path, lockName))
	if err != nil {
		return nil, err
	}
	w := &stagingFolder{path, release}
	if err := w.empty(); err != nil {
		return nil, errors.Join(err, release())
	}
	return w, nil
}

// empty removes all but the lock.
func (w *stagingFolder) empty() error {
	all, err := os.ReadDir(w.path)
	for _, one := range all {
		if one.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.path, one.Name())))
		}
	}
	return err
}

// leave removes the folder and lets go of it. The lock goes while it is held, where the system lets an open file go; where it
// does not, it stays if somebody else has opened it meanwhile, and so does the folder.
func (w *stagingFolder) leave() error {
	err := w.empty()
	lock := filepath.Join(w.path, lockName)
	gone := os.Remove(lock) == nil
	err = errors.Join(err, w.release())
	if !gone {
		_ = os.Remove(lock)
	}
	_ = os.Remove(w.path) // a folder that is not empty has somebody in it
	return err
}
