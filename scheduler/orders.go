package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Jobs are the jobs of the config, in its order.
func (s *Scheduler) Jobs(now time.Time) []messaging.Job {
	all := s.all()
	out := make([]messaging.Job, len(all))
	for i, j := range all {
		out[i] = j.Noun(now)
		out[i].Paused = j.Mode == Off
	}
	return out
}

// Fire runs a job by hand; ErrNoJob for one that is not in the config.
func (s *Scheduler) Fire(ctx context.Context, name string, order HandOrder) (messaging.RunID, error) {
	j := s.job(name)
	if j == nil {
		return 0, ErrNoJob
	}
	return s.RunNow(ctx, j, s.Now(), order)
}

// Forecast says what a run of a job would do; ErrNoJob for one that is not in the config.
func (s *Scheduler) Forecast(ctx context.Context, name string) (Forecast, error) {
	j := s.job(name)
	if j == nil {
		return Forecast{}, ErrNoJob
	}
	return s.DryRun(ctx, j, s.Now(), nil)
}

// Progress is how far a run has come that is under way.
func (s *Scheduler) Progress(id messaging.RunID) (Progress, bool) { return s.board.get(id) }

// A board holds how far the runs under way have come.
type board struct {
	mu sync.Mutex
	at map[messaging.RunID]Progress
}

// maxOnBoard bounds the board: ended runs are never asked for, and the newest numbers matter.
const maxOnBoard = 64

func (b *board) put(p Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == nil {
		b.at = map[messaging.RunID]Progress{}
	}
	b.at[p.Run] = p
	if len(b.at) > maxOnBoard {
		oldest := p.Run
		for id := range b.at {
			oldest = min(oldest, id)
		}
		delete(b.at, oldest)
	}
}

func (b *board) get(id messaging.RunID) (Progress, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.at[id]
	return p, ok
}
