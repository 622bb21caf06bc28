// Package waits has the earliest times that something waits for, of all that a transaction left to do: so whoever does it is woken once.
package waits

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Waits are the earliest times that something waits for, by account.
type Waits []wait

// A wait has two times, because whoever hears that something is due already does not look for what comes
// after it: a sequence whose first step is due at once has its second one in the same commit.
type wait struct {
	account   string
	at, ahead int64 // the earliest, and the earliest that is to come; 0 for none of these
}

// Note says that something waits for that time.
func (w *Waits) Note(account string, at, now int64) {
	ahead := int64(0)
	if at > now {
		ahead = at
	}
	for i := range *w {
		if one := &(*w)[i]; one.account == account {
			one.at = min(one.at, at)
			if ahead != 0 && (one.ahead == 0 || ahead < one.ahead) {
				one.ahead = ahead
			}
			return
		}
	}
	*w = append(*w, wait{account, at, ahead})
}

// Earliest is the earliest of all times; ok is false where nothing waits.
func (w Waits) Earliest() (at int64, ok bool) {
	for i, one := range w {
		if i == 0 || one.at < at {
			at = one.at
		}
	}
	return at, len(w) > 0
}

// Tell tells whoever waits, once for each account.
func (w Waits) Tell(hook func(account string, at time.Time)) {
	if hook == nil {
		return
	}
	for _, one := range w {
		hook(one.account, engine.Moment(one.at))
		if one.ahead > one.at {
			hook(one.account, engine.Moment(one.ahead))
		}
	}
}
