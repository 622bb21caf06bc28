package suite

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// accept ends the upload of a part with an answer that names messages.
func (l *ledger) accept(r messaging.Run, number int, ids, phones []string) {
	l.t.Helper()
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		l.t.Fatal(err)
	}
	p, err := l.claim(r.ID, number, noon)
	l.must(err)
	p.State, p.MessageIDs, p.Phones, p.HTTPStatus = messaging.PartAccepted, ids, phones, 200
	l.must(l.FinishPart(l.ctx, p))
}

// numbers are n ids from first on.
func numbers(first, n int) (ids []string) {
	for i := range n {
		ids = append(ids, strconv.Itoa(first+i))
	}
	return ids
}

func (s suite) follow(t *testing.T) {
	t.Run("the ids that an upload's answer names are messages, in the commit of its end", s.theIDsOfAnAnswerAreMessages)
	t.Run("a message that a file named is found by its number and in lists, with its run", s.aMessageOfAFileIsFoundWithItsRun)
	t.Run("a long list goes on after a restart, each id once, and its numbers are nobody else's", s.aLongListGoesOnAfterARestart)
	t.Run("an upload that was not accepted has no messages", s.anUploadThatWasNotAcceptedHasNoMessages)
}

func (s suite) theIDsOfAnAnswerAreMessages(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 2)
	l.accept(r, 1, []string{"9007199254740993", "7"}, []string{"", "447700900101"})
	same(t, "messages", map[string]int64{"accepted": 2}, l.runMessages(r.ID))
	got, err := l.ClaimPolls(l.ctx, noon.Add(time.Hour), time.Minute, 10)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d messages are asked about, %v", len(got), err)
	}
	want := messaging.Message{
		ID: 2, ServiceID: "7", Phone: "447700900101", Category: messaging.Marketing, Status: messaging.StatusAccepted,
		AcceptedAt: noon, StatusAt: noon, NextPollAt: noon.Add(time.Hour + time.Minute),
	}
	same(t, "message", want, got[1])
	if got[0].ServiceID != "9007199254740993" || got[0].Phone != "" {
		t.Errorf("the first is %s to %q: whose it is, nobody said", got[0].ServiceID, got[0].Phone)
	}
	l.mu.Lock()
	woken := l.poll
	l.mu.Unlock()
	if len(woken) == 0 || !woken[0].Equal(noon.Add(time.Second)) {
		t.Errorf("the tracker is woken for %v", woken)
	}
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: 2, Status: messaging.StatusDelivered, Final: true, At: noon.Add(time.Hour)}))
	same(t, "messages", map[string]int64{"accepted": 1, "delivered": 1}, l.runMessages(r.ID))
	if s, err := l.CountRunMessages(l.ctx, r.ID); err != nil || s != (messaging.RunCounts{Messages: 2, Ended: 1, Arrived: 1}) {
		t.Errorf("%+v, %v", s, err)
	}
	l.totals(map[string]int64{"messages_of_uploads": 2, "messages_delivered": 1, "polls": 1})
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: 2, Status: messaging.StatusRead, Final: true, At: noon.Add(2 * time.Hour)}))
	if s, err := l.CountRunMessages(l.ctx, r.ID); err != nil || s != (messaging.RunCounts{Messages: 2, Ended: 1, Arrived: 1, Read: 1}) {
		t.Errorf("once it was read: %+v, %v", s, err)
	}
	if p := l.part(r.ID, 1); p.Followed != 2 || p.MessageIDs != nil || p.Phones != nil {
		t.Errorf("the part: %+v", p)
	}
	if p := l.part(r.ID, 2); p.Followed != 0 {
		t.Errorf("the other part: %+v", p)
	}
}

func (s suite) aMessageOfAFileIsFoundWithItsRun(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 2)
	l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 1)))
	l.accept(r, 1, numbers(100, 3), nil)
	l.accept(r, 2, numbers(200, 2), []string{"447700900101", "447700900102"})
	m, err := l.MessageStory(l.ctx, 4)
	if err != nil || m.ServiceID != "102" || m.Message.Run != r.ID || m.Part != 1 || m.Trigger != "winback" || m.State != messaging.StateAccepted {
		t.Errorf("number 4 is %+v, %v", m, err)
	}
	if _, err := l.MessageStory(l.ctx, 7); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("number 7: %v", err)
	}
	if m, err := l.MessageByServiceID(l.ctx, "200"); err != nil || m.ID != 5 {
		t.Errorf("by the service's id: %+v, %v", m, err)
	}
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: 3, Status: messaging.StatusFailed, Error: "no such phone", At: noon.Add(time.Hour)}))
	lists := map[string]struct {
		filter store.MessageFilter
		want   []messaging.MessageID
	}{
		"all":                {store.MessageFilter{}, []messaging.MessageID{6, 5, 4, 3, 2, 1}},
		"the newest":         {store.MessageFilter{Limit: 3}, []messaging.MessageID{6, 5, 4}},
		"the next page":      {store.MessageFilter{Limit: 2, Before: 4}, []messaging.MessageID{3, 2}},
		"failed":             {store.MessageFilter{Status: messaging.StatusFailed}, []messaging.MessageID{3}},
		"accepted by state":  {store.MessageFilter{State: messaging.StateAccepted, Limit: 1}, []messaging.MessageID{6}},
		"waiting":            {store.MessageFilter{State: messaging.StateWaiting}, []messaging.MessageID{1}},
		"of an event":        {store.MessageFilter{EventID: 1}, nil},
		"of the job":         {store.MessageFilter{Trigger: "winback", Limit: 1}, []messaging.MessageID{6}},
		"of another":         {store.MessageFilter{Trigger: "birthday"}, nil},
		"of a phone":         {store.MessageFilter{Phone: "447700900101", Status: messaging.StatusAccepted}, []messaging.MessageID{5}},
		"since a later time": {store.MessageFilter{Since: noon.Add(time.Minute)}, nil},
	}
	for name, tt := range lists {
		found, err := l.Messages(l.ctx, tt.filter)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []messaging.MessageID
		for _, m := range found {
			got = append(got, m.ID)
		}
		same(t, name, tt.want, got)
	}
	same(t, "messages of both kinds", map[string]int64{"waiting": 1, "accepted": 4, "failed": 1}, l.runMessages(r.ID))
}

func (s suite) aLongListGoesOnAfterARestart(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	const n = 5000
	l.accept(r, 1, numbers(1, n), nil)
	first := l.runMessages(r.ID)["accepted"]
	if first == 0 || first == n {
		t.Fatalf("%d of %d messages came with the part's end", first, n)
	}
	if p := l.part(r.ID, 1); len(p.MessageIDs) != n || p.Followed != first {
		t.Errorf("the part keeps %d ids, %d are followed", len(p.MessageIDs), p.Followed)
	}
	again := reopenAfter(t, l)
	together(3, func(int) {
		if err := again.FollowRest(again.ctx); err != nil {
			t.Error(err)
		}
	})
	same(t, "messages", map[string]int64{"accepted": n}, again.runMessages(r.ID))
	var newest messaging.MessageID
	for _, id := range []string{"1", "2048", "2049", "5000"} {
		m, err := again.MessageByServiceID(again.ctx, messaging.ServiceID(id))
		if err != nil || m.ID <= newest {
			t.Errorf("message %s has number %d, %v", id, m.ID, err)
		}
		newest = m.ID
	}
	if p := again.part(r.ID, 1); p.MessageIDs != nil || p.Followed != n {
		t.Errorf("the part keeps %d ids, %d are followed", len(p.MessageIDs), p.Followed)
	}
	last := reopenAfter(t, again)
	last.must(last.Enqueue(last.ctx, r.ID, 1, rowsOf(r.ID, 1, 1)))
	if d := last.mustClaim(noon, 1); d[0].ID <= newest {
		t.Errorf("the next message is number %d", d[0].ID)
	}
}

func (s suite) anUploadThatWasNotAcceptedHasNoMessages(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	p, err := l.claim(r.ID, 1, noon)
	l.must(err)
	p.State, p.Reason, p.MessageIDs = messaging.PartInDoubt, "the answer was lost", []string{"1"}
	l.must(l.FinishPart(l.ctx, p))
	same(t, "messages", map[string]int64{}, l.runMessages(r.ID))
	p.State, p.Reason, p.Phones = messaging.PartAccepted, "", []string{"1", "2"}
	if err := l.FinishPart(l.ctx, p); err == nil || err.Error() != "finish part 1 of run 1: 2 phones for 1 messages" {
		t.Errorf("phones that do not fit: %v", err)
	}
}

func (s suite) messagesOfPart(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 2)
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	for number, phones := range [][]string{{"447700900101", "", "447700900103"}, nil} {
		p, err := l.claim(r.ID, number+1, noon)
		l.must(err)
		p.State, p.MessageIDs, p.Phones = messaging.PartAccepted, []string{"901", "902", "903"}, phones
		l.must(l.FinishPart(l.ctx, p))
	}
	got, err := l.MessagesOfPart(l.ctx, r.ID, 1)
	if err != nil || len(got) != 2 || got["447700900101"].ServiceID != "901" || got["447700900103"].ServiceID != "903" || got["447700900103"].Status != messaging.StatusAccepted {
		t.Errorf("part 1: %+v, %v", got, err)
	}
	if got, err := l.MessagesOfPart(l.ctx, r.ID, 2); err != nil || len(got) != 0 {
		t.Errorf("part 2, whose answer did not say whose they are: %+v, %v", got, err)
	}
}
