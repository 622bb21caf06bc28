package duerules

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Whatever the quiet hours, the limits, the zone and the clock changes: messages that fall due for one contact are
// all sent in the end, none in quiet hours, and never more than a limit allows.
func TestWhatIsPutOffIsSentWithinEveryRule(t *testing.T) {
	places := []string{
		"Europe/London", "America/New_York", "America/Havana", "Asia/Beirut", "America/Santiago", "Australia/Lord_Howe",
		"Africa/Casablanca", "Africa/Cairo", "Pacific/Chatham", "Asia/Kolkata", "America/St_Johns", "Atlantic/Azores", "America/Asuncion",
	}
	starts := []time.Time{
		time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 3, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 9, 4, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC), time.Date(2027, 10, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 2, 27, 0, 0, 0, 0, time.UTC),
	}
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom(places).Draw(t, "place")
		loc, err := time.LoadLocation(place)
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.IntRange(0, 23*60+59).Draw(t, "from")
		length := rapid.IntRange(1, 20*60).Draw(t, "length")
		w := hours.Window{From: from, To: (from + length) % (24 * 60), Days: hours.Days(rapid.IntRange(1, 127).Draw(t, "days"))}
		keys := Keys{QuietHours: QuietHours{Set: true, Windows: []hours.Window{w}}}
		for range rapid.IntRange(1, 3).Draw(t, "limits") {
			l := units.Limit{Most: int64(rapid.IntRange(1, 3).Draw(t, "most"))}
			if l.Calendar = rapid.SampledFrom([]units.Calendar{"", units.Day, units.Week}).Draw(t, "calendar"); l.Calendar == "" {
				l.Per = time.Duration(rapid.IntRange(1, 72).Draw(t, "hours")) * time.Hour
			}
			keys.Limit.All = append(keys.Limit.All, Limit{Count: l})
		}
		r := New(time.UTC, Account{})
		r.Trigger("a", keys, hours.Holidays{})
		r.Job("b", keys, hours.Holidays{})

		start := rapid.SampledFrom(starts).Draw(t, "start")
		var waiting []*messaging.Message
		for i := range rapid.IntRange(1, 12).Draw(t, "messages") {
			d := &messaging.Message{EventID: 1, Trigger: "a", Category: messaging.Marketing, Zone: place}
			if i%3 == 2 {
				d.EventID, d.Trigger = 0, "b"
			}
			d.DueAt = start.Add(time.Duration(rapid.IntRange(0, 5*24*60).Draw(t, "due")) * time.Minute)
			waiting = append(waiting, d)
		}
		quiet := hours.Rule{Windows: []hours.Window{w}}
		var sends []messaging.PastSend // the newest first
		for steps := 0; len(waiting) > 0; steps++ {
			if steps > 2000 {
				t.Fatalf("%d messages are put off without end", len(waiting))
			}
			next := 0
			for i, d := range waiting {
				if d.DueAt.Before(waiting[next].DueAt) {
					next = i
				}
			}
			d := waiting[next]
			now := d.DueAt
			v := r.Decide(d, &messaging.DueFacts{Sends: recent(sends, now, r.Needs(d).Sends)}, now)
			switch v.Action {
			case messaging.DeferSend:
				if !v.Until.After(now) {
					t.Fatalf("put off from %s to %s: %s", now, v.Until, v.Reason)
				}
				d.DueAt = v.Until
			case messaging.AllowSend:
				if quiet.Quiet(now, hours.In(loc)) {
					t.Fatalf("sent at %s, in quiet hours", now.In(loc))
				}
				sends = append([]messaging.PastSend{{At: now, Category: messaging.Marketing, Trigger: d.Trigger}}, sends...)
				waiting = append(waiting[:next], waiting[next+1:]...)
			default:
				t.Fatalf("lost: %s", v.Reason)
			}
		}
		for _, l := range keys.Limit.All {
			if over := exceeded(l.Count, sends, loc); over != "" {
				t.Fatalf("%s: %s", l.Count, over)
			}
		}
	})
}

// recent is what the store gives of the sends: those of the time that was asked for.
func recent(sends []messaging.PastSend, now time.Time, back time.Duration) (in []messaging.PastSend) {
	for _, s := range sends {
		if s.At.After(now.Add(-back)) {
			in = append(in, s)
		}
	}
	return in
}

// exceeded counts in words of its own: by the name of the day or the week, or from each send on.
func exceeded(l units.Limit, sends []messaging.PastSend, loc *time.Location) string {
	by := map[string]int64{}
	for i, s := range sends {
		local := s.At.In(loc)
		switch l.Calendar {
		case units.Day:
			by[local.Format(time.DateOnly)]++
		case units.Week:
			year, week := local.ISOWeek()
			by[fmt.Sprint(year, " week ", week)]++
		default:
			for _, earlier := range sends[i:] {
				if s.At.Sub(earlier.At) < l.Per {
					by[fmt.Sprintf("send %d back from the last, at %s", i, s.At)]++
				}
			}
		}
	}
	for what, n := range by {
		if n > l.Most {
			return fmt.Sprintf("%d messages, %s", n, what)
		}
	}
	return ""
}
