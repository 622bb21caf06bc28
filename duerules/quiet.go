package duerules

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/hours"
)

// A quiet is the quiet hours of one trigger or job.
type quiet struct {
	rule     hours.Rule
	drop     bool
	maxDefer time.Duration
}

// ask holds back what would arrive in quiet hours.
func (r *quiet) ask(q question) nudgewire.Verdict {
	if r == nil {
		return nudgewire.Verdict{}
	}
	in := r.rule.In(q.now, q.zones)
	if in == nil {
		return nudgewire.Verdict{}
	}
	why := fmt.Sprintf("quiet hours are %s, and it is %s", &r.rule, q.now.In(in.Location()).Format("Mon 15:04")+" in "+in.String())
	switch {
	case q.facts.Begun:
		return q.putOff(nudgewire.RuleQuietHours, why, q.now, 0)
	case r.drop:
		return dropped(nudgewire.RuleQuietHours, why)
	}
	return q.putOff(nudgewire.RuleQuietHours, why, q.now, r.maxDefer)
}
