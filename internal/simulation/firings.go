package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

// The list of a run by the clock is played when the config fires the job for it: at the run's own time, where it fires then. A config whose cron is another
// one fires at other times, and then a list is that of the firing next to it, unless another list is nearer to that.

// firings are which firings of a config have the lists of which runs.
type firings map[messaging.RunID]scheduler.Firing

// beyond is how long after now a firing may be that has a list of the past.
const beyond = 8 * 24 * time.Hour

// firings finds them, and notes those that have no list.
func (c *comparing) firings(p *player, r *Rules) firings {
	at := firings{}
	for _, j := range r.Jobs {
		var runs []*messaging.Run
		for _, run := range c.runs {
			if run.Job == j.Name && run.Cause != messaging.CauseHand {
				runs = append(runs, run)
			}
		}
		s := j.Schedule()
		if s == nil {
			if j.Mode != scheduler.Off && len(runs) == 0 && !slices.ContainsFunc(c.runs, func(run *messaging.Run) bool { return run.Job == j.Name }) {
				p.notes = append(p.notes, fmt.Sprintf("job %s has no stored run: who is on its list is not known, and it is not played", j.Name))
			}
			continue
		}
		all := firingsOf(s, c.From.Add(-c.Warm), c.Until.Add(beyond))
		used := match(at, runs, all)
		none := int64(0)
		for i := range all {
			if !used[i] && !all[i].At.Before(c.From) && all[i].At.Before(c.Until) {
				none++
			}
		}
		if none > 0 {
			p.notes = append(p.notes, fmt.Sprintf("job %s fires %s of which no list is stored: who was on it is not known, and it is not played", j.Name, units.Count(none, "time")))
		}
	}
	return at
}

func firingsOf(s *scheduler.Schedule, from, until time.Time) (all []scheduler.Firing) {
	for at := from; ; {
		f, more := s.Next(at)
		if !more || f.At.After(until) {
			return all
		}
		all = append(all, f)
		at = f.At
	}
}

// match gives runs their firings, and says which are used. Both are in the order of their times.
func match(to firings, runs []*messaging.Run, all []scheduler.Firing) (used []bool) {
	used = make([]bool, len(all))
	var rest []*messaging.Run
	for _, run := range runs {
		i, exact := slices.BinarySearchFunc(all, run.DueAt, func(f scheduler.Firing, at time.Time) int { return f.At.Compare(at) })
		if exact && !used[i] {
			to[run.ID], used[i] = all[i], true
		} else {
			rest = append(rest, run)
		}
	}
	slices.SortStableFunc(rest, func(a, b *messaging.Run) int { return a.DueAt.Compare(b.DueAt) })
	free := func(i int) bool { return !used[i] }
	for _, run := range rest {
		f := nearest(len(all), run.DueAt, func(i int) time.Time { return all[i].At }, free, true)
		if f < 0 {
			continue
		}
		back := nearest(len(rest), all[f].At, func(i int) time.Time { return rest[i].DueAt }, func(int) bool { return true }, false)
		if rest[back] == run {
			to[run.ID], used[f] = all[f], true
		}
	}
	return used
}

// nearest is the place of the time that is nearest to at; of two the later one, or the earlier one. -1 is none.
func nearest(n int, at time.Time, of func(int) time.Time, may func(int) bool, later bool) int {
	best := -1
	for i := range n {
		if !may(i) {
			continue
		}
		if best < 0 || of(i).Sub(at).Abs() < of(best).Sub(at).Abs() || later && of(i).Sub(at).Abs() == of(best).Sub(at).Abs() {
			best = i
		}
	}
	return best
}

// of is the firing for a run, or why there is none.
func (f firings) of(run *messaging.Run, j *scheduler.Compiled) (scheduler.Firing, string) {
	own := scheduler.Firing{Slot: run.Slot, At: run.DueAt}
	switch at, fires := f[run.ID]; {
	case j == nil:
		return own, "its job is gone from the config"
	case run.Cause == messaging.CauseHand && (j.Mode != scheduler.Off || run.Released != ""):
		return own, ""
	case j.Mode == scheduler.Off:
		return own, "its job is off"
	case j.Schedule() == nil:
		return own, "its job has no cron"
	case !fires:
		return own, "its job does not fire for this list: another one is nearer to each of its times"
	default:
		return at, ""
	}
}
