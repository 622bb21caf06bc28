package hours

import (
	"strings"
	"time"
)

// A Rule is when it is quiet: in any of the windows, and on holidays. The zero value is never
// quiet. It is not changed once it is in use.
type Rule struct {
	Windows  []Window
	Holidays Holidays
}

// String writes the windows as they are read: "21:00-09:00", "mon-fri 21:00-09:00 or sun 00:00-24:00".
func (r *Rule) String() string {
	parts := make([]string, len(r.Windows))
	for i, w := range r.Windows {
		parts[i] = w.String()
	}
	if r.Holidays.Len() > 0 {
		parts = append(parts, "holidays")
	}
	return strings.Join(parts, " or ")
}

// Quiet reports whether a moment is quiet in a zone.
func (r *Rule) Quiet(t time.Time, z *Zone) bool {
	unix := t.Unix()
	return r.quiet(unix, z.at(unix))
}

// quiet is Quiet within a stretch of a zone.
func (r *Rule) quiet(unix int64, s *stretch) bool {
	if r.onWall(unix + s.offset) {
		return true
	}
	// What was quiet when the clock went back stays quiet for the hour that comes twice: a window
	// that began the first time is not open again the second.
	return unix < s.repeated() && r.onWall(s.from-1+s.before)
}

// repeated is when the hour that comes twice at the beginning of the stretch is over: from, or
// earlier, where none does.
func (s *stretch) repeated() int64 {
	if s.before <= s.offset {
		return s.from
	}
	return s.from + s.before - s.offset
}

// onWall reports whether the time on the wall, in seconds since midnight of 1970-01-01 there, is
// quiet.
func (r *Rule) onWall(wall int64) bool {
	date := floor(wall, 86400)
	if r.Holidays.Len() > 0 && r.Holidays.has(date) {
		return true
	}
	minute := int(wall-date*86400) / 60
	today := time.Weekday((date%7 + 7 + int64(time.Thursday)) % 7) // 1970-01-01 was one
	for _, w := range r.Windows {
		if w.covers(today, minute) {
			return true
		}
	}
	return false
}

func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// How far is looked for a moment that is not quiet: every week is as the one before it but for
// clock changes, unless there are holidays.
const (
	farthest             = 9 * 86400
	farthestWithHolidays = 400 * 86400
)

// Free is the first moment from t on that is not quiet in any of the zones, which is t itself where
// t is not, in UTC. It is not ok where there is none: then the zones have no hour in common.
func (r *Rule) Free(t time.Time, zones []*Zone) (at time.Time, ok bool) {
	unix := t.Unix()
	last := unix + farthest
	if r.Holidays.Len() > 0 {
		last = unix + farthestWithHolidays
	}
	for free := unix; free < last; {
		from := free
		for _, z := range zones {
			for s := z.at(free); r.quiet(free, s) && free < last; s = z.at(free) {
				free = r.change(free, s)
			}
		}
		if free > from {
			continue // the zones before may be quiet by now
		}
		if free == unix {
			return t.UTC(), true
		}
		return time.Unix(free, 0).UTC(), true
	}
	return time.Time{}, false
}

// In is the first of the zones in which a moment is quiet; nil where it is quiet in none.
func (r *Rule) In(t time.Time, zones []*Zone) *Zone {
	for _, z := range zones {
		if r.Quiet(t, z) {
			return z
		}
	}
	return nil
}

// change is the first moment after unix at which a quiet time may end: when a window ends or the
// day does, or the clock changes, or what the change repeated is over.
func (r *Rule) change(unix int64, s *stretch) int64 {
	wall := unix + s.offset
	date := floor(wall, 86400)
	next := (date + 1) * 86400
	for _, w := range r.Windows {
		if end := date*86400 + int64(w.To)*60; end > wall {
			next = min(next, end)
		}
	}
	next = min(next-s.offset, s.to)
	if end := s.repeated(); end > unix {
		next = min(next, end)
	}
	return next
}

// A week in minutes.
const week = 7 * day

// covers reports whether a minute of the week, from Sunday 00:00, is in a window. Holidays and
// clock changes are left out.
func (r *Rule) covers(minute int) bool {
	minute %= week
	for _, w := range r.Windows {
		if w.covers(time.Weekday(minute/day), minute%day) {
			return true
		}
	}
	return false
}

// Longest is the longest time that is quiet without a break, holidays and clock changes left out,
// and whether it never ends.
func (r *Rule) Longest() (longest time.Duration, always bool) {
	run, best := 0, 0
	for m := range 2 * week {
		if !r.covers(m) {
			run = 0
			continue
		}
		run++
		best = max(best, run)
	}
	return time.Duration(min(best, week)) * time.Minute, best > week
}

// DaysAt is on how many days of the week a time of day, in minutes, is quiet.
func (r *Rule) DaysAt(minute int) (days int) {
	for d := range 7 {
		if r.covers(d*day + minute) {
			days++
		}
	}
	return days
}
