package duerules

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// An account is how many different contacts it may message in a window that rolls.
type account struct {
	limit units.Limit
	most  int64 // for marketing: without the reserve
}

// holds reports whether the account's limit is asked about a message. What a person orders is not held back by it, and counts, as the service counts
// it.
func (a *account) holds(d *messaging.Message) bool {
	return !a.limit.IsZero() && d.Category == messaging.Marketing && d.Trigger != messaging.ByHand && d.Test == ""
}

// How long marketing waits before it asks again whether the account has room: a share of the window.
const (
	shortestPause = time.Minute
	longestPause  = time.Hour
	pauses        = 24
)

// pause is how long it waits.
func (a *account) pause() time.Duration {
	return min(max(a.limit.Per/pauses, shortestPause), longestPause)
}

// ask holds back marketing to a contact that would be one too many.
func (a *account) ask(q question) messaging.Verdict {
	if !a.holds(q.message) || !q.facts.New || int64(q.facts.Contacts) < a.most {
		return messaging.Verdict{}
	}
	return q.putOff(messaging.RuleAccount, a.accountLimitWords(int64(q.facts.Contacts)), q.now.Add(a.pause()), 0)
}

// accountLimitWords say that the account has no room.
func (a *account) accountLimitWords(contacts int64) string {
	were, are := " were", " are"
	if contacts == 1 {
		were = " was"
	}
	why := fmt.Sprintf("%s messaged in the last %s, and marketing may reach %s", units.Count(contacts, "contact")+were, a.limit.Window(), units.Number(a.most))
	if kept := a.limit.Most - a.most; kept > 0 {
		if kept == 1 {
			are = " is"
		}
		why += fmt.Sprintf(" of %s (%s%s kept for utility and authentication)", units.Number(a.limit.Most), units.Number(kept), are)
	}
	return why
}

// A Reach is what an account's limit lets lists of marketing reach. Two are equal where the rules are the same; the
// zero value is no limit.
type Reach struct {
	account
}

// Reach is what the limit of an account says to a list of a category. By says which account: "" is that of
// the section api.
func (r *Rules) Reach(by string, c messaging.Category) Reach {
	if r == nil || c != messaging.Marketing {
		return Reach{}
	}
	return Reach{*r.by(&messaging.Message{Account: by})}
}

// IsZero reports whether there is no limit.
func (a Reach) IsZero() bool { return a.limit.IsZero() }

// Most is how many different contacts may be reached in Per.
func (a Reach) Most() int64 { return a.most }

// Per is how long the window is.
func (a Reach) Per() time.Duration { return a.limit.Per }

// Pause is how long a list waits before it asks again.
func (a Reach) Pause() time.Duration { return a.pause() }

// Least is how many contacts need room before a part of a list leaves alone: else it would leave in many small files.
func (a Reach) Least() int64 { return max(1, a.most/pauses) }

// Why says that there is no room, in words with the numbers.
func (a Reach) Why(contacts int64) string { return a.accountLimitWords(contacts) }

// String is the limit as it is read: 9,000 per 24h.
func (a Reach) String() string { return units.Number(a.most) + " per " + a.limit.Window() }
