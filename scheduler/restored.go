package scheduler

import (
	"context"
	"fmt"
	"time"
)

// Data that was restored does not know which times of a job were run by whoever had it after the copy was made. Nothing is fired
// until a person has reviewed it, and a time from before it was found to be restored is run, where on_missed wants it, but
// waits for approval before anything leaves.

func (s *Scheduler) restored() (until time.Time, review bool) {
	if s.Restored == nil {
		return time.Time{}, false
	}
	return s.Restored()
}

func restoredWords(slot string) string {
	return fmt.Sprintf("the data was restored, and whoever had it may have sent the run of %s: look at the service's list of campaigns", slot)
}

// A Missed is a time at which a job should have run.
type Missed struct {
	Job  string
	Slot string
	At   time.Time
}

// Missed are the newest times of jobs that passed, and of which no run is stored.
func (s *Scheduler) Missed(ctx context.Context, now time.Time) (all []Missed, err error) {
	for _, j := range s.all() {
		sched := j.Schedule()
		if sched == nil {
			continue
		}
		since, err := s.Store.LastScheduled(ctx, j.Name, sched.String()+" "+j.zone.String(), now.UTC())
		if err != nil {
			return all, fmt.Errorf("job %s: %w", j.Name, err)
		}
		due := sched.Look(since, now, j.OnMissed)
		passed := due.Missed
		if due.Now != nil {
			passed = append(passed, *due.Now)
		}
		for _, f := range passed {
			all = append(all, Missed{j.Name, f.Slot, f.At})
		}
	}
	return all, nil
}
