package scheduler

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A Forecast says what a run would do, counted by the code that does it.
type Forecast struct {
	Job      string
	Source   string
	Tally    nudgewire.Tally
	Held     []string      // why it would be held; nothing when it would go
	Takes    time.Duration // of sending, by the configured rate; 0 when no rate is known
	Previews []Preview     // the first rows
	Priced   bool          // Tally.Points was counted
}

// uploadSpeed is what a forecast expects of the line, in bytes a second.
const uploadSpeed = 1_000_000

// DryRun reads the job's source as a run would, writes nothing and sends nothing. progress
// may be nil.
func (s *Scheduler) DryRun(ctx context.Context, job *Compiled, now time.Time, progress func(Progress)) (Forecast, error) {
	f := Forecast{Job: job.Name, Source: job.source.String(), Priced: s.Points != nil}
	last, err := s.lastTally(ctx, job.Name)
	if err != nil {
		return f, err
	}
	m := newMeter(nudgewire.Run{Job: job.Name, State: nudgewire.RunBuilding}, last, progress, s.Now)
	b := &building{job: job, now: now, folder: nowhere{}, excluder: s.Excluder, points: s.Points, tick: func(rows, kept int64) error {
		m.read(rows, kept)
		return nil
	}}
	if _, err := b.run(ctx); err != nil {
		return f, err
	}
	f.Tally, f.Previews = b.tally, b.first
	f.Held = job.Guard.holds(b.tally, last)
	f.Takes = s.takes(job, b.tally)
	return f, nil
}

// takes is how long sending would last.
func (s *Scheduler) takes(job *Compiled, t nudgewire.Tally) time.Duration {
	if s.Rate == nil {
		return 0
	}
	rate := s.Rate()
	if rate <= 0 {
		return 0
	}
	if job.Deliver == nudgewire.DeliverPerMessage {
		return time.Duration(float64(t.Kept) / rate * float64(time.Second))
	}
	return time.Duration((float64(t.Parts)/rate + float64(t.Bytes)/uploadSpeed) * float64(time.Second))
}
