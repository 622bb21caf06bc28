package scheduler

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/nudgewire/nudgewire"
)

// A folder is where a run's files are written. Tests and dry runs have others than the disk.
type folder interface {
	create(name string) (sink, error)
	// settle makes the names of the files durable.
	settle() error
	// discard removes the parts of a building that failed; the list of excluded rows stays.
	discard() error
}

// A sink is a file being written.
type sink interface {
	io.Writer
	Sync() error
	Close() error
}

// runFolder is the folder of a run below root: job/slot, in characters that every file system takes.
func runFolder(root string, r nudgewire.Run) string {
	return filepath.Join(root, fileName(r.Job), fmt.Sprintf("%d-%s", r.ID, fileName(r.Slot)))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func fileName(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ReplaceAll(text, ":", ""), "-"), ".-")
	if name == "" {
		return "_"
	}
	return name
}

// A diskFolder is a folder on this machine, for its owner alone: the files hold phones.
type diskFolder struct{ path string }

// newDiskFolder empties the folder at path, or makes it. Whatever a run that was cut off left
// there was not uploaded.
func newDiskFolder(path string) (*diskFolder, error) {
	if err := os.RemoveAll(path); err != nil {
		return nil, fmt.Errorf("empty the folder of the run: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the run: %w", diskFull(err))
	}
	return &diskFolder{path}, nil
}

func (d *diskFolder) create(name string) (sink, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, diskFull(err)
	}
	return f, nil
}

func (d *diskFolder) settle() error {
	for _, path := range []string{d.path, filepath.Dir(d.path)} {
		dir, err := os.Open(path)
		if err != nil {
			return err
		}
		err = dir.Sync()
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EINVAL) {
			err = nil // file systems that keep names without being asked
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (d *diskFolder) discard() error {
	files, err := os.ReadDir(d.path)
	for _, f := range files {
		if f.Name() != excludedFile {
			err = errors.Join(err, os.Remove(filepath.Join(d.path, f.Name())))
		}
	}
	return err
}

// ErrDiskFull ends a run whose files do not fit. Nothing of it was uploaded.
var ErrDiskFull = errors.New("the disk is full: free some space, then run the job again; nothing was uploaded")

// diskFull puts our words to a full disk.
func diskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	}
	return err
}

// nowhere is the folder of a dry run.
type nowhere struct{}

func (nowhere) create(string) (sink, error)       { return nowhere{}, nil }
func (nowhere) settle() error                     { return nil }
func (nowhere) discard() error                    { return nil }
func (nowhere) Write(p []byte) (n int, err error) { return len(p), nil }
func (nowhere) Sync() error                       { return nil }
func (nowhere) Close() error                      { return nil }
