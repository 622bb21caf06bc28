package scheduler

import (
	"strings"
	"testing"
	"time"
)

func TestACronLineInWords(t *testing.T) {
	for line, want := range map[string]string{
		"0 10 * * MON":       "at 10:00 each Monday",
		"0 10 * * 1-5":       "at 10:00 each Monday to Friday",
		"30 9 * * 7":         "at 09:30 each Sunday",
		"0 9,18 * * *":       "at 09:00 and 18:00 each day",
		"*/15 * * * *":       "every 15 minutes each day",
		"5 * * * *":          "at minute 5 of every hour each day",
		"* * * * *":          "every minute each day",
		"* 10 * * *":         "every minute from 10:00 to 10:59 each day",
		"0 9-17 * * MON,WED": "at minute 0 of the hours 9 to 17 each Monday and Wednesday",
		"0 10 1 * *":         "at 10:00 on day 1 of the month",
		"0 10 1,15 6,7 *":    "at 10:00 on day 1 and 15 of the month in June and July",
		"0 10 1-7 * MON":     "at 10:00 on day 1 to 7 of the month, and also each Monday",
		"@daily":             "at 00:00 each day",
		"@hourly":            "at minute 0 of every hour each day",
	} {
		s, err := ParseSchedule(line, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Words(); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
		if either := strings.Contains(want, "and also"); s.eitherDay() != either {
			t.Errorf("%s names days and weekdays: %v", line, s.eitherDay())
		}
	}
	s, err := ParseSchedule("0 10 1-7 * MON", time.UTC)
	if err != nil || s.daysAYear() != 7*12+52-12 { // a Monday in each first week counts once
		t.Errorf("it fires on %d days a year (%v)", s.daysAYear(), err)
	}
}

func TestAFaultOfACronLineNamesTheField(t *testing.T) {
	for line, want := range map[string]string{
		"0 25 * * *":      `its hour is "25", and hours go from 0 to 23`,
		"60 1 * * *":      `its minute is "60", and minutes go from 0 to 59`,
		"0 10 0 * *":      `its day is "0", and days of a month go from 1 to 31`,
		"0 10 * 13 *":     `its month is "13", and months go from 1 to 12, or from JAN to DEC`,
		"0 10 * * 8":      `its weekday is "8", and weekdays go from 0 (Sunday) to 7 (Sunday), or from SUN to SAT`,
		"0 10 * * MON#1":  `its weekday is "MON#1", and weekdays go from 0 (Sunday) to 7 (Sunday), or from SUN to SAT; cron has no first Monday of a month`,
		"0 10 * * Monday": `its weekday is "Monday", and weekdays go from 0 (Sunday) to 7 (Sunday), or from SUN to SAT; did you mean MON?`,
		"0 10 15W * *":    `its day is "15W", and days of a month go from 1 to 31; cron has no working day next to a date`,
		"0 10 * June *":   `its month is "June", and months go from 1 to 12, or from JAN to DEC; did you mean JUN?`,
		"0 9 * * 5L":      `cron knows no month's last Friday`,
		"0 9 L * *":       `the last day of a month is not known here`,
		"0 9-30 * * *":    `its hour is "9-30", and hours go from 0 to 23`,
	} {
		_, err := ParseSchedule(line, time.UTC)
		if err == nil {
			t.Errorf("%s is taken", line)
			continue
		}
		if msg, hint := clockErrorWords(err); !strings.Contains(msg+"; "+hint, want) || strings.Contains(msg, "strconv") {
			t.Errorf("%s: %s; %s", line, msg, hint)
		}
	}
}
