package hours

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/units"
)

const day = 24 * 60 // minutes

// A Window is a stretch of the day that is quiet: from minute From of the day up to and without
// minute To. Where To is not later than From it ends on the day after. It belongs to the day on
// which it begins.
type Window struct {
	From, To int // minutes since midnight, From below 24:00, To up to 24:00
	Days     Days
}

// Days is a set of days of the week: bit time.Sunday, bit time.Monday, and so on.
type Days uint8

// Everyday is all seven.
const Everyday Days = 1<<7 - 1

// Has reports whether d is one of the days.
func (s Days) Has(d time.Weekday) bool { return s&(1<<d) != 0 }

// An Error is a text that cannot be used, and what to write instead.
type Error = units.Error

const windowHint = "write it like 21:00-09:00, with days before it like mon-fri 21:00-09:00"

// ParseWindow reads "21:00-09:00", or days and a window: "mon-fri 21:00-09:00", "sat,sun
// 00:00-24:00". A window that names no day has those given. The error is an *Error.
func ParseWindow(text string, days Days) (Window, error) {
	bad := func(format string, args ...any) (Window, error) {
		return Window{}, &Error{Msg: fmt.Sprintf(format, args...), Next: windowHint}
	}
	fields := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(text, ", ", ","), " - ", "-"))
	switch len(fields) {
	case 0:
		return bad("is empty, wants hours")
	case 1:
	case 2:
		named, err := ParseDays(fields[0])
		if err != nil {
			return Window{}, err
		}
		days, fields = named, fields[1:]
	default:
		return bad("%q is not a window of hours", text)
	}
	begin, end, ok := strings.Cut(fields[0], "-")
	if !ok {
		return bad("%q does not say from when to when", text)
	}
	from, okFrom := minuteOf(begin)
	to, okTo := minuteOf(end)
	switch {
	case !okFrom || from == day:
		return bad("%q is not a time of day", begin)
	case !okTo:
		return bad("%q is not a time of day", end)
	case from == to:
		return Window{}, &Error{Msg: fmt.Sprintf("%q begins when it ends", text), Next: "a whole day is 00:00-24:00"}
	}
	return Window{From: from, To: to, Days: days}, nil
}

// minuteOf reads "09:00", "9:00" or "24:00".
func minuteOf(text string) (minute int, ok bool) {
	if text == "24:00" {
		return day, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// ParseDays reads "mon", "mon-fri", "sat,sun", "weekdays", "weekend" or "daily"; names may be
// written out, in any case. The error is an *Error.
func ParseDays(text string) (Days, error) {
	var days Days
	for part := range strings.SplitSeq(text, ",") {
		one, err := daysOf(strings.ToLower(strings.TrimSpace(part)))
		if err != nil {
			return 0, err
		}
		days |= one
	}
	return days, nil
}

// UnmarshalText reads what ParseDays does.
func (s *Days) UnmarshalText(text []byte) (err error) {
	*s, err = ParseDays(string(text))
	return err
}

func daysOf(text string) (Days, error) {
	switch text {
	case "weekdays":
		text = "mon-fri"
	case "weekend", "weekends":
		text = "sat-sun"
	case "daily", "everyday":
		return Everyday, nil
	}
	from, to, span := strings.Cut(text, "-")
	first, ok := weekday(from)
	last := first
	if span && ok {
		last, ok = weekday(to)
	}
	if !ok {
		return 0, &Error{Msg: fmt.Sprintf("%q is no day of the week", text), Next: "write mon, tue, wed, thu, fri, sat or sun, or a span such as mon-fri"}
	}
	var days Days
	for d := first; ; d = (d + 1) % 7 {
		days |= 1 << d
		if d == last {
			return days, nil
		}
	}
}

// weekday reads a day's name, short or written out.
func weekday(text string) (time.Weekday, bool) {
	if i := slices.Index(weekdays, text); i >= 0 {
		return time.Weekday(i), true
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(text, d.String()) {
			return d, true
		}
	}
	return 0, false
}

// String writes the days as they are read: "mon-fri", "sun,wed"; "" for all of them.
func (s Days) String() string {
	if s == Everyday {
		return ""
	}
	var parts []string
	for i := range 7 {
		d := time.Weekday((i + 1) % 7) // a week is written from Monday
		if !s.Has(d) || i > 0 && s.Has((d+6)%7) {
			continue
		}
		last := d
		for last != time.Sunday && s.Has((last+1)%7) {
			last = (last + 1) % 7
		}
		switch {
		case last == d:
			parts = append(parts, weekdays[d])
		case last == (d+1)%7:
			parts = append(parts, weekdays[d], weekdays[last])
		default:
			parts = append(parts, weekdays[d]+"-"+weekdays[last])
		}
	}
	return strings.Join(parts, ",")
}

// String writes the window as it is read: "21:00-09:00", "sat,sun 00:00-24:00".
func (w Window) String() string {
	return strings.TrimLeft(fmt.Sprintf("%s %02d:%02d-%02d:%02d", w.Days, w.From/60, w.From%60, w.To/60, w.To%60), " ")
}

// covers reports whether the window is open at a minute of a day of the week.
func (w Window) covers(today time.Weekday, minute int) bool {
	if w.From < w.To {
		return w.Days.Has(today) && minute >= w.From && minute < w.To
	}
	return w.Days.Has(today) && minute >= w.From || w.Days.Has((today+6)%7) && minute < w.To
}
