package scheduler

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// stops says why a run that was built waits for a person; nothing for one that may go. last
// is the tally of the job's newest run that was sent, nil for none.
func (g Guard) stops(t messaging.Tally, last *messaging.Tally) []string {
	var why []string
	if g.MaxRows > 0 && t.Kept > g.MaxRows {
		why = append(why, fmt.Sprintf("%s more than guard.max_rows, %s", rowsAre(t.Kept), units.Number(g.MaxRows)))
	}
	if g.MaxChange > 0 && last != nil && last.Kept > 0 {
		times := float64(t.Kept) / float64(last.Kept)
		switch limit := float64(g.MaxChange); {
		case times > limit:
			why = append(why, fmt.Sprintf("%s %s of the last run's %s, and guard.max_change is %s", rowsAre(t.Kept), roundPercent(times), units.Number(last.Kept), g.MaxChange))
		case times < 1/limit:
			why = append(why, fmt.Sprintf("%s only %s of the last run's %s, and guard.max_change is %s", rowsAre(t.Kept), roundPercent(times), units.Number(last.Kept), g.MaxChange))
		}
	}
	if g.MaxPoints > 0 && t.Points > g.MaxPoints {
		why = append(why, fmt.Sprintf("%s points are more than guard.max_points, %s", tenths(t.Points), tenths(g.MaxPoints)))
	}
	if g.ApproveOver > 0 && t.Kept > g.ApproveOver {
		why = append(why, fmt.Sprintf("%s more than guard.approve_over, %s", rowsAre(t.Kept), units.Number(g.ApproveOver)))
	}
	return why
}

// tenths writes points with a tenth where there is one: 29.5, 30.
func tenths(points float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", points), ".0") }

func roundPercent(times float64) string { return fmt.Sprintf("%.0f%%", times*100) }

func rowsAre(n int64) string { return units.Count(n, "row") + verb(n, " is", " are") }
