package console

import (
	"fmt"
	"time"
)

// spoken is a time as people say it, next to now and in its zone, which is that of the config: "3 min ago", "today 14:05", "tomorrow 10:00",
// "Mon 23 Nov, 14:05". The exact time stands in the title of each time of a page. static/console.js then says the same in the reader's own zone.
func spoken(at, now time.Time) string {
	at = at.In(now.Location())
	away := now.Sub(at).Abs()
	switch {
	case away < time.Minute && at.After(now):
		return "in a moment"
	case away < time.Minute:
		return "just now"
	case away < time.Hour && at.After(now):
		return fmt.Sprintf("in %d min", away/time.Minute)
	case away < time.Hour:
		return fmt.Sprintf("%d min ago", away/time.Minute)
	}
	clock := at.Format("15:04")
	switch daysBetween(now, at) {
	case -1:
		return "yesterday " + clock
	case 0:
		return "today " + clock
	case 1:
		return "tomorrow " + clock
	}
	if at.Year() != now.Year() {
		return at.Format("2 Jan 2006, ") + clock
	}
	return at.Format("Mon 2 Jan, ") + clock
}

// daysBetween counts midnights from one time to another of the same zone; a day of a clock change is one, too.
func daysBetween(from, to time.Time) int {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(day(to).Sub(day(from)) / (24 * time.Hour))
}

// exact is a time with its seconds, for timelines.
func exact(at time.Time, zone *time.Location) string {
	return at.In(zone).Format("2 Jan 2006, 15:04:05")
}
