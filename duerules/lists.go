package duerules

import (
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/hours"
)

// A list leaves in files. So its quiet hours are those of one place; who is over a limit waits for a later file, or is taken off the list.

// A List is what holds for the lists of a job. The zero value is no rule.
type List struct {
	rules    *Rules
	job      string
	category nudgewire.Category
	bound    bound
}

// List is what holds for lists of a job that are of a category. planned is the version of the config that the run began with.
func (r *Rules) List(job, planned string, c nudgewire.Category) List {
	if r == nil {
		return List{}
	}
	return List{rules: r, job: job, category: c, bound: r.named(true, job, planned)}
}

// At says whether the list may leave now. zone is the place whose clock counts for all on it, and first is when the
// run was due, for max_defer; a list that was begun is only put off.
func (l List) At(zone *time.Location, first, now time.Time) (v nudgewire.Verdict) {
	for p := range l.bound.all {
		if quiet := p.quietFor(l.category); quiet != nil {
			v = stricter(v, quiet.ask(question{
				message: &nudgewire.Message{DueAt: first}, facts: &nudgewire.DueFacts{FirstDue: first}, now: now, quiet: quiet, zones: []*hours.Zone{hours.In(zone)},
			}))
		}
	}
	return v
}

// Free is when the quiet hours that the list has met end; zero where it may leave now, or never could.
func (l List) Free(zone *time.Location, now time.Time) (until time.Time) {
	for p := range l.bound.all {
		quiet := p.quietFor(l.category)
		if quiet == nil || !quiet.rule.Quiet(now, hours.In(zone)) {
			continue
		}
		free, ok := quiet.rule.Free(now, []*hours.Zone{hours.In(zone)})
		if !ok {
			free = now.Add(24 * time.Hour) // check warns of hours that never end; a later config may have others
		}
		if free.After(until) {
			until = free
		}
	}
	return until
}

// Unknown says why nobody knows what holds for the list, "" where somebody does.
func (l List) Unknown() string { return l.bound.unknown }

// Consent reports whether only those may be on it whose consent is recorded.
func (l List) Consent() bool { return l.bound.asks(l.category) }

// Back is how far back its limits look; 0 where it has none.
func (l List) Back() time.Duration { return l.bound.back(l.category) }
