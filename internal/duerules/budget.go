package duerules

import (
	"math"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Budget is what may be spent in points before marketing waits. 0 is without end.
type Budget struct {
	Day   float64 `yaml:"day" validate:"min=0" example:"500" doc:"Most points of a day, by the clock of defaults.timezone. Marketing beyond it waits for the next day."`
	Month float64 `yaml:"month" validate:"min=0" example:"9000" doc:"Most points of a month, in the same way."`
}

// A Purse is the budget with the clock that it goes by: what messages of marketing, and files of it, may still cost. Points are counted in
// thousandths, and by the hours of UTC: a day begins with the first of them that begins in it, as days of reports do.
type Purse struct {
	day, month int64
	zone       *time.Location
}

// Budget sets what may be spent.
func (r *Rules) Budget(b Budget) {
	r.purse = nil
	if b.Day > 0 || b.Month > 0 {
		r.any, r.purse = true, &Purse{messaging.Thousandths(b.Day), messaging.Thousandths(b.Month), r.zone}
	}
}

// Purse is the budget; nil for none.
func (r *Rules) Purse() *Purse {
	if r == nil {
		return nil
	}
	return r.purse
}

// Of is what files of a category go by; nil where they are not held back.
func (p *Purse) Of(c messaging.Category) *Purse {
	if c != messaging.Marketing {
		return nil
	}
	return p
}

// holds reports whether a message may have to wait for the budget. What a person orders counts in it and is not held back by it.
func (p *Purse) holds(d *messaging.Message) bool {
	return p.Of(d.Category) != nil && d.Trigger != messaging.ByHand && d.Test == ""
}

// Begins implements messaging.Calendar.
func (p *Purse) Begins(now time.Time) (day, month time.Time) {
	y, m, d := now.In(p.zone).Date()
	if day = p.dayAt(y, m, d); now.Before(day) {
		d--
		day = p.dayAt(y, m, d)
	}
	if month = p.dayAt(y, m, 1); now.Before(month) {
		month = p.dayAt(y, m-1, 1)
	}
	return day, month
}

// Ends are when the day and the month of now end.
func (p *Purse) Ends(now time.Time) (day, month time.Time) {
	begun, first := p.Begins(now)
	y, m, d := begun.In(p.zone).Date()
	day = p.dayAt(y, m, d+1)
	y, m, _ = first.In(p.zone).Date()
	return day, p.dayAt(y, m+1, 1)
}

// dayAt is when a day begins: with the first hour of UTC that begins in it.
func (p *Purse) dayAt(y int, m time.Month, d int) time.Time {
	at := dayBegins(y, m, d, p.zone).UTC()
	if whole := at.Truncate(time.Hour); whole.Before(at) {
		return whole.Add(time.Hour)
	}
	return at
}

// Left is how many thousandths of points may still be spent.
func (p *Purse) Left(s messaging.Spent) int64 {
	left := int64(math.MaxInt64)
	if p.day > 0 {
		left = p.day - s.Day
	}
	if p.month > 0 {
		left = min(left, p.month-s.Month)
	}
	return left
}

// Full says when the purse is filled again that has no room for cost, and why that has to wait, in words with the numbers; the zero time
// where it has room. What costs nothing always has.
func (p *Purse) Full(s messaging.Spent, now time.Time) (until time.Time, why string) {
	if s.Cost <= 0 || s.Cost <= p.Left(s) {
		return time.Time{}, ""
	}
	day, month := p.Ends(now)
	if p.month > 0 && s.Month+s.Cost > p.month {
		return month, budgetWords(s.Month, p.month, "month", s.Cost)
	}
	return day, budgetWords(s.Day, p.day, "day", s.Cost)
}

// farthest is as far as anybody looks ahead.
const farthest = 10 * 366 * 24 * time.Hour

// Lasts is when the last of what costs so much may go, were nothing else spent: now where all has room.
func (p *Purse) Lasts(s messaging.Spent, now time.Time) time.Time {
	last := now.Add(farthest)
	for left := max(0, p.Left(s)); s.Cost > left && now.Before(last); left = max(0, p.Left(s)) {
		s.Cost, s.Day, s.Month = s.Cost-left, s.Day+left, s.Month+left
		day, month := p.Ends(now)
		if now = day; p.month > 0 && s.Month >= p.month || p.day == 0 {
			now = month
		}
		if s.Day = 0; !now.Before(month) {
			s.Month = 0
		}
	}
	return now
}

func budgetWords(spent, of int64, unit string, cost int64) string {
	return "the budget of the " + unit + " has no room: " + pointsOf(spent) + " of " + pointsOf(of) + " points are spent, and this costs " + pointsOf(cost)
}

// pointsOf are thousandths of points for people.
func pointsOf(thousandths int64) string {
	return strconv.FormatFloat(messaging.Points(thousandths), 'f', -1, 64)
}

// Most are the points of a day and a month; 0 for no bound.
func (p *Purse) Most() (day, month int64) { return p.day, p.month }

// String is the budget as it is read: 500 points a day, 9000 a month.
func (p *Purse) String() string {
	switch {
	case p.month == 0:
		return pointsOf(p.day) + " points a day"
	case p.day == 0:
		return pointsOf(p.month) + " points a month"
	}
	return pointsOf(p.day) + " points a day and " + pointsOf(p.month) + " a month"
}

// Words say what something costs beside what may be spent.
func (p *Purse) Words(s messaging.Spent) string {
	words := pointsOf(s.Cost) + " points, with a budget of " + p.String() + ", of which"
	if p.day > 0 {
		words += " " + pointsOf(s.Day) + " are spent today"
	}
	if p.day > 0 && p.month > 0 {
		words += " and"
	}
	if p.month > 0 {
		words += " " + pointsOf(s.Month) + " this month"
	}
	return words
}

// ask puts off marketing that the purse has no room for.
func (p *Purse) ask(q question) messaging.Verdict {
	if !p.holds(q.message) {
		return messaging.Verdict{}
	}
	until, why := p.Full(q.facts.Spent, q.now)
	if until.IsZero() {
		return messaging.Verdict{}
	}
	v := q.putOff(messaging.RuleBudget, why, until, 0)
	v.Common = "the budget has no room"
	return v
}
