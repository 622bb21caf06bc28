package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Rate is how many rows of a job leave in a window. It is no average: all may go at once, and then none until
// the window ends. A window of the calendar is that of the job's zone; any other begins with the first row in it.
type Rate struct{ units.Limit }

// UnmarshalText reads 500/h, 5000 per day or 200 per 30m.
func (r *Rate) UnmarshalText(text []byte) error {
	if strings.Contains(string(text), "/") {
		rate, err := units.ParseRate(string(text))
		r.Limit = units.Limit{Most: rate.Count, Per: rate.Per}
		return err
	}
	limit, err := units.ParseLimit(string(text))
	if err != nil {
		return &wordError{fmt.Sprintf("%q is no rate of a job", text), "write 500/h, 5000 per day, or 200 per 30m"}
	}
	if limit.Most < 1 {
		return &wordError{fmt.Sprintf("%q lets no row go", text), "write 1 or more; mode: off keeps a job from firing"}
	}
	r.Limit = limit
	return nil
}

// Schema describes the text to editors.
func (Rate) Schema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^[0-9]+\s*(/\s*(s|m|min|h|d)|per [0-9a-z. ]+)$`}
}

// from is the earliest that a window which holds now may have begun.
func (r Rate) from(now time.Time, zone *time.Location) time.Time {
	if r.Calendar == "" {
		return now.Add(time.Microsecond - r.Per) // as exact as the store is
	}
	return r.unit(now, zone, 0)
}

// next is when the window that began at since ends.
func (r Rate) next(since time.Time, zone *time.Location) time.Time {
	if r.Calendar == "" {
		return since.Add(r.Per)
	}
	return r.unit(since, zone, 1)
}

// unit is when the unit of the calendar that holds t begins, or one that comes after it.
func (r Rate) unit(t time.Time, zone *time.Location, after int) time.Time {
	y, m, d := t.In(zone).Date()
	switch r.Calendar {
	case units.Week:
		d += 7*after - (int(t.In(zone).Weekday())+6)%7
	case units.Month:
		m, d = m+time.Month(after), 1
	default:
		d += after
	}
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

// waits is how long rows wait for their windows in all, about; 0 where one is enough, and without a rate.
func (r Rate) waits(rows int64) time.Duration {
	if r.IsZero() || rows <= r.Most {
		return 0
	}
	per := r.Per
	switch r.Calendar {
	case units.Day:
		per = 24 * time.Hour
	case units.Week:
		per = 7 * 24 * time.Hour
	case units.Month:
		per = 30 * 24 * time.Hour
	}
	return time.Duration((rows-1)/r.Most) * per
}

// window is what the job's rate lets go now; nil for a job without one.
func (w *working) window(ctx context.Context) (*nudgewire.RateWindow, error) {
	if w.job == nil || w.job.Rate.IsZero() {
		return nil, nil //nolint:nilnil // no rate is no error
	}
	waiting, err := w.Store.Backlog(ctx, w.run.ID)
	now := w.Now().UTC()
	return &nudgewire.RateWindow{Job: w.run.Job, Most: w.job.Rate.Most, From: w.job.Rate.from(now, w.job.zone), Now: now, Waiting: waiting}, err
}

// nextWindow waits until the window that began then has ended, and says so in the run's row.
func (w *working) nextWindow(ctx context.Context, since time.Time) error {
	until := w.job.Rate.next(since, w.job.zone)
	if err := w.waits(ctx, nudgewire.WaitRate, until); err != nil {
		return err
	}
	if err := w.await(ctx, until); err != nil {
		return err
	}
	return w.waits(ctx, "", time.Time{})
}
