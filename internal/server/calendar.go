package server

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/report"
)

// calendarDays is how many days a calendar has, today among them.
const calendarDays = 14

// A DueDayView is how many messages wait to be sent in a day.
type DueDayView struct {
	From     time.Time `json:"from"` // when the day begins in the zone of the config; the first is today, with what is late
	Messages int64     `json:"messages"`
	More     bool      `json:"more,omitempty"` // there are more than that
}

func (a admin) calendar(ctx context.Context, _ None) ([]DueDayView, error) {
	now := a.Now().In(a.zone())
	days := make([]report.DueDay, calendarDays)
	day := func(i int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+i, 0, 0, 0, 0, now.Location())
	}
	for i := range days {
		days[i] = report.DueDay{From: day(i), Until: day(i + 1)}
	}
	days[0].From = time.UnixMicro(0) // what is late
	if err := a.numbers().DueDays(ctx, days); err != nil {
		return nil, err
	}
	out := make([]DueDayView, len(days))
	for i, d := range days {
		out[i] = DueDayView{From: day(i).UTC(), Messages: min(d.Messages, report.MostDue), More: d.Messages > report.MostDue}
	}
	return out, nil
}
