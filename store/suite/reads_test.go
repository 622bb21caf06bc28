package suite

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

func (s suite) reads(t *testing.T) {
	l := s.open(t)
	const ana, ben = nudgewire.Phone("447700900123"), nudgewire.Phone("447700900999")
	// Ten minutes apart: two phones in turn; the fourth has no phone, the fifth no trigger.
	for i := range 12 {
		p := cart(fmt.Sprint(i), received(noon.Add(time.Duration(i)*10*time.Minute)), phone([]nudgewire.Phone{ana, ben}[i%2]))
		p.Proposals[0].Message.CreatedAt = p.Event.ReceivedAt
		switch i {
		case 3:
			p.Event.Contact = nudgewire.Contact{PhoneProblem: "too short"}
			p.Proposals[0].Decision.Outcome = nudgewire.Skipped
		case 4:
			p.Proposals = nil
		case 5:
			p.Event.Connector, p.Event.Kind = "crm", "deal.won"
		}
		l.mustAccept(p)
	}
	t.Run("lists of events", func(t *testing.T) {
		tests := map[string]struct {
			filter store.EventFilter
			want   []nudgewire.EventID
		}{
			"are newest first":             {store.EventFilter{}, []nudgewire.EventID{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
			"stop at the limit":            {store.EventFilter{Limit: 2}, []nudgewire.EventID{12, 11}},
			"go on before an event":        {store.EventFilter{Limit: 2, Before: 11}, []nudgewire.EventID{10, 9}},
			"go on before a phone's event": {store.EventFilter{Limit: 2, Before: 11, Phone: ana}, []nudgewire.EventID{9, 7}},
			"go down to an event":          {store.EventFilter{DownTo: 11}, []nudgewire.EventID{12, 11}},
			"look at some of one kind":     {store.EventFilter{Kind: "deal.won", Before: 12, DownTo: 7}, nil},
			"are of one connector":         {store.EventFilter{Connector: "crm"}, []nudgewire.EventID{6}},
			"are of one kind":              {store.EventFilter{Kind: "cart.updated", Limit: 3}, []nudgewire.EventID{12, 11, 10}},
			"are of one phone":             {store.EventFilter{Phone: ben}, []nudgewire.EventID{12, 10, 8, 6, 2}},
			"are of one phone and kind":    {store.EventFilter{Phone: ben, Kind: "deal.won"}, []nudgewire.EventID{6}},
			"begin at a time":              {store.EventFilter{Since: noon.Add(100 * time.Minute)}, []nudgewire.EventID{12, 11}},
			"begin before all":             {store.EventFilter{Since: noon.Add(-time.Hour), Limit: 1}, []nudgewire.EventID{12}},
			"begin after all":              {store.EventFilter{Since: noon.Add(1000 * time.Hour)}, nil},
			"are of nobody":                {store.EventFilter{Phone: "44"}, nil},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				rows, err := l.Events(l.ctx, tt.filter)
				if err != nil {
					t.Fatal(err)
				}
				var got []nudgewire.EventID
				for _, r := range rows {
					got = append(got, r.ID)
				}
				same(t, "events", tt.want, got)
			})
		}
	})
	t.Run("a listed event shows its decisions and why it has no phone", func(t *testing.T) {
		rows, err := l.Events(l.ctx, store.EventFilter{Before: 5, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		e := rows[0]
		if e.Contact.PhoneProblem != "too short" || len(e.Decisions) != 1 || e.Decisions[0].Outcome != nudgewire.Skipped || e.Payload != nil {
			t.Errorf("%+v", e)
		}
	})
	at := noon.Add(3 * time.Hour)
	sent := l.mustClaim(at, 3)
	l.mustFinish(sent[0], nudgewire.StateAccepted)
	l.mustFinish(sent[1], nudgewire.StateRejected)
	l.mustFinish(sent[2], nudgewire.StateInDoubt)
	if err := l.CancelMessage(l.ctx, 10, "by hand"); err != nil {
		t.Fatal(err)
	}
	t.Run("lists of messages", func(t *testing.T) {
		tests := map[string]struct {
			filter store.MessageFilter
			want   []nudgewire.MessageID
		}{
			"are newest first":    {store.MessageFilter{Limit: 3}, []nudgewire.MessageID{10, 9, 8}},
			"go on before one":    {store.MessageFilter{Limit: 2, Before: 9}, []nudgewire.MessageID{8, 7}},
			"go down to one":      {store.MessageFilter{DownTo: 9}, []nudgewire.MessageID{10, 9}},
			"look at some":        {store.MessageFilter{State: nudgewire.StateAccepted, Before: 10, DownTo: 2}, nil},
			"are waiting":         {store.MessageFilter{State: nudgewire.StateWaiting, Limit: 2}, []nudgewire.MessageID{9, 8}},
			"are accepted":        {store.MessageFilter{State: nudgewire.StateAccepted}, []nudgewire.MessageID{1}},
			"are rejected":        {store.MessageFilter{State: nudgewire.StateRejected}, []nudgewire.MessageID{2}},
			"are in doubt":        {store.MessageFilter{State: nudgewire.StateInDoubt}, []nudgewire.MessageID{3}},
			"are cancelled":       {store.MessageFilter{State: nudgewire.StateCancelled}, []nudgewire.MessageID{10}},
			"are being sent":      {store.MessageFilter{State: nudgewire.StateSending}, nil},
			"have a status":       {store.MessageFilter{Status: nudgewire.StatusAccepted}, []nudgewire.MessageID{1}},
			"have another status": {store.MessageFilter{Status: nudgewire.StatusFailed}, nil},
			"have an odd status":  {store.MessageFilter{Status: "it's odd"}, nil},
			"are of a trigger":    {store.MessageFilter{Trigger: "remind", Limit: 1}, []nudgewire.MessageID{10}},
			"are of no trigger":   {store.MessageFilter{Trigger: "other"}, nil},
			"are of an event":     {store.MessageFilter{EventID: 6}, []nudgewire.MessageID{4}},
			"are of no event":     {store.MessageFilter{EventID: 5}, nil},
			"are of a phone":      {store.MessageFilter{Phone: ben}, []nudgewire.MessageID{10, 8, 6, 4, 2}},
			"begin at a time":     {store.MessageFilter{Since: noon.Add(100 * time.Minute)}, []nudgewire.MessageID{10, 9}},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				rows, err := l.Messages(l.ctx, tt.filter)
				if err != nil {
					t.Fatal(err)
				}
				var got []nudgewire.MessageID
				for _, r := range rows {
					got = append(got, r.ID)
				}
				same(t, "messages", tt.want, got)
			})
		}
		_, err := l.Messages(l.ctx, store.MessageFilter{State: "x' OR '1'='1"})
		wantErr(t, err, `list messages: unknown state "x' OR '1'='1"`)
	})
	t.Run("a message by the id that the service gave it", func(t *testing.T) {
		m, err := l.MessageByServiceID(l.ctx, "90071992547409931")
		if err != nil || m.ID != 1 {
			t.Errorf("by the service's id: %+v (%v)", m, err)
		}
	})
	t.Run("a story tells all events of a phone, the newest last, with what came of each", func(t *testing.T) {
		stories, err := l.Story(l.ctx, ana, 0)
		if err != nil {
			t.Fatal(err)
		}
		type told struct {
			Event    nudgewire.EventID
			Outcomes []nudgewire.Outcome
			Messages []nudgewire.State
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
		planned, waiting := []nudgewire.Outcome{nudgewire.Planned}, []nudgewire.State{nudgewire.StateWaiting}
		same(t, "story", []told{
			{1, planned, []nudgewire.State{nudgewire.StateAccepted}},
			{3, planned, []nudgewire.State{nudgewire.StateInDoubt}},
			{5, nil, nil},
			{7, planned, waiting},
			{9, planned, waiting},
			{11, planned, waiting},
		}, got)
		first, second := stories[0].Messages[0], stories[1].Messages[0]
		if first.Status == "" || first.ServiceID != "90071992547409931" || len(second.Attempts) != 1 || second.Status != "" {
			t.Errorf("ends: %+v, %+v", first, second)
		}
		if stories, err = l.Story(l.ctx, ana, 2); err != nil || len(stories) != 2 || stories[1].ID != 11 {
			t.Errorf("the newest two: %+v (%v)", stories, err)
		}
		if stories, err = l.Story(l.ctx, "44", 0); err != nil || len(stories) != 0 {
			t.Errorf("a stranger's story: %+v (%v)", stories, err)
		}
	})
	t.Run("an event's story has the payload", func(t *testing.T) {
		story, err := l.EventStory(l.ctx, 2)
		if err != nil || string(story.Payload) != `{"cart":"1"}` || len(story.Messages) != 1 || story.Messages[0].State != nudgewire.StateRejected {
			t.Errorf("%+v (%v)", story, err)
		}
	})
	t.Run("counts show what is alive", func(t *testing.T) {
		c, err := l.Counts(l.ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.Totals = nil
		same(t, "counts", store.Counts{Waiting: 6, InDoubt: 1, Tracking: 1, OldestDue: noon.Add(time.Hour)}, c)
		same(t, "overdue", 2*time.Hour, c.Overdue(at))
		same(t, "not yet", time.Duration(0), c.Overdue(noon))
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		tests := map[string]func() error{
			"event 99: not found":      func() error { _, err := l.Event(l.ctx, 99); return err },
			"message 99: not found":    func() error { _, err := l.Message(l.ctx, 99); return err },
			"message_id 99: not found": func() error { _, err := l.MessageByServiceID(l.ctx, "99"); return err },
			"message_id : not found":   func() error { _, err := l.MessageByServiceID(l.ctx, ""); return err },
		}
		for words, read := range tests {
			err := read()
			wantErr(t, err, words)
			if !errors.Is(err, nudgewire.ErrNotFound) {
				t.Errorf("%v is not ErrNotFound", err)
			}
		}
		if got, err := l.Decisions(l.ctx, 99); err != nil || len(got) != 0 {
			t.Errorf("decisions %+v (%v)", got, err)
		}
	})
	t.Run("a message is found by the status that it has, on its way and at its end", func(t *testing.T) {
		way := []nudgewire.Status{nudgewire.StatusAccepted, nudgewire.StatusQueued, "on a truck", nudgewire.StatusSent, nudgewire.StatusDelivered, nudgewire.StatusRead}
		find := func(id nudgewire.MessageID, is nudgewire.Status) {
			for _, status := range append(way, nudgewire.StatusFailed, nudgewire.StatusExpired) {
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
		find(1, nudgewire.StatusAccepted)
		for _, status := range way[1:] {
			if err := l.FinishPoll(l.ctx, nudgewire.Poll{MessageID: 1, Status: status, At: at, NextPollAt: at.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			find(1, status)
		}
		for _, status := range []nudgewire.Status{nudgewire.StatusFailed, nudgewire.StatusExpired} {
			d := l.mustClaim(at, 1)[0]
			l.mustFinish(d, nudgewire.StateAccepted)
			if err := l.FinishPoll(l.ctx, nudgewire.Poll{MessageID: d.ID, Status: status, Final: true, At: at}); err != nil {
				t.Fatal(err)
			}
			find(d.ID, status)
		}
	})
}

func (s suite) rejectedRequests(t *testing.T) {
	t.Run("a rejected request comes back, its long texts cut", func(t *testing.T) {
		l := s.open(t)
		want := nudgewire.RejectedRequest{
			Connector: "shop", Status: 401, Stage: "verify", Reason: "the signature does not match", Method: "POST", Bytes: 2048, Sample: "{", At: noon,
		}
		if err := l.RejectRequest(l.ctx, want); err != nil {
			t.Fatal(err)
		}
		long := want
		for range 12 {
			long.Connector, long.Reason, long.Sample, long.Method = long.Connector+long.Connector, long.Reason+long.Reason, long.Sample+"éé"+long.Sample, long.Method+long.Method
		}
		if err := l.RejectRequest(l.ctx, long); err != nil {
			t.Fatal(err)
		}
		got, err := l.RejectedRequests(l.ctx, store.RejectedRequestFilter{})
		if err != nil {
			t.Fatal(err)
		}
		want.ID = 1
		same(t, "rejected request", want, got[1])
		if r := got[0]; r.ID != 2 || len(r.Connector) != 100 || len(r.Reason) != 1000 || len(r.Sample) > 512 || len(r.Sample) < 510 || len(r.Method) != 100 {
			t.Errorf("%+v", r)
		}
		l.totals(map[string]int64{"requests_rejected": 2})
	})
	t.Run("lists narrow by connector and time", func(t *testing.T) {
		l := s.open(t)
		for i := range 6 {
			if err := l.RejectRequest(l.ctx, nudgewire.RejectedRequest{Connector: []string{"a", "b"}[i%2], At: noon.Add(time.Duration(i) * time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
		for want, filter := range map[string]store.RejectedRequestFilter{
			"[6 5 4 3 2 1]": {}, "[6 5]": {Limit: 2}, "[5 3 1]": {Connector: "a"}, "[6 5 4]": {Since: noon.Add(3 * time.Minute)}, "[]": {Connector: "c"},
		} {
			rows, err := l.RejectedRequests(l.ctx, filter)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
			if got := fmt.Sprint(ids); got != want {
				t.Errorf("%+v: %s, want %s", filter, got, want)
			}
		}
	})
}

func (s suite) configs(t *testing.T) {
	l := s.open(t)
	for _, text := range []string{"api: {}", "api: {rate: 20/s}"} {
		if err := l.SaveConfig(l.ctx, "v1", text, noon); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := l.Configs(l.ctx, func(version, text string) bool { got = append(got, version, text); return false })
		if err != nil {
			t.Fatal(err)
		}
		same(t, "configs", []string{"v1", text}, got)
	}
	t.Run("years of retention remove none, since what is open names one for as long as it is open", func(t *testing.T) {
		l := s.open(t)
		d := l.message(l.enqueue("1"))
		r := l.handedOver("1", 1)
		for _, version := range []string{d.Config, r.Config, "unused"} {
			if err := l.SaveConfig(l.ctx, version, "api: {}", noon); err != nil {
				t.Fatal(err)
			}
		}
		l.mustSet(r, nudgewire.RunPaused)
		l.retain(4000)
		same(t, "what waits", nudgewire.StateWaiting, l.message(d.ID).State)
		for _, version := range []string{d.Config, r.Config, "unused"} {
			if text, err := l.Config(l.ctx, version); err != nil || text != "api: {}" {
				t.Errorf("config %q: %q, %v", version, text, err)
			}
		}
	})
}

func (s suite) life(t *testing.T) {
	t.Run("numbers and memory go on after a restart", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1")
		d := l.mustClaim(noon.Add(time.Hour), 1)[0]
		last := l.mustAccept(order("2")).EventID
		l.close()

		again := reopen(t, l.dsn)
		if !again.mustAccept(cart("1")).Duplicate {
			t.Error("the duplicate was forgotten")
		}
		if r := again.mustAccept(cart("2")); r.EventID <= last || again.lastFacts().Tombstone == nil {
			t.Errorf("event %d, facts %+v", r.EventID, again.lastFacts())
		}
		if got := again.message(d.ID); got.State != nudgewire.StateSending {
			t.Errorf("the claim is %s", got.State)
		}
		again.mustFinish(d, nudgewire.StateAccepted) // the claim's owner is the same, so it still holds
	})
	t.Run("a reader sees what a writer commits and changes nothing", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1")
		r, err := store.Open(l.ctx, store.Options{DSN: l.dsn, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		l.enqueue("2")
		if rows, err := r.Events(l.ctx, store.EventFilter{}); err != nil || len(rows) != 2 {
			t.Errorf("%d events (%v)", len(rows), err)
		}
		wantErr(t, r.CancelMessage(l.ctx, 1, ""), "message 1: the store is open for reading only")
		if err := r.Ping(l.ctx); err != nil {
			t.Error(err)
		}
		same(t, "stats", store.Stats{}, r.Stats())
	})
	t.Run("a live store answers a ping and a closed one does not", func(t *testing.T) {
		l := s.open(t)
		if err := l.Ping(l.ctx); err != nil {
			t.Error(err)
		}
		l.close()
		l.close() // twice is harmless
		wantErr(t, l.Ping(l.ctx), "the store is closed")
	})
}
