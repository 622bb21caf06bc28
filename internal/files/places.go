package files

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Places is a Store that keeps new files in one place and finds those of old runs in the others.
type Places struct {
	Store    // of new files
	Folder   Store
	Database Store
	Bucket   *Bucket // nil where the config names none
}

// An ElsewhereError says that files lie in a place that the config does not name any more.
type ElsewhereError struct{ Folder string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("the files of %s cannot be read: the config does not name that place any more", e.Folder)
}

// Hint is the next step.
func (*ElsewhereError) Hint() string {
	return "name the place under files: again, until retention.lists has removed what lies there"
}

// Close ends connections that are idle.
func (p *Places) Close() {
	if p.Bucket != nil {
		p.Bucket.Close()
	}
}

// of is the store that has a folder.
func (p *Places) of(folder string) (Store, error) {
	switch {
	case OnDisk(folder):
		return p.Folder, nil
	case (*Database)(nil).has(folder):
		return p.Database, nil
	case p.Bucket != nil && p.Bucket.has(folder):
		return p.Bucket, nil
	}
	return nil, &ElsewhereError{folder}
}

// Create implements Store.
func (p *Places) Create(ctx context.Context, path string) (Writer, error) {
	s, err := p.of(path)
	if err != nil {
		return nil, err
	}
	return s.Create(ctx, path)
}

// Open implements Store.
func (p *Places) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	s, err := p.of(path)
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, path)
}

// List implements Store.
func (p *Places) List(ctx context.Context, folder string) (paths []string, err error) {
	if folder != "" {
		s, err := p.of(folder)
		if err != nil {
			return nil, err
		}
		return s.List(ctx, folder)
	}
	all := []Store{p.Folder, p.Database}
	if p.Bucket != nil {
		all = append(all, p.Bucket)
	}
	for _, s := range all {
		some, failed := s.List(ctx, "")
		paths, err = append(paths, some...), errors.Join(err, failed)
	}
	return paths, err
}

// Remove implements Store.
func (p *Places) Remove(ctx context.Context, paths ...string) (err error) {
	for _, path := range paths {
		s, missing := p.of(path)
		if missing == nil {
			missing = s.Remove(ctx, path)
		}
		err = errors.Join(err, missing)
	}
	return err
}

// RemoveFolder implements Store.
func (p *Places) RemoveFolder(ctx context.Context, folder string) error {
	s, err := p.of(folder)
	if err != nil {
		return err
	}
	return s.RemoveFolder(ctx, folder)
}
