package triggers

import (
	"fmt"
	"time"
)

// A clock is a time of day, as in `until: "09:00"`.
type clock struct{ hour, minute, second int }

// clockOf is what the clock on the wall of zone shows at t.
func clockOf(t time.Time, zone *time.Location) clock {
	t = t.In(zone)
	return clock{t.Hour(), t.Minute(), t.Second()}
}

func (c clock) String() string { return fmt.Sprintf("%02d:%02d", c.hour, c.minute) }

func parseClock(text string) (clock, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return clock{}, fmt.Errorf("%q is not a time of day such as 09:00", text)
	}
	return clock{hour: t.Hour(), minute: t.Minute()}, nil
}

// next is the first moment at or after from when the clock on the wall of zone shows c. On
// the day when the wall clock jumps over c it is the first minute after the jump; on the day
// when it shows c twice, the first of both.
func (c clock) next(from time.Time, zone *time.Location) time.Time {
	for day := 0; ; day++ {
		if t := c.after(from, day, zone); !t.Before(from) {
			return t
		}
	}
}

// after is the moment when the clock on the wall of zone shows c so many calendar days after from.
func (c clock) after(from time.Time, days int, zone *time.Location) time.Time {
	local := from.In(zone)
	t := time.Date(local.Year(), local.Month(), local.Day()+days, c.hour, c.minute, c.second, 0, zone)
	if t.Hour() != c.hour || t.Minute() != c.minute {
		t = afterGap(t)
	} else if earlier := t.Add(-time.Hour); sameWall(earlier, t) {
		t = earlier
	}
	return t.UTC()
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
