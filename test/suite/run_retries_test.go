package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// retry is a run that repeats another.
func (l *ledger) retry(of messaging.Run, slot string) messaging.Run {
	l.t.Helper()
	return l.retryUntil(of, slot, time.Time{})
}

func (l *ledger) retryUntil(of messaging.Run, slot string, until time.Time) messaging.Run {
	l.t.Helper()
	r := aRun("winback", slot)
	r.RetryUntil = until
	r.RetryClasses, r.RetryWait = "no_points,unknown", time.Hour
	r.State, r.RetryOf, r.Deliver, r.Expires, r.Cause, r.Tally = messaging.RunUploading, of.ID, messaging.DeliverPerMessage, time.Hour, messaging.CauseHand, messaging.Tally{Rows: 7, Kept: 3}
	return l.mustStart(r)
}

// toGoAgain are the messages of rows that may go again, and the number of the last row.
func (l *ledger) toGoAgain(run messaging.RunID, after int64, limit int) (ids []messaging.MessageID, last int64, err error) {
	rows, err := l.RowsToGoAgain(l.ctx, run, after, limit, func(*messaging.RunRow) bool { return true })
	for i := range rows {
		ids, last = append(ids, rows[i].Message.ID), rows[i].Number
	}
	return ids, last, err
}

// enqueueRetries is a run that sends again what failed of another.
func (s suite) enqueueRetries(t *testing.T) {
	t.Run("rows that may go again are read page by page, and by class", s.rowsThatMayGoAgainAreReadByPage)
	t.Run("whoever asks for all gets those that may go, once", s.whoeverAsksForAllGetsThoseThatMayGo)
	t.Run("however often a row goes again, it is known where it was read", s.howeverOftenItIsKnownWhereARowWasRead)
}

func (s suite) rowsThatMayGoAgainAreReadByPage(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	ids, last, err := l.toGoAgain(old.ID, 0, 2)
	if err != nil || len(ids) != 2 || last != 3 {
		t.Fatalf("rows to go again: %v up to row %d, %v", ids, last, err)
	}
	rest, last, err := l.toGoAgain(old.ID, last, 2)
	if err != nil || len(rest) != 1 || last != 5 {
		t.Fatalf("the rest of them: %v up to row %d, %v", rest, last, err)
	}
	var said []string
	of := func(r *messaging.RunRow) bool {
		said = append(said, fmt.Sprintf("%d: %s (%s)", r.Number, r.Words, r.Class.Words()))
		return r.Class == messaging.ErrorPermanent
	}
	some, err := l.RowsToGoAgain(l.ctx, old.ID, 0, 7, of)
	if err != nil || len(some) != 1 || some[0].Number != 3 {
		t.Errorf("rows of a class: %+v, %v", some, err)
	}
	if want := []string{"1: insufficient points (unknown)", "3: the service's words (permanent)", "5:  (unknown)"}; !slices.Equal(said, want) {
		t.Errorf("the service said %q, want %q", said, want)
	}
}

func (s suite) whoeverAsksForAllGetsThoseThatMayGo(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	again := l.retry(old, "retry 1 of run 1")
	all := []messaging.MessageID{9999}
	for _, r := range l.rows(old.ID, 0) {
		all = append(all, r.Message.ID)
	}
	later := noon.Add(time.Hour)
	at := func(_ messaging.Phone, now time.Time) time.Time { return now.Add(3 * time.Hour) }
	for range 2 {
		if total, err := l.EnqueueRetries(l.ctx, again.ID, all, at, later); err != nil || total != 3 {
			t.Fatalf("%d rows are queued, %v", total, err)
		}
	}
	for i, r := range l.rows(again.ID, 0) {
		of := l.message(l.rows(old.ID, 0)[[]int{0, 2, 4}[i]].Message.ID)
		want := messaging.Message{
			ID: r.Message.ID, Run: again.ID, Trigger: of.Trigger, Key: messaging.RowKey(again.ID, int64(i+1)), Phone: of.Phone, Category: of.Category, Send: of.Send,
			State: messaging.StateWaiting, DueAt: later.Add(3 * time.Hour), ExpiresAt: later.Add(4 * time.Hour), CreatedAt: later, UpdatedAt: later, Config: "v1",
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
	if n, err := l.RetriesOf(l.ctx, old.ID); err != nil || n != 1 {
		t.Errorf("%d retries, %v", n, err)
	}
	again = l.mustSet(again, messaging.RunPaused)
	_, err := l.EnqueueRetries(l.ctx, again.ID, all, nil, later)
	moved(t, "a run that is paused", err)
	reopened := reopenAfter(t, l)
	if got := reopened.run(again.ID); got.RetryOf != old.ID || got.RetryClasses != "no_points,unknown" || got.RetryWait != time.Hour {
		t.Errorf("after a restart the run repeats run %d, classes %q, after %s", got.RetryOf, got.RetryClasses, got.RetryWait)
	}
}

func (s suite) howeverOftenItIsKnownWhereARowWasRead(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	again := l.retry(old, "retry 1 of run 1")
	ids, _, err := l.toGoAgain(old.ID, 0, 10)
	l.must(err)
	later := noon.Add(time.Hour)
	_, err = l.EnqueueRetries(l.ctx, again.ID, ids, nil, later)
	l.must(err)
	// What failed again is retried from the new run, and from there alone.
	for _, d := range l.mustClaim(later, 2) {
		if d.EventID == 0 && d.DueAt.Equal(later) {
			l.must(l.Finish(l.ctx, messaging.Attempt{MessageID: d.ID, Owner: owner, Number: 1, State: messaging.StateRejected, At: later}))
		}
	}
	if ids, _, err := l.toGoAgain(again.ID, 0, 10); err != nil || len(ids) == 0 {
		t.Errorf("of the new run %v may go again, %v", ids, err)
	}
	failed := l.mustSet(again, messaging.RunDone)
	twice, _, err := l.toGoAgain(failed.ID, 0, 10)
	if err != nil || len(twice) == 0 {
		t.Fatalf("%v may go a third time, %v", twice, err)
	}
	third := l.retryUntil(failed, "retry 1 of run 2", later.Add(7*time.Hour))
	_, err = l.EnqueueRetries(l.ctx, third.ID, twice, nil, later)
	l.must(err)
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
	for _, of := range []messaging.RunID{old.ID, failed.ID, third.ID} {
		if family, err := l.Family(l.ctx, of); err != nil || !slices.Equal(family, []messaging.RunID{old.ID, failed.ID, third.ID}) {
			t.Errorf("the family of run %d is %v, %v", of, family, err)
		}
	}
	for _, id := range twice {
		if run, number, err := l.ReadRow(l.ctx, id); err != nil || run != old.ID || number == 0 {
			t.Errorf("message %d was read as row %d of run %d, %v", id, number, run, err)
		}
	}
}

// readAs checks that a row knows the row that it was at first: the one of that message in that run.
func (l *ledger) readAs(r messaging.RunRow, run messaging.RunID, of messaging.MessageID) {
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
	var runs [n]messaging.Run
	for i := range runs {
		runs[i] = l.retry(old, fmt.Sprintf("retry %d of run 1", i+1))
	}
	var totals [n]int64
	together(n, func(i int) {
		var err error
		if totals[i], err = l.EnqueueRetries(l.ctx, runs[i].ID, ids, nil, noon); err != nil {
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

func (s suite) retryIsNoMeasure(t *testing.T) {
	l := s.open(t)
	old := l.sevenRows()
	l.mustSet(l.retry(old, "retry 1 of run 1"), messaging.RunDone)
	last, ok, err := l.LastSent(l.ctx, "winback")
	if err != nil || !ok || last.ID != old.ID {
		t.Errorf("the last run that was sent is %d (%v), %v", last.ID, ok, err)
	}
}
