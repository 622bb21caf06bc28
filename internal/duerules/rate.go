package duerules

import (
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Rate is how many messages of a trigger, or rows of a job, leave in a window. It is no average: all may go at once,
// and then none until the window ends. A window of the calendar begins in a zone; any other begins with the first
// that leaves in it. The zero value is none.
type Rate struct{ units.Limit }

// UnmarshalText reads 500/h, 5000 per day or 200 per 30m.
func (r *Rate) UnmarshalText(text []byte) error {
	if strings.Contains(string(text), "/") {
		rate, err := units.ParseRate(string(text))
		r.Limit = units.Limit{Most: rate.Count, Per: rate.Per}
		return err
	}
	limit, err := units.ParseLimit(string(text))
	if err != nil {
		return &units.Error{Msg: fmt.Sprintf("%q is no rate", text), Next: "write 500/h, 5000 per day, or 200 per 30m"}
	}
	if limit.Most < 1 {
		return &units.Error{Msg: fmt.Sprintf("%q lets nothing go", text), Next: "write 1 or more; mode: off is what sends nothing"}
	}
	r.Limit = limit
	return nil
}

// Schema describes the text to editors.
func (Rate) Schema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^[0-9]+\s*(/\s*(s|m|min|h|d)|per [0-9a-z. ]+)$`}
}

// From is the earliest that a window which holds now may have begun.
func (r Rate) From(now time.Time, zone *time.Location) time.Time {
	if r.Calendar == "" {
		return now.Add(time.Microsecond - r.Per) // as exact as the store is
	}
	return r.unit(now, zone, 0)
}

// Next is when the window that began at since ends.
func (r Rate) Next(since time.Time, zone *time.Location) time.Time {
	if r.Calendar == "" {
		return since.Add(r.Per)
	}
	return r.unit(since, zone, 1)
}

// Longest is how long a window is at the most, but for a day on which the clocks change.
func (r Rate) Longest() time.Duration {
	const day = 24 * time.Hour
	switch r.Calendar {
	case units.Day:
		return day
	case units.Week:
		return 7 * day
	case units.Month:
		return 31 * day
	default:
		return r.Per
	}
}

// unit is when the unit of the calendar that holds t begins, or one that comes after it.
func (r Rate) unit(t time.Time, zone *time.Location, after int) time.Time {
	y, m, d := t.In(zone).Date()
	switch r.Calendar {
	case units.Week:
		d += 7*after - (int(t.In(zone).Weekday())+6)%7
	case units.Month:
		m, d = m+time.Month(after), 1
	default:
		d += after
	}
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

// Sentence says what the rate of a trigger means, for people.
func (r Rate) Sentence() string {
	if r.IsZero() {
		return "It has no rate of its own: it goes as fast as the account may."
	}
	in, ends := units.Spell(r.Per), "that window ends"
	if r.Calendar != "" {
		in, ends = "a "+string(r.Calendar), "the next "+string(r.Calendar)
	}
	if r.Most == 1 {
		return fmt.Sprintf("At most 1 message of it leaves in %s; what is beyond that waits until %s.", in, ends)
	}
	return fmt.Sprintf("At most %s of it leave in %s, all at once if they can; what is beyond that waits until %s.", units.Count(r.Most, "message"), in, ends)
}

// askRate holds back a message that its trigger's window has no room for. One that goes says in which window.
func (r *Rules) askRate(rate Rate, q question) messaging.Verdict {
	w := q.facts.Window.At(q.now, rate.From(q.now, r.zone), 0)
	if w.Used < rate.Most {
		return messaging.Verdict{Window: w.Since}
	}
	why := fmt.Sprintf("%s of %s were taken for sending by %s since %s", units.Number(w.Used), rate, q.message.Trigger, q.stamp(w.Since))
	return q.putOff(messaging.RuleRate, why, rate.Next(w.Since, r.zone), 0)
}
