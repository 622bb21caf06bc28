package triggers

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
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

// places are the zones that a contact may be in, at least one. What a clock says to such a contact holds in each of
// them: 09:00 is the moment at which the last of them comes to it on a day, so it is not before nine in any.
type places []*time.Location

// zonesOf are the zones of a contact, by the rule that quiet hours have (internal/hours): its own, else each that its number may
// be used in, else that of the defaults.
func (s *Set) zonesOf(phone messaging.Phone, own string) places {
	found, _ := s.zones.Of(string(phone), own)
	out := make(places, len(found))
	for i, z := range found {
		out[i] = z.Location()
	}
	return out
}

// next is the first moment at or after from when the clock shows c, everywhere or already.
func (p places) next(c clock, from time.Time) time.Time {
	for day := -1; ; day++ {
		if t := p.onDay(c, from, day); !t.Before(from) {
			return t
		}
	}
}

// onDay is the moment when the last of the zones comes to c, so many calendar days after the day that it is in the zone
// that is furthest ahead at from.
func (p places) onDay(c clock, from time.Time, days int) (last time.Time) {
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

// days is the moment so many calendar days after from, when the clock shows what it showed then.
func (p places) days(from time.Time, days int) (last time.Time) {
	for _, zone := range p {
		last = later(last, clockOf(from, zone).after(from, days, zone))
	}
	return last
}

// after is the moment when the clock on the wall of zone shows c so many calendar days after from. On
// the day when the wall clock jumps over c it is the first minute after the jump; on the day
// when it shows c twice, the first of both.
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
