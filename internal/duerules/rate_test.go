package duerules

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

func TestARateIsAskedLastAndForEveryCategory(t *testing.T) {
	used := func(since string, n int64) messaging.UsedWindow {
		return messaging.UsedWindow{Since: moment(t, since), Used: n}
	}
	tests := map[string]struct {
		rate, yaml string
		window     messaging.UsedWindow
		alter      func(d *messaging.Message)
		now        string
		began      string // the window in which it goes
		action     messaging.VerdictAction
		until      string
		reason     string // a part of it
	}{
		"the first of all begins a window": {rate: "3/h", now: "2026-11-22 12:00", began: "2026-11-22 12:00"},
		"there is room":                    {rate: "3/h", window: used("2026-11-22 11:30", 2), now: "2026-11-22 12:00", began: "2026-11-22 11:30"},
		"the window is used up": {
			rate: "3/h", window: used("2026-11-22 11:30", 3), now: "2026-11-22 12:00", action: messaging.DeferSend, until: "2026-11-22 12:30",
			reason: "3 of 3 per 1h were taken for sending by remind since 2026-11-22 11:30:00 UTC; next at 2026-11-22 12:30:00 UTC",
		},
		"at its end begins the next":   {rate: "3/h", window: used("2026-11-22 11:00", 3), now: "2026-11-22 12:00", began: "2026-11-22 12:00"},
		"a day is that of the place":   {rate: "3 per day", window: used("2026-06-22 23:30", 3), now: "2026-06-23 22:59", action: messaging.DeferSend, until: "2026-06-23 23:00"},
		"and its next is another":      {rate: "3 per day", window: used("2026-06-22 23:30", 3), now: "2026-06-23 23:00", began: "2026-06-23 23:00"},
		"a day before midnight counts": {rate: "3 per day", window: used("2026-06-22 22:30", 3), now: "2026-06-22 23:00", began: "2026-06-22 23:00"},
		"a rate that is lower now":     {rate: "2/h", window: used("2026-11-22 11:30", 5), now: "2026-11-22 12:00", action: messaging.DeferSend, until: "2026-11-22 12:30", reason: "5 of 2 per 1h"},
		"for utility, too":             {rate: "3/h", window: used("2026-11-22 11:30", 3), now: "2026-11-22 12:00", action: messaging.DeferSend, until: "2026-11-22 12:30", alter: func(d *messaging.Message) { d.Category = messaging.Utility }},
		"not for what a person sends":  {rate: "3/h", window: used("2026-11-22 11:30", 3), now: "2026-11-22 12:00", alter: func(d *messaging.Message) { d.Trigger = messaging.ByHand }},
		"nor for a job of that name":   {rate: "3/h", window: used("2026-11-22 11:30", 3), now: "2026-11-22 12:00", alter: func(d *messaging.Message) { d.EventID = 0 }},
		"quiet hours come before it, so it uses nothing": {
			rate: "3/h", yaml: "quiet_hours: 11:00-14:00", now: "2026-11-22 12:00", action: messaging.DeferSend, until: "2026-11-22 14:00", reason: "quiet hours",
		},
		"its window ends at a quiet hour": {
			rate: "3/h", yaml: "quiet_hours: 21:00-09:00", window: used("2026-11-22 20:30", 3), now: "2026-11-22 20:40", action: messaging.DeferSend, until: "2026-11-23 09:00",
		},
		"it would expire before": {
			rate: "3/h", window: used("2026-11-22 11:30", 3), now: "2026-11-22 12:00", action: messaging.DropSend, reason: "and it expires at 2026-11-22 12:10:00 UTC",
			alter: func(d *messaging.Message) { d.ExpiresAt = moment(t, "2026-11-22 12:10") },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var rate Rate
			if err := rate.UnmarshalText([]byte(tt.rate)); err != nil {
				t.Fatal(err)
			}
			r := ruled(t, tt.yaml+"\nconsent: optional")
			r.Rate("remind", rate)
			d := reminder()
			if d.DueAt = moment(t, tt.now); tt.alter != nil {
				tt.alter(d)
			}
			if needs, want := r.Needs(d), d.Trigger == "remind" && d.EventID > 0; needs.Window != want || !r.Any() {
				t.Errorf("needs %+v", needs)
			}
			v := r.Decide(d, &messaging.DueFacts{Window: tt.window}, moment(t, tt.now))
			var began, until time.Time
			if tt.began != "" {
				began = moment(t, tt.began)
			}
			if tt.until != "" {
				until = moment(t, tt.until)
			}
			if v.Action != tt.action || !v.Window.Equal(began) || !v.Until.Equal(until) || !strings.Contains(v.Reason, tt.reason) {
				t.Errorf("%+v, want %q until %s in the window of %s: %s", v, tt.action, until, began, tt.reason)
			}
		})
	}
}

func TestWithoutARateNoWindowIsNeeded(t *testing.T) {
	r := ruled(t, "consent: optional")
	if r.Rate("remind", Rate{}); r.Any() || r.Needs(reminder()).Window {
		t.Error("a window is needed, and there is no rate")
	}
}

func TestRatesAreCheckedInWords(t *testing.T) {
	for text, want := range map[string]string{
		"0 per day":  `"0 per day" lets nothing go`,
		"many":       `"many" is no rate`,
		"5 per blue": `"5 per blue" is no rate`,
		"0/h":        `"0/h" is not above zero`,
	} {
		var r Rate
		err := r.UnmarshalText([]byte(text))
		if hinted, ok := errors.AsType[*units.Error](err); !ok || err.Error() != want || hinted.Next == "" {
			t.Errorf("%q: %v, want %s and a hint", text, err, want)
		}
	}
}
