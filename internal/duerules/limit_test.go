package duerules

import (
	"testing"
	"time"
)

// A day begins with its first minute, also where the clock jumps over midnight or shows it twice.
func TestADayBeginsWithItsFirstMinute(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/London", "America/New_York", "America/Havana", "Asia/Beirut", "America/Santiago", "America/Asuncion", "Africa/Cairo",
		"Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll", "Atlantic/Azores", "America/Scoresbysund", "America/Nuuk", "Pacific/Chatham",
	} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		was := ""
		start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		for at := start; at.Year() < 2028; at = at.Add(15 * time.Minute) {
			local := at.In(loc)
			date := local.Format(time.DateOnly)
			if date == was || was == "" {
				was = date
				continue
			}
			// Every clock change of these years is at a full quarter of an hour, so this is the first minute.
			if was < date {
				if got := dayBegins(local.Year(), local.Month(), local.Day(), loc); !got.Equal(at) {
					t.Errorf("%s begins at %s, want %s", date, got, local)
				}
			}
			was = date
		}
		if got := dayBegins(2026, 12, 32, loc).In(loc).Format(time.DateOnly); got != "2027-01-01" {
			t.Errorf("32 December in %s begins on %s", name, got)
		}
	}
}
