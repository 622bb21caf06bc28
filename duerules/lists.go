package duerules

import (
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/hours"
)

// A job that uploads lists cannot wait for each contact: a list leaves whole. So its quiet hours are those of one
// place, and who is over a limit is taken off the list.

// List says whether a list of the job may leave now. zone is the place whose clock counts for all on it, and first is when the
// run was due, for max_defer; a list that was begun is only put off.
func (r *Rules) List(job string, c nudgewire.Category, zone *time.Location, first, now time.Time) nudgewire.Verdict {
	quiet := r.jobs[job].quietFor(c)
	if quiet == nil {
		return nudgewire.Verdict{}
	}
	q := question{
		dispatch: &nudgewire.Dispatch{DueAt: first}, facts: &nudgewire.DueFacts{FirstDue: first}, now: now, quiet: quiet, zones: []*hours.Zone{hours.In(zone)},
	}
	return quiet.ask(q)
}

// Free is when the quiet hours that a list of the job has met end; zero where it may leave now, or never could.
func (r *Rules) Free(job string, c nudgewire.Category, zone *time.Location, now time.Time) time.Time {
	quiet := r.jobs[job].quietFor(c)
	if quiet == nil || !quiet.rule.Quiet(now, hours.In(zone)) {
		return time.Time{}
	}
	free, ok := quiet.rule.Free(now, []*hours.Zone{hours.In(zone)})
	if !ok {
		return now.Add(24 * time.Hour) // check warns of hours that never end; a later config may have others
	}
	return free
}

// Back is how far back the limits of a job look, for messages of a category; 0 where it has none.
func (r *Rules) Back(job string, c nudgewire.Category) time.Duration { return r.jobs[job].back(c) }

// Over says why a contact must not get a list of the job, in words with the numbers; "" where it may. sends are what was sent to it,
// the newest first, as far as Back looks.
func (r *Rules) Over(job string, c nudgewire.Category, phone nudgewire.Phone, sends []nudgewire.PastSend, now time.Time) string {
	p := r.jobs[job]
	if p.back(c) == 0 {
		return ""
	}
	d := &nudgewire.Dispatch{Trigger: job, Category: c, Phone: phone, DueAt: now}
	q := question{dispatch: d, facts: &nudgewire.DueFacts{Sends: sends}, now: now, zones: r.zonesOf(d, nil, now)}
	for i := range p.limits {
		l := &p.limits[i]
		if l.category != c {
			continue
		}
		switch until, full := l.reached(q); {
		case until.IsZero():
		case l.Most == 0:
			return l.none()
		default:
			return l.words(full, q)
		}
	}
	return ""
}
