package duerules

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A quiet is the quiet hours of one trigger or job.
type quiet struct {
	rule     hours.Rule
	drop     bool
	maxDefer time.Duration
}

// ask holds back what would arrive in quiet hours.
func (r *quiet) ask(q question) messaging.Verdict {
	if r == nil {
		return messaging.Verdict{}
	}
	in := r.rule.In(q.now, q.zones)
	if in == nil {
		return messaging.Verdict{}
	}
	why := fmt.Sprintf("quiet hours are %s, and it is %s", &r.rule, q.now.In(in.Location()).Format("Mon 15:04")+" in "+in.String())
	switch {
	case q.facts.Begun:
		return q.putOff(messaging.RuleQuietHours, why, q.now, 0)
	case r.drop:
		return dropped(messaging.RuleQuietHours, why)
	}
	return q.putOff(messaging.RuleQuietHours, why, q.now, r.maxDefer)
}
