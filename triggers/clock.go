package triggers

import (
	"fmt"
	"time"
)

// A clock is a time of day, as in `until: "09:00"`.
type clock struct{ hour, minute int }

func parseClock(text string) (clock, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return clock{}, fmt.Errorf("%q is not a time of day such as 09:00", text)
	}
	return clock{t.Hour(), t.Minute()}, nil
}

// next is the first moment at or after from when the clock on the wall of zone shows c. On
// the day when the wall clock jumps over c it is the first minute after the jump; on the day
// when it shows c twice, the first of both.
func (c clock) next(from time.Time, zone *time.Location) time.Time {
	local := from.In(zone)
	for day := 0; ; day++ {
		t := time.Date(local.Year(), local.Month(), local.Day()+day, c.hour, c.minute, 0, 0, zone)
		if t.Hour() != c.hour || t.Minute() != c.minute {
			t = afterGap(t)
		} else if earlier := t.Add(-time.Hour); sameWall(earlier, t) {
			t = earlier
		}
		if !t.Before(from) {
			return t.UTC()
		}
	}
}

func sameWall(a, b time.Time) bool {
	return a.Hour() == b.Hour() && a.Minute() == b.Minute() && a.Day() == b.Day()
}

// afterGap finds the jump near t, a moment that time.Date gave for a time that does not
// exist: it is within a day of it, where the offset changes.
func afterGap(t time.Time) time.Time {
	from, to := t.Add(-12*time.Hour).Truncate(time.Minute), t.Add(12*time.Hour)
	_, before := from.Zone()
	for from.Before(to) {
		if _, offset := from.Zone(); offset != before {
			return from
		}
		from = from.Add(time.Minute)
	}
	return t
}
