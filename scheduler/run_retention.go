package scheduler

import (
	"context"
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
		if err := s.Files.RemoveFolder(ctx, folder); err != nil {
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
