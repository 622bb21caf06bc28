package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
)

func (s suite) attention(t *testing.T) {
	look := func(l *ledger) report.Attention {
		t.Helper()
		a, err := l.report().Attention(l.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	t.Run("an empty ledger needs none", func(t *testing.T) {
		a := look(s.open(t))
		same(t, "doubts", report.InDoubtCount{}, a.InDoubt)
		same(t, "files in doubt", report.InDoubtCount{}, a.PartsInDoubt)
		same(t, "next", map[string]report.NextDue{"": {}}, a.Next)
	})
	t.Run("the oldest doubt, and what is due next in each lane", func(t *testing.T) {
		l := s.open(t)
		for i, key := range []string{"a", "b"} {
			l.at(noon.Add(time.Duration(i) * time.Hour))
			l.mustFinish(l.claimed(key), messaging.StateInDoubt)
		}
		id := l.followed("followed")
		l.at(noon)
		due := func(at time.Time, category messaging.Category) change {
			return func(p *messaging.Plan) {
				p.Proposals[0].Message.DueAt, p.Proposals[0].Message.Category = at, category
			}
		}
		l.enqueue("late", due(noon.Add(-time.Hour), messaging.Marketing))
		l.enqueue("later", due(noon.Add(-time.Minute), messaging.Marketing))
		l.enqueue("code", due(noon.Add(time.Minute), messaging.Utility))
		a := look(l)
		same(t, "in doubt", int64(2), a.InDoubt.Count)
		if first, second := l.message(1).UpdatedAt, l.message(2).UpdatedAt; !a.InDoubt.Since.Equal(first) || second.Before(first) {
			t.Errorf("in doubt since %v, want %v", a.InDoubt.Since, first)
		}
		next := a.Next[""]
		same(t, "marketing", noon.Add(-time.Hour), next.Marketing.UTC())
		same(t, "urgent", noon.Add(time.Minute), next.Urgent.UTC())
		m, err := l.MessageStory(l.ctx, id)
		l.must(err)
		same(t, "poll", m.NextPollAt.UTC(), next.Poll.UTC())

		l.mustHalt(messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, At: noon})
		if next = look(l).Next[""]; !next.Marketing.IsZero() || !next.Urgent.IsZero() {
			t.Errorf("halted, and %+v is due", next)
		}
	})
}
