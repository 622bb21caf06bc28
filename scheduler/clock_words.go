package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A cronField is one of the five fields of a cron line.
type cronField struct {
	name   string
	option cron.ParseOption
	goes   string
}

var cronFields = []cronField{
	{"minute", cron.Minute, "minutes go from 0 to 59"},
	{"hour", cron.Hour, "hours go from 0 to 23"},
	{"day", cron.Dom, "days of a month go from 1 to 31"},
	{"month", cron.Month, "months go from 1 to 12, or from JAN to DEC"},
	{"weekday", cron.Dow, "weekdays go from 0 (Sunday) to 7 (Sunday), or from SUN to SAT"},
}

// cronFault names the field of a cron line that cannot be read, and what it may hold. It puts the library's words into ours.
func cronFault(spec, line string, err error) *wordError {
	written, fields := strings.Fields(spec), strings.Fields(line)
	if len(fields) != len(cronFields) {
		return &wordError{fmt.Sprintf("%q is no cron line: %s", spec, strings.TrimPrefix(err.Error(), "failed to ")), cronHint}
	}
	for i, field := range cronFields {
		if _, err := cron.NewParser(field.option).Parse(fields[i]); err == nil {
			continue
		}
		bad := &wordError{fmt.Sprintf("%q is no cron line: its %s is %q, and %s", spec, field.name, written[i], field.goes), cronHint}
		switch {
		case field.option == cron.Dow && strings.Contains(written[i], "#"):
			bad.hint = `cron has no first Monday of a month: run every Monday ("0 10 * * MON"), and let the query of the list say which counts`
		case field.option == cron.Dom && strings.HasSuffix(strings.ToUpper(written[i]), "W"):
			bad.hint = `cron has no working day next to a date: run on the date, such as "0 10 15 * *"`
		case field.option == cron.Dow || field.option == cron.Month:
			if short := strings.ToUpper(written[i][:min(3, len(written[i]))]); field.knows(short) {
				bad.hint = fmt.Sprintf("did you mean %s?", short)
			}
		}
		return bad
	}
	return &wordError{fmt.Sprintf("%q is no cron line", spec), cronHint}
}

func (f cronField) knows(name string) bool {
	_, err := cron.NewParser(f.option).Parse(name)
	return err == nil
}

// everyDay is how the library marks a field of days that is a star.
const everyDay = 1 << 63

// eitherDay reports whether the line names days of the month and weekdays, too. Cron then fires on both.
func (s *Schedule) eitherDay() bool {
	plan, ok := s.cron.(*cron.SpecSchedule)
	return ok && plan.Dom&everyDay == 0 && plan.Dow&everyDay == 0
}

// daysAYear is on how many days of a year it fires.
func (s *Schedule) daysAYear() (days int) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Nanosecond)
	for {
		if at = s.cron.Next(at); at.IsZero() || at.Year() > 2026 {
			return days
		}
		days++
		at = time.Date(at.Year(), at.Month(), at.Day(), 23, 59, 59, 0, time.UTC)
	}
}

// Words are the schedule as people say it: "at 10:00 each Monday".
func (s *Schedule) Words() string {
	plan, ok := s.cron.(*cron.SpecSchedule)
	if !ok {
		return s.text
	}
	words := timesOf(inRange(plan.Hour, 0, 23), inRange(plan.Minute, 0, 59))
	if days := daysOf(plan); days != "" {
		words += " " + days
	}
	if months := inRange(plan.Month, 1, 12); len(months) < 12 {
		words += " in " + listed(months, func(m int) string { return time.Month(m).String() })
	}
	return words
}

// inRange lists the numbers whose bits are set.
func inRange(bits uint64, from, to int) (out []int) {
	for n := from; n <= to; n++ {
		if bits&(1<<n) != 0 {
			out = append(out, n)
		}
	}
	return out
}

func timesOf(hours, minutes []int) string {
	switch step := evenStep(minutes); {
	case len(hours)*len(minutes) <= 6:
		var times []string
		for _, h := range hours {
			for _, m := range minutes {
				times = append(times, fmt.Sprintf("%02d:%02d", h, m))
			}
		}
		return "at " + units.Enumerate(times)
	case len(hours) == 24 && len(minutes) == 60:
		return "every minute"
	case len(minutes) == 60 && len(hours) == 1:
		return fmt.Sprintf("every minute from %02d:00 to %02d:59", hours[0], hours[0])
	case len(minutes) == 60:
		return "every minute of the hours " + listed(hours, strconv.Itoa)
	case len(hours) == 24 && step > 0:
		return fmt.Sprintf("every %d minutes", step)
	case len(hours) == 24:
		return "at minute " + listed(minutes, strconv.Itoa) + " of every hour"
	default:
		return "at minute " + listed(minutes, strconv.Itoa) + " of the hours " + listed(hours, strconv.Itoa)
	}
}

// evenStep is the distance of minutes that divide an hour evenly from its beginning; 0 for others.
func evenStep(minutes []int) int {
	if len(minutes) < 2 || minutes[0] != 0 || 60%len(minutes) != 0 {
		return 0
	}
	step := 60 / len(minutes)
	for i, m := range minutes {
		if m != i*step {
			return 0
		}
	}
	return step
}

func daysOf(plan *cron.SpecSchedule) string {
	dates := "on day " + listed(inRange(plan.Dom, 1, 31), strconv.Itoa) + " of the month"
	weekdays := "each " + listed(inRange(plan.Dow, 0, 6), func(n int) string { return time.Weekday(n).String() })
	switch anyDate, anyWeekday := plan.Dom&everyDay != 0, plan.Dow&everyDay != 0; {
	case anyDate && anyWeekday:
		return "each day"
	case anyDate:
		return weekdays
	case anyWeekday:
		return dates
	default:
		return dates + ", and also " + weekdays
	}
}

// listed writes numbers as people do: "1 to 7, 15 and 20".
func listed(numbers []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if last-i >= 2 {
			parts = append(parts, name(numbers[i])+" to "+name(numbers[last]))
			i = last + 1
			continue
		}
		parts = append(parts, name(numbers[i]))
		i++
	}
	return units.Enumerate(slices.Clip(parts))
}
