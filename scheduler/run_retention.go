package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
)

// clearEvery is how often old folders are looked for.
const clearEvery = time.Hour

// clear removes the folders of runs that ended longer ago than Options.Keep. A folder is removed
// before that is noted: after a crash in between it is removed once more, which does no harm.
func (s *Scheduler) clear(ctx context.Context, now time.Time) error {
	if s.Keep == nil {
		return nil
	}
	s.mu.Lock()
	due := s.cleared.IsZero() || now.Sub(s.cleared) >= clearEvery
	if due {
		s.cleared = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	folders, err := s.Store.OldFolders(ctx, now.Add(-s.Keep()).UTC())
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := removeFolder(s.Folder, folder); err != nil {
			s.Log.Error("removing the files of an old run", zap.String("folder", folder), zap.Error(err))
			continue
		}
		if err := s.Store.FolderRemoved(ctx, folder, now.UTC()); err != nil {
			return err
		}
		s.Log.Info("files of an old run removed", zap.String("folder", folder))
	}
	return nil
}

// removeFolder removes a run's folder below root, and its job's folder where that is empty then.
// A folder elsewhere is left alone: the data may have been moved here from another machine.
func removeFolder(root, path string) error {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("it does not lie in %s: remove it by hand", root)
	}
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
