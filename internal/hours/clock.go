package hours

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A Clock is a time of day, as in `until: "09:00"`.
type Clock struct{ hour, minute, second int }

// wallClock is what the clock on the wall of zone shows at t.
func wallClock(t time.Time, zone *time.Location) Clock {
	t = t.In(zone)
	return Clock{t.Hour(), t.Minute(), t.Second()}
}

// String is the clock as it is read.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", c.hour, c.minute) }

// Minute is how many minutes after midnight it is.
func (c Clock) Minute() int { return c.hour*60 + c.minute }

// ClockHint says how a time of day is written.
const ClockHint = `write hours and minutes, from "00:00" to "23:59"`

// ParseClock reads 09:00.
func ParseClock(text string) (Clock, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return Clock{}, fmt.Errorf("%q is not a time of day such as 09:00", text)
	}
	return Clock{hour: t.Hour(), minute: t.Minute()}, nil
}

// UnmarshalText is ParseClock for a config.
func (c *Clock) UnmarshalText(text []byte) (err error) {
	if *c, err = ParseClock(string(text)); err != nil {
		return &units.Error{Msg: err.Error(), Next: ClockHint}
	}
	return nil
}

// MarshalText writes what String does.
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Schema describes the text to editors.
func (Clock) Schema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^([01]?[0-9]|2[0-3]):[0-5][0-9]$`}
}

// Places are the zones that a contact may be in, at least one. What a clock says to such a contact holds in each of
// them: 09:00 is the moment at which the last of them comes to it on a day, so it is not before nine in any.
type Places []*time.Location

// Places are the zones that Of finds.
func (z *Zones) Places(digits, name string) Places {
	found, _ := z.Of(digits, name)
	return PlacesOf(found)
}

// PlacesOf are zones as places.
func PlacesOf(zones []*Zone) Places {
	out := make(Places, len(zones))
	for i, z := range zones {
		out[i] = z.loc
	}
	return out
}

// Next is the first moment at or after from when the clock shows c, everywhere or already.
func (p Places) Next(c Clock, from time.Time) time.Time {
	for day := -1; ; day++ {
		if t := p.OnDay(c, from, day); !t.Before(from) {
			return t
		}
	}
}

// OnDay is the moment when the last of the zones comes to c, so many calendar days after the day that it is in the zone
// that is furthest ahead at from.
func (p Places) OnDay(c Clock, from time.Time, days int) (last time.Time) {
	var date time.Time
	for _, zone := range p {
		year, month, day := from.In(zone).Date()
		if d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC); d.After(date) {
			date = d
		}
	}
	year, month, day := date.AddDate(0, 0, days).Date()
	for _, zone := range p {
		// Noon is on that day in each zone, whatever its clock does.
		last = later(last, c.after(time.Date(year, month, day, 12, 0, 0, 0, zone), 0, zone))
	}
	return last
}

// Days is the moment so many calendar days after from, when the clock shows what it showed then.
func (p Places) Days(from time.Time, days int) (last time.Time) {
	for _, zone := range p {
		last = later(last, wallClock(from, zone).after(from, days, zone))
	}
	return last
}

// after is the moment when the clock on the wall of zone shows c so many calendar days after from. On
// the day when the wall clock jumps over c it is the first minute after the jump; on the day
// when it shows c twice, the first of both.
func (c Clock) after(from time.Time, days int, zone *time.Location) time.Time {
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
