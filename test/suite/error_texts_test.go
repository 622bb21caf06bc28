package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// errorTexts is what the service said about messages that it did not send.
func (s suite) errorTexts(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	t.Run("texts that differ by numbers are one, the newest first", func(t *testing.T) {
		l := s.open(t)
		l.at(at)
		for i := range 3 {
			l.refused(l.claimed(fmt.Sprint(i)), messaging.StateRejected, "", fmt.Sprintf("flow  token x%d9 for +4477****%d expired", i, 10+i), at)
		}
		l.at(at.Add(time.Hour))
		d := l.claimed("4")
		l.refused(d, messaging.StateAccepted, "", "", at)
		l.says(d.ID, messaging.StatusFailed, "", "error 131049: no", at)
		e := l.claimed("5")
		l.refused(e, messaging.StateWaiting, messaging.ErrorRecipientLimit, "error 131050: no", at)
		got, err := report.Records{Store: l.Store}.ErrorTexts(l.ctx, time.Time{}, 0)
		l.must(err)
		want := []report.ErrorText{
			{Text: "error 131049: no", Sample: "error 131049: no", Failed: 1, First: at.Add(time.Hour), Last: at.Add(time.Hour), Message: d.ID},
			{Text: "error 131050: no", Sample: "error 131050: no", Rejected: 1, First: at.Add(time.Hour), Last: at.Add(time.Hour), Message: e.ID},
			{Text: "flow token # for +# expired", Sample: "flow  token x29 for +4477****12 expired", Rejected: 3, First: at, Last: at, Message: 3},
		}
		same(t, "texts", want, got)
		for class, want := range map[string][]messaging.MessageID{"recipient_limit": {e.ID}, "unknown": {d.ID, 3, 2, 1}, "template": nil} {
			rows, err := l.Messages(l.ctx, store.MessageFilter{Class: class})
			l.must(err)
			var ids []messaging.MessageID
			for i := range rows {
				ids = append(ids, rows[i].ID)
			}
			same(t, "of the class "+class, want, ids)
		}
		got, err = report.Records{Store: l.Store}.ErrorTexts(l.ctx, at.Add(time.Minute), 1)
		if err != nil || len(got) != 1 {
			t.Errorf("since a while, at most one: %v, %v", got, err)
		}
		story, err := l.MessageStory(l.ctx, e.ID)
		if err != nil || len(story.Attempts) != 1 || story.Attempts[0].Class != messaging.ErrorRecipientLimit || story.Attempts[0].Words != "error 131050: no" {
			t.Errorf("the attempt: %+v, %v", story.Attempts, err)
		}
		if story, err = l.MessageStory(l.ctx, d.ID); err != nil || story.Status == "" || story.ErrorClass != "" {
			t.Errorf("the message: %+v, %v", story.Message, err)
		}
	})
	t.Run("messages are counted and found by the words of why they ended", func(t *testing.T) {
		l := s.open(t)
		l.at(at)
		for i := range 2 {
			d := l.claimed(fmt.Sprint(i))
			l.refused(d, messaging.StateAccepted, "", "", at)
			l.says(d.ID, messaging.StatusFailed, messaging.ErrorPermanent, "it's not on the network", at)
		}
		d := l.claimed("2")
		l.refused(d, messaging.StateAccepted, "", "", at)
		l.says(d.ID, messaging.StatusFailed, "", "nobody is there", at)
		refused := l.claimed("3")
		l.refused(refused, messaging.StateRejected, "", "bad template", at)
		failed, err := l.TallyByReason(l.ctx, store.MessageFilter{Status: messaging.StatusFailed})
		l.must(err)
		same(t, "why messages failed", []store.Tally{{Words: "it's not on the network", N: 2}, {Words: "nobody is there", N: 1}}, failed)
		rejected, err := l.TallyByReason(l.ctx, store.MessageFilter{State: messaging.StateRejected})
		l.must(err)
		same(t, "why messages were rejected", []store.Tally{{Words: "refused: bad template", N: 1}}, rejected)
		for words, want := range map[string]int{"it's not on the network": 2, "nobody is there": 1, "refused: bad template": 1, "bad template": 0} {
			if rows, err := l.Messages(l.ctx, store.MessageFilter{Words: words}); err != nil || len(rows) != want {
				t.Errorf("%q finds %d messages, %v, want %d", words, len(rows), err, want)
			}
		}
	})
	t.Run("no code that was sent stays in a text", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1", func(p *messaging.Plan) { p.Proposals[0].Message.Send.Forget = true })
		l.refused(d, messaging.StateAccepted, "", "", at)
		l.says(d.ID, messaging.StatusFailed, "", "your code is 734912, but nobody is there", at)
		got, err := report.Records{Store: l.Store}.ErrorTexts(l.ctx, time.Time{}, 0)
		if err != nil || len(got) != 1 || got[0].Sample != "your code is #, but nobody is there" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
