package duerules

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func purseIn(t *testing.T, zone string, day, month float64) *Purse {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	r := New(loc, Account{})
	r.Budget(Budget{Day: day, Month: month})
	return r.Purse()
}

// A day begins with the first hour of UTC that begins in it, also where the clock changes, and each moment is in one day and one month.
func TestDaysOfTheBudget(t *testing.T) {
	for _, tt := range []struct{ zone, now, day, month, dayEnds, monthEnds string }{
		{"UTC", "2026-03-31T23:59:59Z", "2026-03-31T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", "2026-04-01T00:00:00Z"},
		{"Europe/London", "2026-03-29T12:00:00Z", "2026-03-29T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-29T23:00:00Z", "2026-03-31T23:00:00Z"}, // 23 hours
		{"Europe/London", "2026-10-25T12:00:00Z", "2026-10-24T23:00:00Z", "2026-09-30T23:00:00Z", "2026-10-26T00:00:00Z", "2026-11-01T00:00:00Z"}, // 25 hours
		{"Asia/Kolkata", "2026-02-28T18:40:00Z", "2026-02-27T19:00:00Z", "2026-01-31T19:00:00Z", "2026-02-28T19:00:00Z", "2026-02-28T19:00:00Z"},  // its clock has 00:10 of the first of March
		{"Asia/Kolkata", "2026-02-28T19:00:00Z", "2026-02-28T19:00:00Z", "2026-02-28T19:00:00Z", "2026-03-01T19:00:00Z", "2026-03-31T19:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-01T03:00:00Z", "2018-11-05T02:00:00Z", "2018-12-01T02:00:00Z"}, // it had no midnight
	} {
		p := purseIn(t, tt.zone, 1, 1)
		now, err := time.Parse(time.RFC3339, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		day, month := p.Begins(now)
		dayEnds, monthEnds := p.Ends(now)
		for i, got := range []time.Time{day, month, dayEnds, monthEnds} {
			if want := []string{tt.day, tt.month, tt.dayEnds, tt.monthEnds}[i]; got.UTC().Format(time.RFC3339) != want {
				t.Errorf("%s in %s: %d is %s, want %s", tt.now, tt.zone, i, got.UTC().Format(time.RFC3339), want)
			}
		}
	}
}

func TestTheBudgetHasRoomOrSaysWhen(t *testing.T) {
	now := time.Date(2026, 3, 30, 15, 0, 0, 0, time.UTC)
	point := int64(1000)
	for name, tt := range map[string]struct {
		day, month float64
		spent      messaging.Spent
		until, why string
		lasts      string // for all that is asked
	}{
		"room": {5, 9, messaging.Spent{Day: 4 * point, Month: 8 * point, Cost: point}, "", "", "2026-03-30 15:00"},
		"the day is full": {
			5, 0,
			messaging.Spent{Day: 4500, Month: 8 * point, Cost: point},
			"2026-03-31 00:00",
			"the budget of the day has no room: 4.5 of 5 points are spent, and this costs 1", "2026-03-31 00:00",
		},
		"the month is full, and the day, too": {
			5, 9,
			messaging.Spent{Day: 5 * point, Month: 9 * point, Cost: point},
			"2026-04-01 00:00",
			"the budget of the month has no room: 9 of 9 points are spent, and this costs 1", "2026-04-01 00:00",
		},
		"what costs nothing goes": {5, 9, messaging.Spent{Day: 6 * point, Month: 9 * point}, "", "", "2026-03-30 15:00"},
		"many": {
			5, 9,
			messaging.Spent{Day: 4 * point, Month: 7 * point, Cost: 13 * point},
			"2026-04-01 00:00",
			"the budget of the month has no room: 7 of 9 points are spent, and this costs 13", "2026-05-01 00:00",
		}, // 1 today, 1 tomorrow, 9 of April on two days, and 2 in May
	} {
		t.Run(name, func(t *testing.T) {
			p := purseIn(t, "UTC", tt.day, tt.month)
			until, why := p.Full(tt.spent, now)
			got := ""
			if !until.IsZero() {
				got = until.Format("2006-01-02 15:04")
			}
			if got != tt.until || why != tt.why {
				t.Errorf("until %q: %q", got, why)
			}
			if last := p.Lasts(tt.spent, now).Format("2006-01-02 15:04"); last != tt.lasts {
				t.Errorf("the last of it goes at %s, want %s", last, tt.lasts)
			}
		})
	}
}

// Of what the budget has no room for, marketing waits, and is dropped where it would expire; the rest goes.
func TestTheBudgetStopsMarketingOnly(t *testing.T) {
	now := time.Date(2026, 3, 30, 15, 0, 0, 0, time.UTC)
	r := New(time.UTC, Account{})
	r.Budget(Budget{Day: 5})
	full := &messaging.DueFacts{Spent: messaging.Spent{Day: 5000, Month: 5000, Cost: 1000}}
	for name, tt := range map[string]struct {
		message messaging.Message
		facts   messaging.DueFacts
		want    messaging.VerdictAction
	}{
		"marketing":                  {messaging.Message{Category: messaging.Marketing, EventID: 1}, *full, messaging.DeferSend},
		"a row of a job":             {messaging.Message{Category: messaging.Marketing}, *full, messaging.DeferSend},
		"utility":                    {messaging.Message{Category: messaging.Utility, EventID: 1}, *full, messaging.AllowSend},
		"a code":                     {messaging.Message{Category: messaging.Authentication, EventID: 1}, *full, messaging.AllowSend},
		"by hand":                    {messaging.Message{Category: messaging.Marketing, Trigger: messaging.ByHand}, *full, messaging.AllowSend},
		"a test":                     {messaging.Message{Category: messaging.Marketing, EventID: 1, Test: "me"}, *full, messaging.AllowSend},
		"one that was claimed":       {messaging.Message{Category: messaging.Marketing, EventID: 1}, messaging.DueFacts{Claimed: true, Spent: full.Spent}, messaging.AllowSend},
		"one that would be too late": {messaging.Message{Category: messaging.Marketing, EventID: 1, DueAt: now, ExpiresAt: now.Add(8 * time.Hour)}, *full, messaging.DropSend},
		"with room":                  {messaging.Message{Category: messaging.Marketing, EventID: 1}, messaging.DueFacts{Spent: messaging.Spent{Day: 4000, Cost: 1000}}, messaging.AllowSend},
	} {
		if v := MayGo(r, &tt.message, &tt.facts, now); v.Action != tt.want || v.Action != messaging.AllowSend && v.Rule != messaging.RuleBudget {
			t.Errorf("%s: %+v", name, v)
		}
		if asked := r.Needs(&tt.message).Budget != nil; asked != (tt.message.Category == messaging.Marketing && tt.message.Trigger == "" && tt.message.Test == "") {
			t.Errorf("%s: what was spent is asked: %v", name, asked)
		}
	}
}
