package scheduler

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/store"
)

// runFolder is the folder of a run below root: job/slot, in characters that every file system takes.
func runFolder(root string, r nudgewire.Run) string {
	return files.Join(files.Join(root, fileName(r.Job)), fmt.Sprintf("%d-%s", r.ID, fileName(r.Slot)))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func fileName(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ReplaceAll(text, ":", ""), "-"), ".-")
	if name == "" {
		return "_"
	}
	return name
}

// A maker begins a file of a run by its name.
type maker func(name string) (files.Writer, error)

// makerIn begins files in a folder.
func makerIn(ctx context.Context, in files.Store, folder string) maker {
	return func(name string) (files.Writer, error) {
		w, err := in.Create(ctx, files.Join(folder, name))
		return w, diskFull(err)
	}
}

// nowhere is the maker of a dry run.
func nowhere(string) (files.Writer, error) { return files.Nowhere, nil }

// A fenced is a Store for files of a run while it is this process's: one that was taken for dead must not write where another
// goes on.
type fenced struct {
	files.Store
	own func(ctx context.Context) error
}

// files are those of the run in hand.
func (w *working) files() files.Store {
	return fenced{w.Files, func(ctx context.Context) error {
		_, err := w.Store.Renew(ctx, w.run.ID, w.Owner, w.Now().Add(w.Lease).UTC())
		return err
	}}
}

func (f fenced) Create(ctx context.Context, path string) (files.Writer, error) {
	w, err := f.Store.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	return fencedWriter{w, func() error { return f.own(ctx) }}, nil
}

func (f fenced) Remove(ctx context.Context, paths ...string) error {
	if err := f.own(ctx); err != nil {
		return err
	}
	return f.Store.Remove(ctx, paths...)
}

func (f fenced) RemoveFolder(ctx context.Context, folder string) error {
	if err := f.own(ctx); err != nil {
		return err
	}
	return f.Store.RemoveFolder(ctx, folder)
}

type fencedWriter struct {
	files.Writer
	own func() error
}

func (w fencedWriter) Commit() error {
	if err := w.own(); err != nil {
		return errors.Join(err, w.Abandon())
	}
	return w.Writer.Commit()
}

// discard removes the parts of a building that failed; the list of excluded rows stays. Where another process has the run by
// now, everything there is that one's.
func (w *working) discard(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	r, err := w.Store.Run(ctx, w.run.ID)
	if err != nil || r.Owner != "" && r.Owner != w.Owner {
		return err
	}
	paths, err := w.Files.List(ctx, w.run.Folder)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if _, name := files.Split(path); name != excludedFile {
			err = errors.Join(err, w.Files.Remove(ctx, path))
		}
	}
	return err
}

// ErrDiskFull ends a run whose files do not fit. Nothing of it was uploaded.
var ErrDiskFull = errors.New("the disk is full: free some space, then run the job again; nothing was uploaded")

// diskFull puts our words to a full disk.
func diskFull(err error) error {
	if store.DiskFull(err) {
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	}
	return err
}
