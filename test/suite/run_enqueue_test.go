package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// rowsOf are messages of a run's rows.
func rowsOf(run messaging.RunID, first int64, n int) (out []messaging.Message) {
	for i := range int64(n) {
		out = append(out, messaging.Message{
			Trigger: "winback", Key: fmt.Sprintf("run %d row %d", run, first+i), Phone: messaging.Phone(fmt.Sprintf("4479111%05d", first+i)),
			Category: messaging.Marketing, Send: messaging.Send{Template: "winback", Language: "en", Variables: []string{"Ana"}},
			State: messaging.StateWaiting, DueAt: noon, CreatedAt: noon, UpdatedAt: noon, ExpiresAt: noon.Add(time.Hour), Config: "v1",
		})
	}
	return out
}

func (s suite) enqueue(t *testing.T) {
	t.Run("each row is queued once, however often it is handed over", s.eachRowIsQueuedOnce)
	t.Run("rows of two runs are apart", s.rowsOfTwoRunsAreApart)
	t.Run("rows that wait for their time keep no others waiting", s.rowsThatWaitForTheirTime)
	t.Run("a run that does not send queues nothing more", s.aRunThatDoesNotSendQueuesNothing)
	t.Run("its standing counts what has ended", s.itsStandingCountsWhatHasEnded)
}

func (s suite) eachRowIsQueuedOnce(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	for _, batch := range []struct {
		first int64
		n     int
	}{{1, 10}, {1, 10}, {21, 5}, {6, 25}} {
		l.must(l.Enqueue(l.ctx, r.ID, batch.first, rowsOf(r.ID, batch.first, batch.n)))
	}
	got := l.mustClaim(noon, 100)
	if len(got) != 30 {
		t.Fatalf("%d messages, want 30", len(got))
	}
	seen := map[string]bool{}
	for _, d := range got {
		if seen[d.Key] {
			t.Errorf("%s is queued twice", d.Key)
		}
		seen[d.Key] = true
	}
	want := rowsOf(r.ID, 1, 1)[0]
	want.Run = r.ID
	want.ID, want.State, want.Attempt, want.Owner, want.LeaseEnds = got[0].ID, messaging.StateSending, 1, owner, noon.Add(time.Minute)
	same(t, "message", want, got[0])
	l.totals(map[string]int64{"messages": 30})
}

func (s suite) rowsOfTwoRunsAreApart(t *testing.T) {
	l := s.open(t)
	a, b := l.uploading("1", 1), l.uploading("2", 1)
	for _, r := range []messaging.Run{a, b} {
		l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)))
	}
	if n, err := l.CancelRows(l.ctx, a.ID, "cancelled by Ann"); err != nil || n != 3 {
		t.Errorf("cancelled %d, %v", n, err)
	}
	if n, err := l.Backlog(l.ctx, b.ID); err != nil || n != 3 {
		t.Errorf("the other run's backlog is %d, %v", n, err)
	}
	by, err := l.RunMessages(l.ctx, a.ID)
	l.must(err)
	same(t, "messages", map[string]int64{"cancelled": 3}, by)
}

func (s suite) rowsThatWaitForTheirTime(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	rows := rowsOf(r.ID, 1, 4)
	for i := range 2 {
		rows[i].DueAt, rows[i].ExpiresAt = noon.Add(5*time.Hour), noon.Add(9*time.Hour)
	}
	l.must(l.Enqueue(l.ctx, r.ID, 1, rows))
	if n, err := l.Backlog(l.ctx, r.ID); err != nil || n != 2 {
		t.Errorf("the backlog is %d, %v", n, err)
	}
	same(t, "claimed at once", 2, len(l.mustClaim(noon.Add(time.Minute), 9)))
	same(t, "claimed at their time", 2, len(l.mustClaim(noon.Add(5*time.Hour), 9)))
}

func (s suite) aRunThatDoesNotSendQueuesNothing(t *testing.T) {
	l := s.open(t)
	r := l.mustSet(l.uploading("1", 1), messaging.RunPaused)
	moved(t, "paused", l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)))
}

func (s suite) itsStandingCountsWhatHasEnded(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 3)))
	for i, d := range l.mustClaim(noon, 3) {
		a := messaging.Attempt{MessageID: d.ID, Owner: owner, Number: 1, State: messaging.StateRejected, Reason: "no such phone", At: noon}
		if i > 0 {
			a.State, a.Reason, a.Message = messaging.StateAccepted, "", &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(100 + i)), Status: messaging.StatusAccepted}
		}
		l.must(l.Finish(l.ctx, a))
	}
	if s, err := l.CountRunMessages(l.ctx, r.ID); err != nil || s != (messaging.RunCounts{Messages: 3, Ended: 1, Failed: 1}) {
		t.Errorf("%+v, %v", s, err)
	}
	told, err := l.SentTo(l.ctx, []messaging.Phone{rowsOf(r.ID, 1, 1)[0].Phone, rowsOf(r.ID, 2, 1)[0].Phone, rowsOf(r.ID, 3, 1)[0].Phone}, noon.Add(-time.Hour))
	if err != nil || len(told) != 2 || told[0].Run != r.ID {
		t.Errorf("messaged: %v, %v", told, err)
	}
	rows, err := l.RowsTo(l.ctx, []messaging.Phone{"447700900101"}, noon.Add(-time.Hour))
	l.must(err)
	for _, one := range rows {
		if one.Run != r.ID || one.Trigger != r.Job {
			t.Errorf("a row of run %d is told as %+v", r.ID, one)
		}
	}
}

func (s suite) rowsLeaveInTheWindowsOfARate(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 1)
	window := func(now time.Time, waiting int64) messaging.RateWindow {
		return messaging.RateWindow{Job: "winback", Most: 3, From: now.Add(time.Microsecond - time.Hour), Now: now, Waiting: waiting}
	}
	take := func(first int64, rows []messaging.Message, w messaging.RateWindow, want int, since time.Time) {
		t.Helper()
		done, at, err := l.EnqueueAtRate(l.ctx, r.ID, first, rows, w)
		if err != nil || done != want || !at.Equal(since) {
			t.Errorf("%d rows of the window of %s, %v; want %d of %s", done, at, err, want, since)
		}
	}
	later := noon.Add(time.Hour)
	take(1, rowsOf(r.ID, 1, 2), window(noon, 0), 2, noon)
	take(1, rowsOf(r.ID, 1, 2), window(noon, 0), 2, noon) // after a crash: they are known
	rows := rowsOf(r.ID, 3, 4)
	rows[0].State, rows[0].Reason, rows[0].DroppedBy = messaging.StateDropped, "the contact is blocked", messaging.RuleBlock
	take(3, rows, window(noon.Add(time.Minute), 0), 2, noon) // one needs no room, one has it
	if n, err := l.Backlog(l.ctx, r.ID); err != nil || n != 3 {
		t.Errorf("%d wait, %v", n, err)
	}
	l = reopenAfter(t, l)
	take(5, rowsOf(r.ID, 5, 2), window(later.Add(-time.Microsecond), 0), 0, noon)
	take(5, rowsOf(r.ID, 5, 4), window(later, 2), 1, later) // two of the last window are still to leave
	if n, since, err := l.UseRate(l.ctx, window(later.Add(time.Hour), 0), 5); err != nil || n != 3 || !since.Equal(later.Add(time.Hour)) {
		t.Errorf("%d of the window of %s, %v", n, since, err)
	}
}
