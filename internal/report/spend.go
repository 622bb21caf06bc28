package report

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A SpendView is what may be spent, and what of it is.
type SpendView struct {
	Priced bool         `json:"priced"`           // the config says what a message costs; else no points are counted
	Budget []BudgetView `json:"budget,omitempty"` // of the day and of the month; of neither that the config does not bound
}

// A BudgetView is the budget of the day or of the month.
type BudgetView struct {
	Of    string    `json:"of" kind:"ours"` // day or month
	Most  float64   `json:"most"`           // points
	Spent float64   `json:"spent"`          // with what is on its way or in doubt
	Until time.Time `json:"until"`          // when it is filled again
	Met   bool      `json:"met"`            // marketing waits, or some of it: what is left is less than a message may cost
}

// nearly is the part of a budget at which people are told.
const nearly = 0.8

// Budget asks what of a budget is spent; nil is none. dear is what a message of marketing costs at the most.
func (r Records) Budget(ctx context.Context, p *duerules.Purse, dear float64, now time.Time) (out []BudgetView, err error) {
	if p == nil {
		return nil, nil
	}
	s, err := r.Spent(ctx, p, now)
	day, month := p.Most()
	dayEnds, monthEnds := p.Ends(now)
	add := func(of string, most, spent int64, until time.Time) {
		if most > 0 {
			out = append(out, BudgetView{of, messaging.Points(most), messaging.Points(spent), until.UTC(), most-spent < max(1, messaging.Thousandths(dear))})
		}
	}
	add("day", day, s.Day, dayEnds)
	add("month", month, s.Month, monthEnds)
	return out, err
}

// Nearly reports whether so much is spent that people are told.
func (b *BudgetView) Nearly() bool { return b.Met || b.Spent >= nearly*b.Most }

// Percent is how much of it is spent.
func (b *BudgetView) Percent() int { return int(100 * b.Spent / b.Most) }

// Words are "412.5 of 500 points of the day".
func (b *BudgetView) Words() string {
	return fmt.Sprintf("%s of %s points of the %s", PointsWords(b.Spent), PointsWords(b.Most), b.Of)
}

// PointsWords are points for people.
func PointsWords(points float64) string { return strconv.FormatFloat(points, 'f', -1, 64) }
