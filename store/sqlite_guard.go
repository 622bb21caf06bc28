package store

import (
	"fmt"
	"os"
)

// A GoneError says that the data is not any more where it was opened. What is written goes to a file that
// nobody finds again, so nothing is taken and nothing is sent until it is back.
type GoneError struct {
	Path     string
	Replaced bool // another file is there
}

// Error says what is gone and the next step.
func (e *GoneError) Error() string {
	if e.Replaced {
		return e.Path + " was replaced by another file while the daemon runs; start the daemon anew to use that one, or put the old one back"
	}
	return e.Path + " was moved away or deleted while the daemon runs; put it back, or start the daemon anew to begin with what is there"
}

// A guard knows the files of the data as they were opened: the database, its log and index, and the lock, without which a
// second daemon would start.
type guard []guarded

type guarded struct {
	path string
	info os.FileInfo
}

func newGuard(path string) (guard, error) {
	var g guard
	for _, side := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + side)
		if err != nil {
			return nil, fmt.Errorf("storage file: %w", err)
		}
		g = append(g, guarded{path + side, info})
	}
	return g, nil
}

// check is a *GoneError when one of the files is not where it was. It takes a few microseconds.
func (g guard) check() error {
	for i := range g {
		now, err := os.Stat(g[i].path)
		if err != nil {
			return &GoneError{Path: g[i].path}
		}
		if !os.SameFile(now, g[i].info) {
			return &GoneError{Path: g[i].path, Replaced: true}
		}
	}
	return nil
}
