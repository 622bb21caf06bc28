package suite

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (s suite) reads(t *testing.T) {
	l := s.open(t)
	// Ten minutes apart: two phones in turn; the fourth has no phone, the fifth no trigger.
	for i := range 12 {
		p := cart(fmt.Sprint(i), received(noon.Add(time.Duration(i)*10*time.Minute)), phone([]messaging.Phone{ana, ben}[i%2]))
		p.Proposals[0].Message.CreatedAt = p.Event.ReceivedAt
		switch i {
		case 3:
			p.Event.Contact = messaging.Contact{PhoneProblem: "too short"}
			p.Proposals[0].Decision.Outcome = messaging.Skipped
		case 4:
			p.Proposals = nil
		case 5:
			p.Event.Connector, p.Event.Kind = "crm", "deal.won"
		}
		l.mustAccept(p)
	}
	t.Run("lists of events", func(t *testing.T) { listsOfEvents(t, l) })
	t.Run("a listed event shows its decisions and why it has no phone", func(t *testing.T) { aListedEventShowsItsDecisions(t, l) })
	at := noon.Add(3 * time.Hour)
	sent := l.mustClaim(at, 3)
	l.mustFinish(sent[0], messaging.StateAccepted)
	l.mustFinish(sent[1], messaging.StateRejected)
	l.mustFinish(sent[2], messaging.StateInDoubt)
	l.must(l.CancelMessage(l.ctx, 10, "by hand"))
	t.Run("lists of messages", func(t *testing.T) { listsOfMessages(t, l) })
	t.Run("a message by the id that the service gave it", func(t *testing.T) { aMessageIsFoundByTheServicesID(t, l) })
	t.Run("a story tells all events of a phone, the newest last, with what came of each", func(t *testing.T) { aStoryTellsAllEventsOfAPhone(t, l) })
	t.Run("an event's story has the payload", func(t *testing.T) { anEventsStoryHasThePayload(t, l) })
	t.Run("counts show what is alive", func(t *testing.T) { countsShowWhatIsAlive(t, l, at) })
	t.Run("what is not there is not found", func(t *testing.T) { whatIsNotThereIsNotFound(t, l) })
	t.Run("a message is found by the status that it has, on its way and at its end", func(t *testing.T) { aMessageIsFoundByTheStatusThatItHas(t, l, at) })
}

func listsOfEvents(t *testing.T, l *ledger) {
	tests := map[string]struct {
		filter store.EventFilter
		want   []messaging.EventID
	}{
		"are newest first":             {store.EventFilter{}, []messaging.EventID{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
		"stop at the limit":            {store.EventFilter{Limit: 2}, []messaging.EventID{12, 11}},
		"go on before an event":        {store.EventFilter{Limit: 2, Before: 11}, []messaging.EventID{10, 9}},
		"go on before a phone's event": {store.EventFilter{Limit: 2, Before: 11, Phone: ana}, []messaging.EventID{9, 7}},
		"go down to an event":          {store.EventFilter{DownTo: 11}, []messaging.EventID{12, 11}},
		"look at some of one kind":     {store.EventFilter{Kind: "deal.won", Before: 12, DownTo: 7}, nil},
		"are of one connector":         {store.EventFilter{Connector: "crm"}, []messaging.EventID{6}},
		"are of one kind":              {store.EventFilter{Kind: "cart.updated", Limit: 3}, []messaging.EventID{12, 11, 10}},
		"are of one phone":             {store.EventFilter{Phone: ben}, []messaging.EventID{12, 10, 8, 6, 2}},
		"are of one phone and kind":    {store.EventFilter{Phone: ben, Kind: "deal.won"}, []messaging.EventID{6}},
		"begin at a time":              {store.EventFilter{Since: noon.Add(100 * time.Minute)}, []messaging.EventID{12, 11}},
		"begin before all":             {store.EventFilter{Since: noon.Add(-time.Hour), Limit: 1}, []messaging.EventID{12}},
		"begin after all":              {store.EventFilter{Since: noon.Add(1000 * time.Hour)}, nil},
		"are decided by a trigger":     {store.EventFilter{Trigger: "remind", Limit: 2}, []messaging.EventID{12, 11}},
		"were skipped":                 {store.EventFilter{Outcome: messaging.Skipped}, []messaging.EventID{4}},
		"were skipped by a trigger":    {store.EventFilter{Trigger: "remind", Outcome: messaging.Skipped, DownTo: 3}, []messaging.EventID{4}},
		"were skipped by another":      {store.EventFilter{Trigger: "vip", Outcome: messaging.Skipped}, nil},
		"are of a phone, and skipped":  {store.EventFilter{Phone: ben, Outcome: messaging.Skipped}, nil},
		"are of nobody":                {store.EventFilter{Phone: "44"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rows, err := l.Events(l.ctx, tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []messaging.EventID
			for _, r := range rows {
				got = append(got, r.ID)
			}
			same(t, "events", tt.want, got)
		})
	}
}

func aListedEventShowsItsDecisions(t *testing.T, l *ledger) {
	rows, err := l.Events(l.ctx, store.EventFilter{Before: 5, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := rows[0]
	if e.Contact.PhoneProblem != "too short" || len(e.Decisions) != 1 || e.Decisions[0].Outcome != messaging.Skipped || e.Payload != nil {
		t.Errorf("%+v", e)
	}
}

func listsOfMessages(t *testing.T, l *ledger) {
	tests := map[string]struct {
		filter store.MessageFilter
		want   []messaging.MessageID
	}{
		"are newest first":    {store.MessageFilter{Limit: 3}, []messaging.MessageID{10, 9, 8}},
		"go on before one":    {store.MessageFilter{Limit: 2, Before: 9}, []messaging.MessageID{8, 7}},
		"go down to one":      {store.MessageFilter{DownTo: 9}, []messaging.MessageID{10, 9}},
		"look at some":        {store.MessageFilter{State: messaging.StateAccepted, Before: 10, DownTo: 2}, nil},
		"are waiting":         {store.MessageFilter{State: messaging.StateWaiting, Limit: 2}, []messaging.MessageID{9, 8}},
		"are accepted":        {store.MessageFilter{State: messaging.StateAccepted}, []messaging.MessageID{1}},
		"are rejected":        {store.MessageFilter{State: messaging.StateRejected}, []messaging.MessageID{2}},
		"are in doubt":        {store.MessageFilter{State: messaging.StateInDoubt}, []messaging.MessageID{3}},
		"are cancelled":       {store.MessageFilter{State: messaging.StateCancelled}, []messaging.MessageID{10}},
		"are being sent":      {store.MessageFilter{State: messaging.StateSending}, nil},
		"have a status":       {store.MessageFilter{Status: messaging.StatusAccepted}, []messaging.MessageID{1}},
		"have another status": {store.MessageFilter{Status: messaging.StatusFailed}, nil},
		"have an odd status":  {store.MessageFilter{Status: "it's odd"}, nil},
		"are of a trigger":    {store.MessageFilter{Trigger: "remind", Limit: 1}, []messaging.MessageID{10}},
		"are of no trigger":   {store.MessageFilter{Trigger: "other"}, nil},
		"are of an event":     {store.MessageFilter{EventID: 6}, []messaging.MessageID{4}},
		"are of no event":     {store.MessageFilter{EventID: 5}, nil},
		"are of a phone":      {store.MessageFilter{Phone: ben}, []messaging.MessageID{10, 8, 6, 4, 2}},
		"begin at a time":     {store.MessageFilter{Since: noon.Add(100 * time.Minute)}, []messaging.MessageID{10, 9}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rows, err := l.Messages(l.ctx, tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []messaging.MessageID
			for _, r := range rows {
				got = append(got, r.ID)
			}
			same(t, "messages", tt.want, got)
		})
	}
	_, err := l.Messages(l.ctx, store.MessageFilter{State: "x' OR '1'='1"})
	wantErr(t, err, `list messages: unknown state "x' OR '1'='1"`)
}

func aMessageIsFoundByTheServicesID(t *testing.T, l *ledger) {
	m, err := l.MessageByServiceID(l.ctx, "90071992547409931")
	if err != nil || m.ID != 1 {
		t.Errorf("by the service's id: %+v (%v)", m, err)
	}
}

func aStoryTellsAllEventsOfAPhone(t *testing.T, l *ledger) {
	stories, err := history.Records{Store: l.Store}.Story(l.ctx, ana, 0)
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		Event    messaging.EventID
		Outcomes []messaging.Outcome
		Messages []messaging.State
	}
	var got []told
	for _, s := range stories {
		one := told{Event: s.ID}
		for _, d := range s.Decisions {
			one.Outcomes = append(one.Outcomes, d.Outcome)
		}
		for _, d := range s.Messages {
			one.Messages = append(one.Messages, d.State)
		}
		got = append(got, one)
	}
	planned, waiting := []messaging.Outcome{messaging.Planned}, []messaging.State{messaging.StateWaiting}
	same(t, "story", []told{
		{1, planned, []messaging.State{messaging.StateAccepted}},
		{3, planned, []messaging.State{messaging.StateInDoubt}},
		{5, nil, nil},
		{7, planned, waiting},
		{9, planned, waiting},
		{11, planned, waiting},
	}, got)
	first, second := stories[0].Messages[0], stories[1].Messages[0]
	if first.Status == "" || first.ServiceID != "90071992547409931" || len(second.Attempts) != 1 || second.Status != "" {
		t.Errorf("ends: %+v, %+v", first, second)
	}
	if stories, err = (history.Records{Store: l.Store}).Story(l.ctx, ana, 2); err != nil || len(stories) != 2 || stories[1].ID != 11 {
		t.Errorf("the newest two: %+v (%v)", stories, err)
	}
	if stories, err = (history.Records{Store: l.Store}).Story(l.ctx, "44", 0); err != nil || len(stories) != 0 {
		t.Errorf("a stranger's story: %+v (%v)", stories, err)
	}
}

func anEventsStoryHasThePayload(t *testing.T, l *ledger) {
	story, err := history.Records{Store: l.Store}.EventStory(l.ctx, 2)
	if err != nil || string(story.Payload) != `{"cart":"1"}` || len(story.Messages) != 1 || story.Messages[0].State != messaging.StateRejected {
		t.Errorf("%+v (%v)", story, err)
	}
}

func countsShowWhatIsAlive(t *testing.T, l *ledger, at time.Time) {
	c, err := report.Records{Store: l.Store}.Counts(l.ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.Totals = nil
	same(t, "counts", report.Counts{Waiting: 6, InDoubt: 1, Tracking: 1, OldestDue: noon.Add(time.Hour)}, c)
	same(t, "overdue", 2*time.Hour, c.Overdue(at))
	same(t, "not yet", time.Duration(0), c.Overdue(noon))
}

func whatIsNotThereIsNotFound(t *testing.T, l *ledger) {
	tests := map[string]func() error{
		"event 99: not found":      func() error { _, err := l.Event(l.ctx, 99); return err },
		"message 99: not found":    func() error { _, err := l.Message(l.ctx, 99); return err },
		"message_id 99: not found": func() error { _, err := l.MessageByServiceID(l.ctx, "99"); return err },
		"message_id : not found":   func() error { _, err := l.MessageByServiceID(l.ctx, ""); return err },
	}
	for words, read := range tests {
		err := read()
		wantErr(t, err, words)
		if !errors.Is(err, messaging.ErrNotFound) {
			t.Errorf("%v is not ErrNotFound", err)
		}
	}
	if got, err := l.Decisions(l.ctx, 99); err != nil || len(got) != 0 {
		t.Errorf("decisions %+v (%v)", got, err)
	}
}

func aMessageIsFoundByTheStatusThatItHas(t *testing.T, l *ledger, at time.Time) {
	way := []messaging.Status{messaging.StatusAccepted, messaging.StatusQueued, "on a truck", messaging.StatusSent, messaging.StatusDelivered, messaging.StatusRead}
	find := func(id messaging.MessageID, is messaging.Status) {
		for _, status := range append(way, messaging.StatusFailed, messaging.StatusExpired) {
			rows, err := l.Messages(l.ctx, store.MessageFilter{Status: status, Trigger: "remind"})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(rows, func(d store.MessageStory) bool { return d.ID == id })
			if found != (status == is) {
				t.Errorf("message %d is %s; among those %s: %v", id, is, status, found)
			}
		}
	}
	find(1, messaging.StatusAccepted)
	for _, status := range way[1:] {
		if err := l.FinishPoll(l.ctx, messaging.Poll{MessageID: 1, Status: status, At: at, NextPollAt: at.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		find(1, status)
	}
	for _, status := range []messaging.Status{messaging.StatusFailed, messaging.StatusExpired} {
		d := l.mustClaim(at, 1)[0]
		l.mustFinish(d, messaging.StateAccepted)
		if err := l.FinishPoll(l.ctx, messaging.Poll{MessageID: d.ID, Status: status, Final: true, At: at}); err != nil {
			t.Fatal(err)
		}
		find(d.ID, status)
	}
}
