package report

import (
	"context"
	"time"
)

// calendarDays is how many days a calendar has, today among them.
const calendarDays = 14

// A DueDayView is how many messages wait to be sent in a day.
type DueDayView struct {
	From     time.Time `json:"from"` // when the day begins in the zone of the config; the first is today, with what is late
	Messages int64     `json:"messages"`
	More     bool      `json:"more,omitempty"` // there are more than that
}

func (s Reports) Calendar(ctx context.Context, _ struct{}) ([]DueDayView, error) {
	now := s.Now().In(s.Zone())
	days := make([]DueDay, calendarDays)
	day := func(i int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+i, 0, 0, 0, 0, now.Location())
	}
	for i := range days {
		days[i] = DueDay{From: day(i), Until: day(i + 1)}
	}
	days[0].From = time.UnixMicro(0) // what is late
	if err := s.DueDays(ctx, days); err != nil {
		return nil, err
	}
	out := make([]DueDayView, len(days))
	for i, d := range days {
		out[i] = DueDayView{From: day(i).UTC(), Messages: min(d.Messages, MostDue), More: d.Messages > MostDue}
	}
	return out, nil
}
