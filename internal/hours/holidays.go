package hours

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// Holidays are days that are quiet from midnight to midnight, each on the calendar of the place.
// The zero value has none.
type Holidays struct {
	dates  map[int64]bool // days since 1970-01-01
	yearly map[[2]int]bool
}

// A FileError is a line of a file that cannot be used.
type FileError struct {
	Line int
	Msg  string
	Hint string
}

func (e *FileError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Most that a file of holidays may have.
const (
	mostHolidayBytes = 1 << 20
	mostHolidays     = 10_000
)

const holidayHint = "write a date like 2026-12-25, or 12-25 for every year; what follows # is a comment"

// ReadHolidays reads one date a line, 2026-12-25, or 12-25 for every year. Empty lines, and what
// follows a #, say nothing. The errors are each line that is wrong, in their order.
func ReadHolidays(r io.Reader) (Holidays, []*FileError) {
	h := Holidays{dates: map[int64]bool{}, yearly: map[[2]int]bool{}}
	var faults []*FileError
	lines := bufio.NewScanner(io.LimitReader(r, mostHolidayBytes+1))
	n, size := 0, 0
	for lines.Scan() {
		n++
		size += len(lines.Bytes()) + 1
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if size > mostHolidayBytes || len(h.dates)+len(h.yearly) >= mostHolidays {
			return h, append(faults, &FileError{n, fmt.Sprintf("more than %d dates, or more than 1 MB", mostHolidays), "keep only the days that are to come"})
		}
		if fault := h.add(text); fault != "" && len(faults) < 20 {
			faults = append(faults, &FileError{n, fault, holidayHint})
		}
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, &FileError{n + 1, err.Error(), holidayHint})
	}
	return h, faults
}

// add takes one date and says what is wrong with it.
func (h *Holidays) add(text string) (fault string) {
	if len(text) == len("12-25") {
		// Every day of a leap year is one: 02-29 is quiet where there is one.
		t, err := time.Parse("2006-01-02", "2024-"+text)
		if err != nil {
			return fmt.Sprintf("%q is no day of the year", short(text))
		}
		h.yearly[[2]int{int(t.Month()), t.Day()}] = true
		return ""
	}
	t, err := time.Parse("2006-01-02", text)
	if err != nil {
		return fmt.Sprintf("%q is no date", short(text))
	}
	h.dates[t.Unix()/86400] = true
	return ""
}

// short is a text that is shown to people, when it is not what they meant to write.
func short(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Len is how many dates there are.
func (h *Holidays) Len() int { return len(h.dates) + len(h.yearly) }

// Past reports whether there are dates and all of them are before the day of now.
func (h *Holidays) Past(now time.Time) bool {
	if len(h.dates) == 0 || len(h.yearly) > 0 {
		return false
	}
	for date := range h.dates {
		if date >= now.Unix()/86400-1 { // a day late somewhere on earth
			return false
		}
	}
	return true
}

// has reports whether a day, counted since 1970-01-01, is one.
func (h *Holidays) has(date int64) bool {
	if h.dates[date] {
		return true
	}
	if len(h.yearly) == 0 {
		return false
	}
	_, month, d := time.Unix(date*86400, 0).UTC().Date()
	return h.yearly[[2]int{int(month), d}]
}
