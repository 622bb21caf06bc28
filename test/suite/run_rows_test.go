package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (l *ledger) rows(run messaging.RunID, after int64) (out []messaging.RunRow) {
	l.t.Helper()
	l.must(l.RunRows(l.ctx, run, after, func(r *messaging.RunRow) error { out = append(out, *r); return nil }))
	return out
}

func (s suite) runRows(t *testing.T) {
	l := s.open(t)
	r := l.sevenRows()
	if _, err := l.Block(l.ctx, []store.Block{{Phone: rowsOf(r.ID, 3, 1)[0].Phone, Source: "by hand", At: noon}}); err != nil {
		t.Fatal(err)
	}
	rows := l.rows(r.ID, 0)
	if len(rows) != 7 {
		t.Fatalf("%d rows", len(rows))
	}
	type end struct {
		number  int64
		state   messaging.State
		status  messaging.Status
		doubted int
		blocked bool
		may     bool
	}
	var got []end
	for i := range rows {
		one := end{number: rows[i].Number, state: rows[i].Message.State, status: rows[i].Message.Status, doubted: len(rows[i].Doubted), blocked: rows[i].Blocked}
		one.may, _ = rows[i].MayGoAgain()
		got = append(got, one)
	}
	want := []end{
		{1, messaging.StateAccepted, messaging.StatusFailed, 0, false, true},
		{2, messaging.StateAccepted, messaging.StatusDelivered, 0, false, false},
		{3, messaging.StateRejected, "", 0, true, false},
		{4, messaging.StateInDoubt, "", 1, false, false},
		{5, messaging.StateDropped, "", 0, false, true},
		{6, messaging.StateCancelled, "", 0, false, false},
		{7, messaging.StateWaiting, "", 0, false, false},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i+1, got[i], want[i])
		}
	}
	if rest := l.rows(r.ID, 5); len(rest) != 2 || rest[0].Number != 6 {
		t.Errorf("after row 5 come %d rows", len(rest))
	}
	by, err := l.RunMessages(l.ctx, r.ID)
	l.must(err)
	same(t, "messages by status", map[string]int64{"failed": 1, "delivered": 1, "rejected": 1, "in_doubt": 1, "dropped": 1, "cancelled": 1, "waiting": 1}, by)
	enough := errors.New("enough")
	if err := l.RunRows(l.ctx, r.ID, 0, func(*messaging.RunRow) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a reader that has enough: %v", err)
	}
	for i := range rows {
		run, number, ok, err := l.RowOf(l.ctx, rows[i].Message.ID)
		if err != nil || !ok || run != r.ID || number != rows[i].Number {
			t.Errorf("message %d is row %d of run %d (%v), %v", rows[i].Message.ID, number, run, ok, err)
		}
	}
	ofEvent := l.enqueue("cart-1")
	if _, _, ok, err := l.RowOf(l.ctx, ofEvent); ok || err != nil {
		t.Errorf("a message of an event is a row: %v, %v", ok, err)
	}
}

func (s suite) phoneRows(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	again := l.retry(old, "retry 1 of run 1")
	ids, _, err := l.toGoAgain(old.ID, 0, 10)
	l.must(err)
	if _, err := l.EnqueueRetries(l.ctx, again.ID, ids, nil, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	phone := rowsOf(old.ID, 3, 1)[0].Phone // rejected, and sent again as row 2
	rows, err := l.PhoneRows(l.ctx, phone, 0)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	first, second := rows[0], rows[1]
	if first.Run.ID != old.ID || first.Number != 3 || first.State != messaging.StateRejected || first.RetriedAs != second.ID || len(first.Attempts) != 1 {
		t.Errorf("first %+v", first)
	}
	if first.ReadBy != old.ID || first.ReadNumber != 3 || second.ReadBy != old.ID || second.ReadNumber != 3 {
		t.Errorf("read as row %d of run %d, then as row %d of run %d", first.ReadNumber, first.ReadBy, second.ReadNumber, second.ReadBy)
	}
	if second.Run.ID != again.ID || second.Number != 2 || second.State != messaging.StateWaiting || second.RetryOf != first.ID || second.RetriedAs != 0 {
		t.Errorf("then %+v", second)
	}
	if newest, err := l.PhoneRows(l.ctx, phone, 1); err != nil || len(newest) != 1 || newest[0].ID != second.ID {
		t.Errorf("the newest one: %+v, %v", newest, err)
	}
	if none, err := l.PhoneRows(l.ctx, "447700900199", 0); err != nil || len(none) != 0 {
		t.Errorf("another phone: %+v, %v", none, err)
	}
	listed, err := l.Messages(l.ctx, store.MessageFilter{Phone: phone})
	if err != nil || len(listed) != 2 {
		t.Errorf("%d messages listed for the phone, %v", len(listed), err)
	}
	if nothing, err := l.Messages(l.ctx, store.MessageFilter{ID: -1}); err != nil || len(nothing) != 0 {
		t.Errorf("a number that nothing has finds %d messages, %v", len(nothing), err)
	}
}
