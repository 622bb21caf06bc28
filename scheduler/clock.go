package scheduler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Schedule is a cron line in a zone. The cron library is asked about times on a wall, as if
// the zone had no changes, and each wall time is then positionRow on the real line once: its first
// occurrence where autumn repeats it, the first valid minute where spring leaves it out. The
// library's own reading fires "30 1 * * *" twice on 2026-11-01 in New York and skips
// "30 2 * * *" on 2026-03-08.
type Schedule struct {
	text string
	cron cron.Schedule
	zone *time.Location
}

// A Firing is one time at which a job runs. Slot is its identity: two wall times that fall
// into the same gap share the minute at its end, and with it one firing.
type Firing struct {
	Slot  string    // local wall-clock time of At, "2026-03-08 03:00"
	At    time.Time // UTC
	Named string    // the wall time that the cron line names, where spring left it out; else ""
}

const slotLayout = "2006-01-02 15:04"

// A wordError is a text that cannot be used, and the hint.
type wordError struct{ msg, hint string }

func (e *wordError) Error() string { return e.msg }

// Hint is what to do about it.
func (e *wordError) Hint() string { return e.hint }

// clockErrorWords are an error and its hint, where it has one.
func clockErrorWords(err error) (msg, hint string) {
	if w, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return w.Error(), w.Hint()
	}
	return err.Error(), ""
}

const cronHint = `write minute, hour, day, month and weekday: "0 10 * * MON" is every Monday at 10:00`

// ParseSchedule reads a cron line of five fields, or @hourly, @daily, @weekly, @monthly and
// @yearly. The error carries a Hint.
func ParseSchedule(text string, zone *time.Location) (*Schedule, error) {
	spec := strings.TrimSpace(text)
	switch {
	case spec == "":
		return nil, &wordError{"is empty, wants a cron line", cronHint}
	case strings.HasPrefix(spec, "@every"):
		return nil, &wordError{`"@every" counts from the start of the program and knows no hour`, `write the minutes it runs at, such as "*/15 * * * *"`}
	case strings.HasPrefix(spec, "TZ="), strings.HasPrefix(spec, "CRON_TZ="):
		return nil, &wordError{"a time zone does not belong into the cron line", "set timezone beside it"}
	case spec[0] != '@' && len(strings.Fields(spec)) != 5:
		return nil, &wordError{fmt.Sprintf("%q has %d fields, a cron line has 5", spec, len(strings.Fields(spec))), cronHint}
	}
	line, err := weekdays(spec)
	if err != nil {
		return nil, err
	}
	plan, err := cron.ParseStandard(line)
	if err != nil {
		return nil, cronFault(spec, line, err)
	}
	if s, ok := plan.(*cron.SpecSchedule); ok {
		s.Location = time.UTC // wall time; the zone is ours
	}
	s := &Schedule{text: spec, cron: plan, zone: zone}
	// The library looks five years ahead; 30 February is never found.
	if plan.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, &wordError{fmt.Sprintf("%q names a day that no month has", spec), cronHint}
	}
	return s, nil
}

// weekdays writes Sunday as 0, which many also write as 7, and refuses what other dialects of cron know.
func weekdays(spec string) (string, error) {
	fields := strings.Fields(spec)
	if len(fields) != 5 {
		return spec, nil
	}
	for _, i := range []int{2, 4} {
		if last := strings.ToUpper(fields[i]); i == 4 && len(last) > 1 && strings.HasSuffix(last, "L") && strings.Trim(last, "0123456789L") == "" {
			return "", &wordError{fmt.Sprintf("%q: cron knows no month's last %s", spec, lastDay(last)), `run each week, such as "0 9 * * FRI", and let the query of the list say which counts`}
		}
		if last := strings.ToUpper(fields[i]); last == "L" || strings.HasSuffix(last, "L") && strings.Trim(last, "0123456789L") == "" {
			return "", &wordError{fmt.Sprintf("%q: the last day of a month is not known here", spec), `run on the first of the next one: "0 10 1 * *"`}
		}
	}
	var days []string
	for _, part := range strings.Split(fields[4], ",") {
		span, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(span, "-")
		first, err := strconv.Atoi(from)
		switch every, wrong := strconv.Atoi(step); {
		case part == "7":
			days = append(days, "0")
		case err == nil && ranged && to == "7" && (!stepped || wrong == nil && every > 0):
			for day := first; day <= 7; day += max(1, every) {
				days = append(days, strconv.Itoa(day%7))
			}
		default:
			days = append(days, part)
		}
	}
	fields[4] = strings.Join(days, ",")
	return strings.Join(fields, " "), nil
}

// lastDay names the weekday of "5L".
func lastDay(field string) string {
	n, err := strconv.Atoi(strings.TrimSuffix(field, "L"))
	if err != nil || n > 7 {
		return "weekday"
	}
	return time.Weekday(n % 7).String()
}

// often reports whether it fires twice within less than an hour, and how many times within the hour after
// the first of the two.
func (s *Schedule) often() (times int, often bool) {
	var fired []time.Time
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 100 {
		f, ok := s.Next(at)
		if !ok {
			break
		}
		at = f.At
		fired = append(fired, at)
	}
	for i, first := range fired {
		n := 0
		for _, one := range fired[i:] {
			if one.Sub(first) < time.Hour {
				n++
			}
		}
		times = max(times, n)
	}
	return times, times > 1
}

// String is the cron line.
func (s *Schedule) String() string { return s.text }

// Next is the first firing after the given instant; ok is false when there is none within
// five years.
func (s *Schedule) Next(after time.Time) (f Firing, ok bool) {
	local := after.In(s.zone)
	wall := wallOf(local)
	for {
		wall = s.cron.Next(wall)
		if wall.IsZero() {
			return Firing{}, false
		}
		at, shown := place(wall, s.zone)
		if !at.After(after) {
			continue // the second pass through an hour that autumn repeats, or the rest of a gap
		}
		f = Firing{Slot: at.In(s.zone).Format(slotLayout), At: at.UTC()}
		if !shown {
			f.Named = wall.Format(slotLayout)
		}
		return f, true
	}
}

// wallOf is the time on the wall, kept as if it were UTC.
func wallOf(local time.Time) time.Time {
	y, mo, d := local.Date()
	h, m, sec := local.Clock()
	return time.Date(y, mo, d, h, m, sec, local.Nanosecond(), time.UTC)
}

// place finds the instant at which the clock on the wall shows the given time: the first of
// two, or, where it never does, the first whole minute after the gap. exists is false then.
func place(wall time.Time, zone *time.Location) (at time.Time, exists bool) {
	guess := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	from, to := guess.ZoneBounds()
	edges := make([]time.Time, 0, 2)
	offsets := []int{offsetOf(guess)}
	if !from.IsZero() {
		edges = append(edges, from)
		offsets = append(offsets, offsetOf(from.Add(-time.Nanosecond).In(zone)))
	}
	if !to.IsZero() {
		edges = append(edges, to)
		offsets = append(offsets, offsetOf(to.In(zone)))
	}
	for _, offset := range offsets {
		one := wall.Add(-time.Duration(offset) * time.Second)
		if wallOf(one.In(zone)).Equal(wall) && (!exists || one.Before(at)) {
			at, exists = one, true
		}
	}
	if exists {
		return at, true
	}
	for _, edge := range edges {
		before := wallOf(edge.Add(-time.Nanosecond).In(zone))
		after := wallOf(edge.In(zone))
		if before.Before(wall) && wall.Before(after) {
			if rest := after.Sub(after.Truncate(time.Minute)); rest > 0 {
				edge = edge.Add(time.Minute - rest)
			}
			return edge, false
		}
	}
	return guess, false
}

func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// late is how long after its time a firing still counts as on time: the machine was busy, or
// a process was being replaced.
const late = time.Minute

// maxMissed bounds how many missed times are counted one by one.
const maxMissed = 10_000

// Due is what a job's clock says at one moment.
type Due struct {
	Now    *Firing // to run now: on time, or missed and wanted all the same
	Cause  messaging.RunCause
	Missed []Firing // to record as skipped: at most the newest one
	Reason string   // for Missed, or for a Now that comes late
	Next   time.Time
}

// Look says what is due of the times after since and up to now. on says what to do about
// those that passed while nothing ran.
func (s *Schedule) Look(since, now time.Time, on OnMissed) Due {
	var d Due
	var last Firing
	passed := 0
	at := since
	for passed < maxMissed {
		f, ok := s.Next(at)
		if !ok {
			break
		}
		if f.At.After(now) {
			d.Next = f.At
			break
		}
		passed++
		last, at = f, f.At
	}
	if passed == maxMissed { // only the newest counts: find it without walking there
		last, d.Next = s.newest(last, now)
	}
	if passed == 0 {
		return d
	}
	age := now.Sub(last.At)
	more := ""
	if passed > 1 {
		more = fmt.Sprintf(", and %s earlier ones", count(passed-1, maxMissed-1))
	}
	switch {
	case age <= late:
		d.Now, d.Cause = &last, messaging.CauseCron
		if passed > 1 {
			d.Reason = fmt.Sprintf("%s earlier times passed while nudgewire was not running", count(passed-1, maxMissed-1))
		}
	case on.runs(age):
		d.Now, d.Cause = &last, messaging.CauseMissed
		d.Reason = fmt.Sprintf("missed at %s%s, run %s late because of on_missed", last.Slot, more, roughly(age))
	default:
		d.Missed = []Firing{last}
		d.Reason = fmt.Sprintf("missed: nudgewire was not running at %s%s; on_missed is %s", last.Slot, more, on)
	}
	return d
}

// newest is the last firing up to now, found from a day before it, and the next one.
func (s *Schedule) newest(known Firing, now time.Time) (last Firing, next time.Time) {
	last = known
	for _, back := range []time.Duration{time.Hour, 26 * time.Hour, 32 * 24 * time.Hour} {
		from := now.Add(-back)
		if from.Before(last.At) {
			from = last.At
		}
		for {
			f, ok := s.Next(from)
			if !ok {
				return last, next
			}
			if f.At.After(now) {
				next = f.At
				break
			}
			last, from = f, f.At
		}
		if last.At.After(known.At) {
			break
		}
	}
	return last, next
}

func count(n, most int) string {
	if n >= most {
		return fmt.Sprintf("more than %d", most-1)
	}
	return strconv.Itoa(n)
}

// roughly is a duration for a sentence.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	}
}
