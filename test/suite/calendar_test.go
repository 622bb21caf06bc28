package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
)

func (s suite) calendar(t *testing.T) {
	l := s.open(t)
	for i, at := range []time.Duration{time.Hour, 2 * time.Hour, 26 * time.Hour, 27 * time.Hour, 28 * time.Hour, 10 * day} {
		l.enqueue(fmt.Sprint(i), due(noon.Add(at)))
	}
	l.enqueue("urgent", due(noon.Add(25*time.Hour)), category(messaging.Authentication))
	l.enqueue("of an account", due(noon.Add(25*time.Hour)), func(p *messaging.Plan) { p.Proposals[0].Message.Account = "second" })
	l.mustFinish(l.mustClaim(noon.Add(time.Hour), 1)[0], messaging.StateAccepted)
	l.must(l.CancelMessage(l.ctx, 3, "by hand"))
	days := []report.DueDay{{From: noon, Until: noon.Add(day)}, {From: noon.Add(day), Until: noon.Add(2 * day)}, {From: noon.Add(2 * day), Until: noon.Add(3 * day)}}
	l.must(l.report().DueDays(l.ctx, days))
	same(t, "what waits, of all lanes and accounts", []int64{1, 4, 0}, []int64{days[0].Messages, days[1].Messages, days[2].Messages})
}
