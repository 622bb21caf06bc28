// Package files keeps the files of runs: parts, lists of rejected rows, lists of where rows stand. They lie in a folder of
// this machine, in the database, or in S3: the latter two can be read by every node of a cluster.
//
// It does not know what is in them, and not who may write them: that is package scheduler's.
package files

import (
	"context"
	"io"
	"path/filepath"
	"strings"
)

// A Store keeps files. A path is what Join makes of a folder and a name; where the folder begins says which store has it, so
// that the files of an old run are found after the config names another place.
//
// A file is there whole or not at all. What a crash leaves of one that was being written is listed, by a name for which
// Unfinished holds, so that it can be removed.
type Store interface {
	// Root is the folder below which new folders are made.
	Root() string

	// Create begins a file. It is there, in the place of an earlier one of that path, once Commit returns without an error.
	// ctx is for all of the writing.
	Create(ctx context.Context, path string) (Writer, error)

	// Open reads a file as it is now; ctx is for all of the reading. Errors: fs.ErrNotExist; an *AwayError when nobody can
	// say at present, which may be tried again.
	Open(ctx context.Context, path string) (io.ReadCloser, error)

	// List gives the paths of all files in a folder, or of all there are for "".
	List(ctx context.Context, folder string) ([]string, error)

	// Remove removes files; one that is not there is none.
	Remove(ctx context.Context, paths ...string) error

	// RemoveFolder removes all files in a folder, the unfinished ones, too.
	RemoveFolder(ctx context.Context, folder string) error
}

// A Writer writes one file. It is used by one goroutine at a time. It ends by Commit or Abandon; Abandon after either does
// nothing.
type Writer interface {
	io.Writer
	// Sync makes what was written so far durable, as far as the place can do that before the end.
	Sync() error
	Commit() error
	Abandon() error
}

// An AwayError says that the place of the files cannot be reached, or does not answer.
type AwayError struct {
	Place string
	Err   error
}

func (e *AwayError) Error() string { return e.Place + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *AwayError) Unwrap() error { return e.Err }

const ofUnfinished = ".new"

// Unfinished reports whether a path that List gave is of a file that is being written, or was when its writer died.
func Unfinished(path string) bool { return strings.HasSuffix(path, ofUnfinished) }

// schemeEnd tells the folders of other places from those of this machine.
const schemeEnd = "://"

// Join is the path of what is called name in a folder.
func Join(folder, name string) string {
	if strings.Contains(folder, schemeEnd) {
		return strings.TrimSuffix(folder, "/") + "/" + name
	}
	return filepath.Join(folder, name)
}

// Split is the folder and the name that make a path.
func Split(path string) (folder, name string) {
	if strings.Contains(path, schemeEnd) {
		at := strings.LastIndexByte(path, '/')
		return path[:at], path[at+1:]
	}
	return filepath.Dir(path), filepath.Base(path)
}

// OnDisk reports whether a folder is one of this machine.
func OnDisk(folder string) bool { return !strings.Contains(folder, schemeEnd) }

// Nowhere makes files that are kept nowhere.
var Nowhere Writer = nowhere{}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Sync() error                 { return nil }
func (nowhere) Commit() error               { return nil }
func (nowhere) Abandon() error              { return nil }
