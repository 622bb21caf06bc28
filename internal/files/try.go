package files

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Try writes a small file, lists, reads and removes it: whatever a run needs of a place.
func Try(ctx context.Context, s Store) (err error) {
	folder := Join(s.Root(), "check")
	path := Join(folder, "check.csv")
	w, err := s.Create(ctx, path)
	if err == nil {
		if _, err = io.WriteString(w, "check\n"); err == nil {
			err = w.Commit()
		}
		if err != nil {
			_ = w.Abandon() // the first trouble is what there is to tell
		}
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	r, err := s.Open(ctx, path)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if err := s.RemoveFolder(ctx, folder); err != nil {
		return fmt.Errorf("list and remove: %w", err)
	}
	return nil
}
