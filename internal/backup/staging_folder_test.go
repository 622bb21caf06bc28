package backup

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Whoever holds the folder of a backup has it for himself until he leaves, whoever comes, goes or clears away meanwhile.
func TestNobodyTakesAWorkplaceAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tar.zst"+unfinished)
	var inside, entered atomic.Int64
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range 300 {
				if n == 0 {
					if err := removeUnfinished(path); err != nil {
						t.Errorf("clear away: %v", err)
					}
					continue
				}
				w, err := enter(path)
				if held := (*sqlite.LockedError)(nil); errors.As(err, &held) {
					continue
				} else if err != nil {
					t.Errorf("enter: %v", err)
					continue
				}
				entered.Add(1)
				if got := inside.Add(1); got != 1 {
					t.Errorf("%d are in it", got)
				}
				mine := filepath.Join(path, "mine")
				if err := os.WriteFile(mine, nil, 0o600); err != nil {
					t.Errorf("write: %v", err)
				}
				if _, err := os.Stat(mine); err != nil {
					t.Errorf("taken away: %v", err)
				}
				inside.Add(-1)
				if err := w.leave(); err != nil {
					t.Errorf("leave: %v", err)
				}
			}
		})
	}
	all.Wait()
	if entered.Load() == 0 {
		t.Error("nobody came in")
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		if err := removeUnfinished(path); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}
