package suite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// followed stores an accepted message whose first look is due at once.
func (l *ledger) followed(key string) messaging.MessageID {
	l.t.Helper()
	d := l.claimed(key)
	a := attempt(d, messaging.StateAccepted)
	a.Message.NextPollAt = a.At
	l.must(l.Finish(l.ctx, a))
	return d.ID
}

func (s suite) polls(t *testing.T) {
	start := noon.Add(2 * time.Hour)
	t.Run("due messages are claimed once, longest waiting first, and again after the lease", s.dueMessagesAreAskedAboutOnce)

	type look struct {
		status messaging.Status
		final  bool
	}
	tests := map[string]struct {
		looks []look
		want  messaging.Status
		final bool
		seen  []messaging.Status // whose first-seen times are set
	}{
		"the usual way":                          {[]look{{"queued", false}, {"sent", false}, {"delivered", true}}, "delivered", true, []messaging.Status{"sent", "delivered"}},
		"delivered becomes read":                 {[]look{{"delivered", true}, {"read", true}}, "read", true, []messaging.Status{"delivered", "read"}},
		"delivered becomes nothing else":         {[]look{{"delivered", true}, {"failed", true}, {"sent", false}, {"odd", false}}, "delivered", true, []messaging.Status{"delivered"}},
		"delivered and still followed":           {[]look{{"delivered", false}, {"sent", false}}, "delivered", false, []messaging.Status{"delivered"}},
		"followed to read":                       {[]look{{"delivered", false}, {"delivered", false}, {"read", false}}, "read", true, []messaging.Status{"delivered", "read"}},
		"delivered, then given up":               {[]look{{"delivered", false}, {"expired", true}}, "delivered", true, []messaging.Status{"delivered"}},
		"failed is never left":                   {[]look{{"failed", true}, {"delivered", true}, {"read", true}}, "failed", true, []messaging.Status{"failed"}},
		"read is never left":                     {[]look{{"read", true}, {"failed", true}}, "read", true, []messaging.Status{"read"}},
		"expired is never left":                  {[]look{{"expired", true}, {"delivered", true}}, "expired", true, nil},
		"any order is accepted before the end":   {[]look{{"sent", false}, {"queued", false}, {"sent", false}}, "sent", false, []messaging.Status{"sent"}},
		"an unknown word is kept and followed":   {[]look{{"sent", false}, {"simmering", false}}, "simmering", false, []messaging.Status{"sent"}},
		"a look that brings nothing changes not": {[]look{{"sent", false}, {"", false}}, "sent", false, []messaging.Status{"sent"}},
		"failed is final whoever forgets to say": {[]look{{"failed", false}}, "failed", true, []messaging.Status{"failed"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			id := l.followed("1")
			first := map[messaging.Status]time.Time{}
			var at time.Time
			for i, k := range tt.looks {
				at = start.Add(time.Duration(i) * time.Minute)
				p := messaging.Poll{MessageID: id, Status: k.status, Final: k.final, At: at, NextPollAt: at.Add(time.Hour)}
				l.must(l.FinishPoll(l.ctx, p))
				if _, known := first[k.status]; !known {
					first[k.status] = at
				}
			}
			m, err := l.Message(l.ctx, id)
			l.must(err)
			if m.Status != tt.want || m.Final != tt.final || m.Polls != len(tt.looks) || m.NextPollAt.IsZero() != tt.final {
				t.Errorf("message %+v", m)
			}
			if !tt.final && !m.NextPollAt.Equal(at.Add(time.Hour)) {
				t.Errorf("next poll %v", m.NextPollAt)
			}
			want := map[messaging.Status]time.Time{}
			for _, s := range tt.seen {
				want[s] = first[s]
			}
			got := map[messaging.Status]time.Time{}
			for s, at := range map[messaging.Status]time.Time{"sent": m.SentAt, "delivered": m.DeliveredAt, "read": m.ReadAt, "failed": m.FailedAt} {
				if !at.IsZero() {
					got[s] = at
				}
			}
			same(t, "first seen", want, got)
			if _, ok, err := l.NextPoll(l.ctx); ok == tt.final || err != nil {
				t.Errorf("NextPoll finds something: %v (%v)", ok, err)
			}
		})
	}
	t.Run("the reason and the service's time are kept", s.theReasonAndTheServicesTimeAreKept)
	t.Run("a poll of no message, or without a time, is refused", s.aPollOfNoMessageIsRefused)
}

func (s suite) dueMessagesAreAskedAboutOnce(t *testing.T) {
	start := noon.Add(2 * time.Hour)
	l := s.open(t)
	for i := range 3 {
		l.followed(fmt.Sprint(i))
	}
	claim := func(at time.Time, n int) (ids []messaging.MessageID) {
		got, err := l.ClaimPolls(l.ctx, at, time.Minute, n)
		l.must(err)
		for _, m := range got {
			ids = append(ids, m.ID)
			if !m.NextPollAt.Equal(at.Add(time.Minute)) {
				t.Errorf("next poll %v", m.NextPollAt)
			}
		}
		return ids
	}
	same(t, "none", []messaging.MessageID{}, claim(noon, 9))
	same(t, "two", []messaging.MessageID{1, 2}, claim(start, 2))
	same(t, "the third", []messaging.MessageID{3}, claim(start, 2))
	same(t, "all claimed", []messaging.MessageID{}, claim(start, 2))
	same(t, "lapsed", []messaging.MessageID{1, 2, 3}, claim(start.Add(time.Minute), 9))
	at, ok, err := l.NextPoll(l.ctx)
	if err != nil || !ok || !at.Equal(start.Add(2*time.Minute)) {
		t.Errorf("NextPoll = %v, %v, %v", at, ok, err)
	}
}

func (s suite) theReasonAndTheServicesTimeAreKept(t *testing.T) {
	start := noon.Add(2 * time.Hour)
	l := s.open(t)
	id := l.followed("1")
	told := start.Add(-time.Minute)
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id, Status: messaging.StatusFailed, Error: "no such number", ToldAt: told, Final: true, At: start}))
	m, err := l.Message(l.ctx, id)
	if err != nil || m.Error != "no such number" || !m.ToldAt.Equal(told) || !m.StatusAt.Equal(start) {
		t.Errorf("message %+v (%v)", m, err)
	}
	l.totals(map[string]int64{"messages": 1, "messages_failed": 1, "polls": 1})
}

func (s suite) aPollOfNoMessageIsRefused(t *testing.T) {
	l := s.open(t)
	err := l.FinishPoll(l.ctx, messaging.Poll{MessageID: 4, At: noon, NextPollAt: noon})
	wantErr(t, err, "poll of message 4: not found")
	if !errors.Is(err, messaging.ErrNotFound) {
		t.Error("not ErrNotFound")
	}
	wantErr(t, l.FinishPoll(l.ctx, messaging.Poll{MessageID: 4, At: noon}), "poll of message 4: needs its time, and the next one unless it is final")
	_, err = l.ClaimPolls(l.ctx, noon, 0, 1)
	wantErr(t, err, "claim polls: needs a lease")
}

// What is due and old is listed without an order of the service, and ends without counting as a look. What nobody has asked about is
// listed only where nobody can.
func (s suite) overdue(t *testing.T) {
	l := s.open(t)
	a := l.mustFinish(l.claimed("1"), messaging.StateAccepted)
	id, at := a.MessageID, a.At
	listed := func(now, accepted time.Time) (ids []messaging.MessageID) {
		t.Helper()
		got, err := l.OverduePolls(l.ctx, now, accepted, 10)
		l.must(err)
		for i := range got {
			ids = append(ids, got[i].ID)
		}
		return ids
	}
	none := []messaging.MessageID(nil)
	due := a.Message.NextPollAt
	same(t, "before anybody asked", none, listed(due, at))
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id, At: due, NextPollAt: due}))
	same(t, "before it is due", none, listed(due.Add(-time.Second), at))
	same(t, "while it is young", none, listed(due, at.Add(-time.Second)))
	same(t, "due and old", []messaging.MessageID{id}, listed(due, at))

	l.enqueue("2", account("gone"))
	_, claims := l.claimFor("gone", noon.Add(time.Hour))
	b := attempt(claims[0], messaging.StateAccepted)
	b.Message.ServiceID, b.Message.NextPollAt = "77", due
	l.must(l.Finish(l.ctx, b))
	same(t, "of an account that left the config, too", []messaging.MessageID{id, b.MessageID}, listed(due, b.At))

	if _, err := l.ClaimPolls(l.ctx, due, time.Minute, 1); err != nil {
		t.Fatal(err)
	}
	same(t, "while it is asked about", []messaging.MessageID{b.MessageID}, listed(due, at))
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id, Status: messaging.StatusExpired, Final: true, Unasked: true, At: due}))
	m, err := l.Message(l.ctx, id)
	if err != nil || m.Status != messaging.StatusExpired || m.Polls != 1 || !m.Final {
		t.Errorf("%+v (%v)", m, err)
	}
	l.totals(map[string]int64{"polls": 1, "messages_expired": 1})
}

// says is what the service says of a message when it is asked.
func (l *ledger) says(id messaging.MessageID, status messaging.Status, class messaging.ErrorClass, words string, at time.Time) {
	l.t.Helper()
	p := messaging.Poll{MessageID: id, Status: status, Error: words, Class: class, At: at, NextPollAt: at.Add(time.Minute)}
	l.must(l.FinishPoll(l.ctx, p))
}

// failed tells that a message failed, for want of points or for a reason of its own.
func (l *ledger) failed(id messaging.MessageID, at time.Time, class messaging.ErrorClass) {
	l.t.Helper()
	err := l.FinishPoll(l.ctx, messaging.Poll{MessageID: id, Status: messaging.StatusFailed, Error: "insufficient points", Final: true, Class: class, At: at})
	l.must(err)
}
