package console

import (
	"testing"
	"time"
)

func TestTimesAreSaidAsPeopleSayThem(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 25, 12, 30, 0, 0, london) // the clocks went back at two in this night
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{now, "just now"},
		{now.Add(-59 * time.Second), "just now"},
		{now.Add(time.Second), "in a moment"},
		{now.Add(-time.Minute), "1 min ago"},
		{now.Add(-59*time.Minute - 59*time.Second), "59 min ago"},
		{now.Add(45*time.Minute + 30*time.Second), "in 45 min"},
		{now.Add(-time.Hour), "today 11:30"},
		{now.Add(3 * time.Hour), "today 15:30"},
		{time.Date(2026, 10, 25, 0, 0, 0, 0, london), "today 00:00"},
		{time.Date(2026, 10, 24, 23, 59, 0, 0, london), "yesterday 23:59"},
		{time.Date(2026, 10, 26, 10, 0, 0, 0, london), "tomorrow 10:00"},
		{time.Date(2026, 10, 27, 10, 0, 0, 0, london), "Tue 27 Oct, 10:00"},
		{time.Date(2026, 10, 23, 9, 5, 0, 0, time.UTC), "Fri 23 Oct, 10:05"},
		{time.Date(2025, 12, 31, 9, 5, 0, 0, london), "31 Dec 2025, 09:05"},
		{time.Date(2027, 1, 1, 0, 0, 0, 0, london), "1 Jan 2027, 00:00"},
	} {
		if got := spoken(tt.at, now); got != tt.want {
			t.Errorf("%s is said as %q, want %q", tt.at, got, tt.want)
		}
	}
	if got := exact(now.UTC(), london); got != "25 Oct 2026, 12:30:00" {
		t.Errorf("exactly it is %q", got)
	}
}

// A time in one of our sentences is shown as pages show times; what only looks like one stays.
func TestTimesInSentences(t *testing.T) {
	for words, want := range map[string]string{
		"":        "[]",
		"no time": "[no time]",
		"since 2026-10-25 12:30:01 UTC: the offer":                "[since ]<2026-10-25T12:30:01Z>[: the offer]",
		"2026-10-25 12:30 UTC":                                    "[]<2026-10-25T12:30:00Z>[]",
		"from 2026-10-25 12:30:01 UTC to 2026-10-26 00:00:00 UTC": "[from ]<2026-10-25T12:30:01Z>[ to ]<2026-10-26T00:00:00Z>[]",
		"on 2026-13-45 12:30:01 UTC":                              "[on ][2026-13-45 12:30:01 UTC][]",
		"at 2026-10-25 12:30 in Europe/London":                    "[at 2026-10-25 12:30 in Europe/London]",
	} {
		got := ""
		for _, one := range said(words) {
			if one.At.IsZero() {
				got += "[" + one.Text + "]"
			} else {
				got += "<" + one.At.Format(time.RFC3339) + ">"
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
