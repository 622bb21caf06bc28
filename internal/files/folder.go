package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// A Folder keeps files in folders of this machine, for their owner alone.
type Folder struct{ roots []string }

// InFolder makes a Folder. New files go below root; folders below the others are read and removed, too.
func InFolder(root string, others ...string) *Folder {
	roots := append([]string{root}, others...)
	slices.Sort(roots[1:])
	return &Folder{slices.Compact(roots)}
}

// Root implements Store.
func (f *Folder) Root() string { return f.roots[0] }

// Create implements Store.
func (*Folder) Create(_ context.Context, path string) (Writer, error) {
	folder := filepath.Dir(path)
	if err := makeFolder(folder); err != nil {
		return nil, fmt.Errorf("make the folder of the run: %w", err)
	}
	file, err := os.OpenFile(path+ofUnfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &onDisk{file, path, false}, nil
}

// makeFolder makes a folder, and the name of each that it makes durable.
func makeFolder(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.SyncFolder(above)
}

type onDisk struct {
	*os.File
	path  string
	ended bool
}

func (w *onDisk) Commit() error {
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return errors.Join(err, w.Abandon())
	}
	if err := os.Rename(w.Name(), w.path); err != nil {
		return errors.Join(err, w.Abandon())
	}
	w.ended = true
	return disk.SyncFolder(filepath.Dir(w.path))
}

func (w *onDisk) Abandon() error {
	if w.ended {
		return nil
	}
	w.ended = true
	_ = w.Close() // it goes
	return ignoreGone(os.Remove(w.Name()))
}

// Open implements Store.
func (*Folder) Open(_ context.Context, path string) (io.ReadCloser, error) { return os.Open(path) }

// List implements Store.
func (f *Folder) List(ctx context.Context, folder string) (paths []string, err error) {
	roots := []string{folder}
	if folder == "" {
		roots = f.roots
	}
	for _, root := range roots {
		err = errors.Join(err, filepath.WalkDir(root, func(path string, one fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // it was cleared away meanwhile, or there was no run yet
				return nil
			case err == nil && one.Type().IsRegular():
				paths = append(paths, path)
			}
			return errors.Join(err, ctx.Err())
		}))
	}
	return paths, err
}

// Remove implements Store.
func (*Folder) Remove(_ context.Context, paths ...string) (err error) {
	for _, path := range paths {
		err = errors.Join(err, ignoreGone(os.Remove(path)))
	}
	return err
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveFolder implements Store. The folder above, a job's, goes where it is empty then. A folder elsewhere is left alone: the
// data may have been moved here from another machine.
func (f *Folder) RemoveFolder(_ context.Context, folder string) error {
	for _, root := range f.roots {
		rel, err := filepath.Rel(root, folder)
		if err == nil && rel != "." && filepath.IsLocal(rel) {
			return removeBelow(root, rel)
		}
	}
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("it does not lie in %s: remove it by hand", f.roots[0])
}

func removeBelow(root, rel string) error {
	below, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = below.RemoveAll(rel)
	if above := filepath.Dir(rel); err == nil && above != "." {
		_ = below.Remove(above) // it stays while other runs of the job have folders in it
	}
	return errors.Join(err, below.Close())
}
