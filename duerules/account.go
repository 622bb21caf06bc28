package duerules

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// An account is how many different contacts it may message in a window that rolls.
type account struct {
	limit units.Limit
	most  int64 // for marketing: without the reserve
}

// holds reports whether the account's limit is asked about a dispatch.
func (a *account) holds(d *nudgewire.Dispatch) bool {
	return !a.limit.IsZero() && d.Category == nudgewire.Marketing && d.Trigger != nudgewire.ByHand
}

// How long marketing waits before it asks again whether the account has room: a share of the window.
const (
	shortestPause = time.Minute
	longestPause  = time.Hour
	pauses        = 24
)

// ask holds back marketing to a contact that would be one too many.
func (a *account) ask(q question) nudgewire.Verdict {
	if !a.holds(q.dispatch) || !q.facts.New || int64(q.facts.Contacts) < a.most {
		return nudgewire.Verdict{}
	}
	pause := min(max(a.limit.Per/pauses, shortestPause), longestPause)
	were, are := " were", " are"
	if q.facts.Contacts == 1 {
		were = " was"
	}
	why := fmt.Sprintf("%s messaged in the last %s, and marketing may reach %s", units.Count(q.facts.Contacts, "contact")+were, a.limit.Window(), units.Number(a.most))
	if kept := a.limit.Most - a.most; kept > 0 {
		if kept == 1 {
			are = " is"
		}
		why += fmt.Sprintf(" of %s (%s%s kept for utility and authentication)", units.Number(a.limit.Most), units.Number(kept), are)
	}
	return q.putOff("limits", why, q.now.Add(pause), 0)
}
