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

// afterwards is what a person does after a run.
func (s suite) afterwards(t *testing.T) {
	t.Run("what did not reach the phone is queued once more, once", s.enqueueRetries)
	t.Run("many who retry the same rows queue each of them once", s.enqueueRetriesTogether)
	t.Run("the rows of a run are told with what became of them", s.runRows)
	t.Run("a phone leads to the rows of runs", s.phoneRows)
	t.Run("a person's word settles a part in doubt", s.resolvePart)
	t.Run("a retry is no measure of a list", s.retryIsNoMeasure)
	t.Run("a run that was cancelled half-way was sent", s.cancelledWasSent)
	t.Run("the messages of a part are known by phone where the answer said whose they are", s.messagesOfPart)
}

// sevenRows is a run of seven rows that delivers message by message and has ended: accepted and
// failed, accepted and delivered, rejected, in doubt, dropped, cancelled, still waiting.
func (l *ledger) sevenRows() nudgewire.Run {
	l.t.Helper()
	return l.sevenRowsOf("1")
}

func (l *ledger) sevenRowsOf(slot string) nudgewire.Run {
	l.t.Helper()
	r := l.uploading(slot, 1)
	if err := l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 7)); err != nil {
		l.t.Fatal(err)
	}
	got := l.mustClaim(noon, 5)
	for i, d := range got {
		a := nudgewire.Attempt{MessageID: d.ID, Owner: owner, Number: 1, At: noon, Reason: "the test's words"}
		switch i {
		case 0, 1:
			a.State, a.Reason, a.Message = nudgewire.StateAccepted, "", &nudgewire.Message{ServiceID: nudgewire.ServiceID(fmt.Sprint(100 + i))}
		case 2:
			a.State, a.Words, a.Class = nudgewire.StateRejected, "the service's words", nudgewire.ErrorPermanent
		case 3:
			a.State = nudgewire.StateInDoubt
		case 4:
			a.State = nudgewire.StateDropped
		}
		if err := l.Finish(l.ctx, a); err != nil {
			l.t.Fatal(err)
		}
	}
	for i, status := range []nudgewire.Status{nudgewire.StatusFailed, nudgewire.StatusDelivered} {
		if err := l.FinishPoll(l.ctx, nudgewire.Poll{MessageID: got[i].ID, Status: status, Error: "insufficient points", At: noon, NextPollAt: noon.Add(time.Hour)}); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := l.CancelMessage(l.ctx, got[0].ID+5, "by hand"); err != nil {
		l.t.Fatal(err)
	}
	return l.mustSet(r, nudgewire.RunDone)
}

// retry is a run that repeats another.
func (l *ledger) retry(of nudgewire.Run, slot string) nudgewire.Run {
	l.t.Helper()
	return l.retryUntil(of, slot, time.Time{})
}

func (l *ledger) retryUntil(of nudgewire.Run, slot string, until time.Time) nudgewire.Run {
	l.t.Helper()
	r := aRun("winback", slot)
	r.RetryUntil = until
	r.RetryClasses, r.RetryWait = "no_points,unknown", time.Hour
	r.State, r.RetryOf, r.Deliver, r.Expires, r.Cause, r.Tally = nudgewire.RunUploading, of.ID, nudgewire.DeliverPerMessage, time.Hour, nudgewire.CauseHand, nudgewire.Tally{Rows: 7, Kept: 3}
	return l.mustStart(r)
}

// toGoAgain are the messages of rows that may go again, and the number of the last row.
func (l *ledger) toGoAgain(run nudgewire.RunID, after int64, limit int) (ids []nudgewire.MessageID, last int64, err error) {
	rows, err := l.RowsToGoAgain(l.ctx, run, after, limit, func(*nudgewire.RunRow) bool { return true })
	for i := range rows {
		ids, last = append(ids, rows[i].Message.ID), rows[i].Number
	}
	return ids, last, err
}

func (l *ledger) rows(run nudgewire.RunID, after int64) (out []nudgewire.RunRow) {
	l.t.Helper()
	if err := l.RunRows(l.ctx, run, after, func(r *nudgewire.RunRow) error { out = append(out, *r); return nil }); err != nil {
		l.t.Fatal(err)
	}
	return out
}

func (s suite) enqueueRetries(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	again := l.retry(old, "retry 1 of run 1")
	ids, last, err := l.toGoAgain(old.ID, 0, 2)
	if err != nil || len(ids) != 2 || last != 3 {
		t.Fatalf("rows to go again: %v up to row %d, %v", ids, last, err)
	}
	rest, last, err := l.toGoAgain(old.ID, last, 2)
	if err != nil || len(rest) != 1 || last != 5 {
		t.Fatalf("the rest of them: %v up to row %d, %v", rest, last, err)
	}
	var said []string
	of := func(r *nudgewire.RunRow) bool {
		said = append(said, fmt.Sprintf("%d: %s (%s)", r.Number, r.Words, r.Class.Words()))
		return r.Class == nudgewire.ErrorPermanent
	}
	some, err := l.RowsToGoAgain(l.ctx, old.ID, 0, 7, of)
	if err != nil || len(some) != 1 || some[0].Number != 3 {
		t.Errorf("rows of a class: %+v, %v", some, err)
	}
	if want := []string{"1: insufficient points (unknown)", "3: the service's words (permanent)", "5:  (unknown)"}; !slices.Equal(said, want) {
		t.Errorf("the service said %q, want %q", said, want)
	}
	// Whoever asks for all of them gets those that may go: the ledger decides.
	all := []nudgewire.MessageID{ids[0], ids[0] + 1, ids[1], ids[1] + 1, rest[0], rest[0] + 1, rest[0] + 2, 9999}
	later := noon.Add(time.Hour)
	total, err := l.EnqueueRetries(l.ctx, again.ID, all, later)
	if err != nil || total != 3 {
		t.Fatalf("%d rows are queued, %v", total, err)
	}
	if total, err = l.EnqueueRetries(l.ctx, again.ID, all, later); err != nil || total != 3 {
		t.Errorf("a second time %d rows are queued, %v", total, err)
	}
	for i, r := range l.rows(again.ID, 0) {
		of := l.message(all[[]int{0, 2, 4}[i]])
		want := nudgewire.Message{
			ID: r.Message.ID, Run: again.ID, Trigger: of.Trigger, Key: nudgewire.RowKey(again.ID, int64(i+1)), Phone: of.Phone, Category: of.Category, Send: of.Send,
			State: nudgewire.StateWaiting, DueAt: later, ExpiresAt: later.Add(time.Hour), CreatedAt: later, UpdatedAt: later, Config: "v1",
		}
		same(t, "message", want, l.message(r.Message.ID))
		if r.RetryOf != of.ID || r.Number != int64(i+1) {
			t.Errorf("row %d takes the place of %d, want %d", r.Number, r.RetryOf, of.ID)
		}
		l.readAs(r, old.ID, of.ID)
	}
	if ids, _, err := l.toGoAgain(old.ID, 0, 10); err != nil || len(ids) != 0 {
		t.Errorf("afterwards %v may go again, %v", ids, err)
	}
	// What failed again is retried from the new run, and from there alone.
	for _, d := range l.mustClaim(later, 2) {
		if d.EventID == 0 && d.DueAt.Equal(later) {
			if err := l.Finish(l.ctx, nudgewire.Attempt{MessageID: d.ID, Owner: owner, Number: 1, State: nudgewire.StateRejected, At: later}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ids, _, err := l.toGoAgain(again.ID, 0, 10); err != nil || len(ids) == 0 {
		t.Errorf("of the new run %v may go again, %v", ids, err)
	}
	if n, err := l.RetriesOf(l.ctx, old.ID); err != nil || n != 1 {
		t.Errorf("%d retries, %v", n, err)
	}
	// However often a row goes again, it is known where it was read.
	failed := l.mustSet(again, nudgewire.RunDone)
	third := l.retryUntil(failed, "retry 1 of run 2", later.Add(7*time.Hour))
	twice, _, err := l.toGoAgain(failed.ID, 0, 10)
	if err != nil || len(twice) == 0 {
		t.Fatalf("%v may go a third time, %v", twice, err)
	}
	if _, err := l.EnqueueRetries(l.ctx, third.ID, twice, later); err != nil {
		t.Fatal(err)
	}
	for _, r := range l.rows(third.ID, 0) {
		if !r.Message.ExpiresAt.Equal(third.RetryUntil) {
			t.Errorf("a row of a retry until %s expires at %s", third.RetryUntil, r.Message.ExpiresAt)
		}
		for _, before := range l.rows(failed.ID, 0) {
			if before.Message.ID == r.RetryOf {
				l.readAs(r, old.ID, before.RetryOf)
			}
		}
	}
	for _, of := range []nudgewire.RunID{old.ID, failed.ID, third.ID} {
		if family, err := l.Family(l.ctx, of); err != nil || !slices.Equal(family, []nudgewire.RunID{old.ID, failed.ID, third.ID}) {
			t.Errorf("the family of run %d is %v, %v", of, family, err)
		}
	}
	for _, id := range twice {
		if run, number, err := l.ReadRow(l.ctx, id); err != nil || run != old.ID || number == 0 {
			t.Errorf("message %d was read as row %d of run %d, %v", id, number, run, err)
		}
	}
	again = third
	l.mustSet(again, nudgewire.RunPaused)
	_, err = l.EnqueueRetries(l.ctx, again.ID, all, later)
	moved(t, "a run that is paused", err)
	reopened := reopenAfter(t, l)
	if got := reopened.run(again.ID); got.RetryOf != failed.ID || got.RetryClasses != "no_points,unknown" || got.RetryWait != time.Hour {
		t.Errorf("after a restart the run repeats run %d, classes %q, after %s", got.RetryOf, got.RetryClasses, got.RetryWait)
	}
}

// readAs checks that a row knows the row that it was at first: the one of that message in that run.
func (l *ledger) readAs(r nudgewire.RunRow, run nudgewire.RunID, of nudgewire.MessageID) {
	l.t.Helper()
	for _, first := range l.rows(run, 0) {
		if first.Message.ID != of {
			continue
		}
		if first.ReadBy != run || first.ReadNumber != first.Number {
			l.t.Errorf("row %d of the run that read it was read as row %d of run %d", first.Number, first.ReadNumber, first.ReadBy)
		}
		if r.ReadBy != run || r.ReadNumber != first.Number {
			l.t.Errorf("row %d was read as row %d of run %d, want row %d of run %d", r.Number, r.ReadNumber, r.ReadBy, first.Number, run)
		}
		return
	}
	l.t.Errorf("message %d is no row of run %d", of, run)
}

func (s suite) enqueueRetriesTogether(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	ids, _, err := l.toGoAgain(old.ID, 0, 10)
	if err != nil || len(ids) != 3 {
		t.Fatalf("%v, %v", ids, err)
	}
	const n = 8
	var runs [n]nudgewire.Run
	for i := range runs {
		runs[i] = l.retry(old, fmt.Sprintf("retry %d of run 1", i+1))
	}
	var totals [n]int64
	together(n, func(i int) {
		var err error
		if totals[i], err = l.EnqueueRetries(l.ctx, runs[i].ID, ids, noon); err != nil {
			t.Error(err)
		}
	})
	var sum int64
	for _, one := range totals {
		sum += one
	}
	if sum != 3 {
		t.Errorf("%d rows are queued again by %v", sum, totals)
	}
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
		state   nudgewire.State
		status  nudgewire.Status
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
		{1, nudgewire.StateAccepted, nudgewire.StatusFailed, 0, false, true},
		{2, nudgewire.StateAccepted, nudgewire.StatusDelivered, 0, false, false},
		{3, nudgewire.StateRejected, "", 0, true, false},
		{4, nudgewire.StateInDoubt, "", 1, false, false},
		{5, nudgewire.StateDropped, "", 0, false, true},
		{6, nudgewire.StateCancelled, "", 0, false, false},
		{7, nudgewire.StateWaiting, "", 0, false, false},
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
	if err != nil {
		t.Fatal(err)
	}
	same(t, "messages by status", map[string]int64{"failed": 1, "delivered": 1, "rejected": 1, "in_doubt": 1, "dropped": 1, "cancelled": 1, "waiting": 1}, by)
	enough := errors.New("enough")
	if err := l.RunRows(l.ctx, r.ID, 0, func(*nudgewire.RunRow) error { return enough }); !errors.Is(err, enough) {
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.EnqueueRetries(l.ctx, again.ID, ids, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	phone := rowsOf(old.ID, 3, 1)[0].Phone // rejected, and sent again as row 2
	rows, err := l.PhoneRows(l.ctx, phone, 0)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	first, second := rows[0], rows[1]
	if first.Run.ID != old.ID || first.Number != 3 || first.State != nudgewire.StateRejected || first.RetriedAs != second.ID || len(first.Attempts) != 1 {
		t.Errorf("first %+v", first)
	}
	if first.ReadBy != old.ID || first.ReadNumber != 3 || second.ReadBy != old.ID || second.ReadNumber != 3 {
		t.Errorf("read as row %d of run %d, then as row %d of run %d", first.ReadNumber, first.ReadBy, second.ReadNumber, second.ReadBy)
	}
	if second.Run.ID != again.ID || second.Number != 2 || second.State != nudgewire.StateWaiting || second.RetryOf != first.ID || second.RetriedAs != 0 {
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

func (s suite) resolvePart(t *testing.T) {
	l := s.open(t)
	// doubtful is a run whose first of two parts is accepted and the second in doubt.
	doubtful := func(slot string) (nudgewire.Run, nudgewire.Part) {
		r := l.uploading(slot, 2)
		if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		var p nudgewire.Part
		for n, state := range []nudgewire.PartState{nudgewire.PartAccepted, nudgewire.PartInDoubt} {
			var err error
			if p, err = l.claim(r.ID, n+1, noon); err != nil {
				t.Fatal(err)
			}
			p.State, p.Reason = state, "the answer was lost"
			if err := l.FinishPart(l.ctx, p); err != nil {
				t.Fatal(err)
			}
		}
		return l.run(r.ID), p
	}
	word := func(p nudgewire.Part, to nudgewire.PartState) nudgewire.Part {
		p.State, p.Reason, p.Resolved = to, "by Ann", "by Ann"
		return p
	}

	r, p := doubtful("1")
	r = l.mustSet(r, nudgewire.RunPartial)
	next := r
	next.State, next.Reason = nudgewire.RunUploading, "part 2 goes out again"
	stale := word(p, nudgewire.PartWaiting)
	stale.Attempt++
	moved(t, "a part of another attempt", l.ResolvePart(l.ctx, nudgewire.RunPartial, next, stale))
	moved(t, "a run that stands elsewhere", l.ResolvePart(l.ctx, nudgewire.RunPaused, next, word(p, nudgewire.PartWaiting)))
	if err := l.ResolvePart(l.ctx, nudgewire.RunPartial, next, word(p, nudgewire.PartWaiting)); err != nil {
		t.Fatal(err)
	}
	got := l.run(r.ID)
	if got.State != nudgewire.RunUploading || !got.EndedAt.IsZero() || got.Reason != "part 2 goes out again" {
		t.Errorf("the run is %s since %s: %s", got.State, got.EndedAt, got.Reason)
	}
	same(t, "part", word(p, nudgewire.PartWaiting), l.part(r.ID, 2))
	moved(t, "a second word", l.ResolvePart(l.ctx, nudgewire.RunUploading, got, word(p, nudgewire.PartAccepted)))
	late := p
	late.State, late.Reason = nudgewire.PartAccepted, ""
	moved(t, "the late answer of the attempt that was in doubt", l.FinishPart(l.ctx, late))
	mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
	if err != nil || len(mine) != 1 || mine[0].ID != r.ID {
		t.Fatalf("adopted %+v, %v", mine, err)
	}
	claimed, err := l.claim(r.ID, 2, noon)
	if err != nil || claimed.Attempt != 2 || claimed.Resolved != "by Ann" {
		t.Errorf("claimed %+v, %v", claimed, err)
	}

	r, p = doubtful("2")
	r = l.mustSet(r, nudgewire.RunPartial)
	next = r
	next.State, next.Reason = nudgewire.RunDone, "all there after all"
	if err := l.ResolvePart(l.ctx, nudgewire.RunPartial, next, word(p, nudgewire.PartAccepted)); err != nil {
		t.Fatal(err)
	}
	if got := l.run(r.ID); got.State != nudgewire.RunDone || !got.EndedAt.Equal(r.EndedAt) || l.part(r.ID, 2).State != nudgewire.PartAccepted {
		t.Errorf("the run is %s since %s, its part %s", got.State, got.EndedAt, l.part(r.ID, 2).State)
	}

	r, p = doubtful("3")
	r = l.mustSet(r, nudgewire.RunCancelled)
	next = r
	next.State = nudgewire.RunUploading
	moved(t, "a cancelled run", l.ResolvePart(l.ctx, nudgewire.RunCancelled, next, word(p, nudgewire.PartWaiting)))
	if err := l.ResolvePart(l.ctx, nudgewire.RunCancelled, r, word(p, nudgewire.PartAccepted)); err != nil {
		t.Errorf("a part of a cancelled run: %v", err)
	}

	family, err := l.PartsOfList(l.ctx, r.ID)
	if err != nil || len(family) != 2 {
		t.Errorf("%d parts of its list, %v", len(family), err)
	}
}

func (s suite) retryIsNoMeasure(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	l.mustSet(l.retry(old, "retry 1 of run 1"), nudgewire.RunDone)
	last, ok, err := l.LastSent(l.ctx, "winback")
	if err != nil || !ok || last.ID != old.ID {
		t.Errorf("the last run that was sent is %d (%v), %v", last.ID, ok, err)
	}
}

// A cancelled run was sent where some of it left, or may have.
func (s suite) cancelledWasSent(t *testing.T) {
	for state, sent := range map[nudgewire.PartState]bool{
		nudgewire.PartAccepted: true, nudgewire.PartInDoubt: true, nudgewire.PartUploading: true, nudgewire.PartRejected: false, nudgewire.PartWaiting: false,
	} {
		t.Run(string(state), func(t *testing.T) {
			l := s.open(t)
			r := l.uploading("1", 2)
			if state != nudgewire.PartWaiting {
				if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
					t.Fatal(err)
				}
				p, err := l.claim(r.ID, 1, noon)
				if p.State, p.Reason = state, "as the test says"; err == nil && state != nudgewire.PartUploading {
					err = l.FinishPart(l.ctx, p)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			l.mustSet(r, nudgewire.RunCancelled)
			if last, ok, err := l.LastSent(l.ctx, "winback"); err != nil || ok != sent || ok && last.ID != r.ID {
				t.Errorf("the last run that was sent is %d (%v), %v", last.ID, ok, err)
			}
		})
	}
	t.Run("rows that were handed over", func(t *testing.T) {
		l := s.open(t)
		l.mustSet(l.handedOver("1", 1), nudgewire.RunCancelled)
		if _, ok, err := l.LastSent(l.ctx, "winback"); err != nil || !ok {
			t.Errorf("%v, %v", ok, err)
		}
	})
}

func (s suite) messagesOfPart(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 2)
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	for number, phones := range [][]string{{"447700900101", "", "447700900103"}, nil} {
		p, err := l.claim(r.ID, number+1, noon)
		if err != nil {
			t.Fatal(err)
		}
		p.State, p.MessageIDs, p.Phones = nudgewire.PartAccepted, []string{"901", "902", "903"}, phones
		if err := l.FinishPart(l.ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.MessagesOfPart(l.ctx, r.ID, 1)
	if err != nil || len(got) != 2 || got["447700900101"].ServiceID != "901" || got["447700900103"].ServiceID != "903" || got["447700900103"].Status != nudgewire.StatusAccepted {
		t.Errorf("part 1: %+v, %v", got, err)
	}
	if got, err := l.MessagesOfPart(l.ctx, r.ID, 2); err != nil || len(got) != 0 {
		t.Errorf("part 2, whose answer did not say whose they are: %+v, %v", got, err)
	}
}
