package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

// keptRuns is what the sample config keeps, with runs for a shorter time than messages.
var keptRuns = privacy.Retention{Messages: 400 * day, Events: 400 * day, Phones: 180 * day, Runs: 200 * day}

// runOf stores a run of a job that ended right after noon, as change has it.
func (l *ledger) runOf(job, slot string, change func(*messaging.Run)) messaging.Run {
	l.t.Helper()
	r := aRun(job, slot)
	r.State, r.EndedAt, r.Tally = messaging.RunDone, noon.Add(time.Minute), messaging.Tally{Rows: 3, Kept: 3}
	if change != nil {
		change(&r)
	}
	return l.mustStart(r)
}

// ended is a run of parts that ended so.
func (l *ledger) ended(slot string, states ...messaging.PartState) {
	l.t.Helper()
	r := l.uploading(slot, len(states))
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		l.t.Fatal(err)
	}
	for i, state := range states {
		p, err := l.claim(r.ID, i+1, noon)
		l.must(err)
		l.endPart(p, state)
	}
	l.mustSet(l.run(r.ID), messaging.RunPartial)
}

// retainRuns has days gone by since noon, and says which slots of a job are left, the oldest first.
func (l *ledger) retainRuns(days int, jobs ...string) map[string]string {
	l.t.Helper()
	now := noon.Add(time.Duration(days) * day)
	l.at(now)
	if _, err := l.privacy().Retain(l.ctx, keptRuns, now); err != nil {
		l.t.Fatal(err)
	}
	left := map[string]string{}
	for _, job := range jobs {
		runs, err := l.Runs(l.ctx, store.RunFilter{Job: job, Limit: 1000})
		l.must(err)
		slices.Reverse(runs)
		for i, r := range runs {
			if i > 0 {
				left[job] += " "
			}
			left[job] += r.Slot
		}
	}
	return left
}

func (s suite) retentionOfRuns(t *testing.T) {
	t.Run("what others ask about stays, whatever its age", s.whatOthersAskAboutStays)
	t.Run("a run leaves with its parts and what they named, once none of its messages is kept", s.aRunLeavesOnceNoneOfItsMessagesIsKept)
	t.Run("what is in doubt, paused or still ended row by row stays", s.aRunThatIsNotSettledStays)
	t.Run("while a limit may ask whom its files reached", s.aRunStaysWhileALimitMayAskForIt)
	t.Run("a run of many parts goes some at a time, and a stop in between costs nothing", s.aRunOfManyPartsGoesSomeAtATime)
	t.Run("nothing goes where no age is set, and with another age at the next run", s.noRunGoesWhereNoAgeIsSet)
}

func (s suite) whatOthersAskAboutStays(t *testing.T) {
	l := s.open(t)
	skipped := func(r *messaging.Run) {
		r.State, r.Reason, r.Tally = messaging.RunSkipped, "overlap", messaging.Tally{}
	}
	byHand := func(r *messaging.Run) { r.Cause = messaging.CauseHand; skipped(r) }
	at := func(due time.Time, then func(*messaging.Run)) func(*messaging.Run) {
		return func(r *messaging.Run) { then(r); r.DueAt = due }
	}
	want := map[string]string{}
	// The newest that was sent is what the next list is held against.
	l.runOf("sent", "1", nil)
	l.runOf("sent", "2", nil)
	l.runOf("sent", "3", skipped)
	l.runOf("sent", "4", skipped)
	want["sent"] = "2 4"
	// Nothing of one that was cancelled before its first file left: it counts as not sent.
	l.runOf("cancelled", "1", nil)
	l.runOf("cancelled", "2", func(r *messaging.Run) {
		r.State, r.Reason, r.Stopped = messaging.RunCancelled, "by hand", messaging.StopPerson
	})
	l.runOf("cancelled", "3", skipped)
	want["cancelled"] = "1 3"
	// The newest by the clock says from when on times were missed, though one by hand came later.
	l.runOf("clock", "1", at(noon.Add(-2*time.Hour), skipped))
	l.runOf("clock", "2", at(noon.Add(-time.Hour), skipped))
	l.runOf("clock", "3", byHand)
	l.runOf("clock", "4", byHand)
	want["clock"] = "2 4"
	// A run and those that send it again: the newest leaves first, so that their numbers go on.
	first := l.runOf("again", "1", nil)
	again := func(r *messaging.Run) { r.RetryOf = first.ID; byHand(r) }
	l.runOf("again", "2", again)
	l.runOf("again", "3", func(r *messaging.Run) { again(r); r.EndedAt = noon.Add(150 * day) })
	l.runOf("again", "4", nil)
	want["again"] = "1 2 3 4"
	// One that has not ended, and one that ended later.
	l.runOf("open", "1", func(r *messaging.Run) { r.State, r.EndedAt = messaging.RunPlanned, time.Time{} })
	l.runOf("open", "2", func(r *messaging.Run) { r.EndedAt = noon.Add(10 * day) })
	l.runOf("open", "3", nil)
	want["open"] = "1 2 3"
	jobs := []string{"sent", "cancelled", "clock", "again", "open"}
	before := map[string]string{
		"sent": "1 2 3 4", "cancelled": "1 2 3", "clock": "1 2 3 4", "again": "1 2 3 4", "open": "1 2 3",
	}
	same(t, "before their time", before, l.retainRuns(199, jobs...))
	same(t, "afterwards", want, l.retainRuns(201, jobs...))
	last, ok, err := l.LastSent(l.ctx, "sent")
	if err != nil || !ok || last.Slot != "2" {
		t.Errorf("sent last: %q, %v, %v", last.Slot, ok, err)
	}
	if since, err := l.LastScheduled(l.ctx, "clock", "@daily", noon.Add(-3*time.Hour)); err != nil || !since.Equal(noon.Add(-time.Hour)) {
		t.Errorf("the clock goes on from %s, %v", since, err)
	}
	if n, err := l.RetriesOf(l.ctx, first.ID); err != nil || n != 2 {
		t.Errorf("%d retries, %v", n, err)
	}
	want["again"], want["open"] = "1 2 4", "1 3"
	same(t, "once all is old", want, l.retainRuns(351, jobs...))
	want["again"] = "1 4"
	same(t, "at the next run", want, l.retainRuns(352, jobs...))
	want["again"] = "4"
	same(t, "at the one after that", want, l.retainRuns(353, jobs...))
}

func (s suite) aRunLeavesOnceNoneOfItsMessagesIsKept(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 2)
	l.accept(r, 1, numbers(100, 2), nil)
	l.accept(r, 2, numbers(200, 1), nil)
	r = l.mustSet(r, messaging.RunDone)
	for id := range messaging.MessageID(3) {
		l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id + 1, Status: messaging.StatusDelivered, Final: true, At: noon}))
	}
	rows := aRun("winback", "2")
	rows.State, rows.Deliver = messaging.RunUploading, messaging.DeliverPerMessage
	rows = l.mustStart(rows)
	l.must(l.Enqueue(l.ctx, rows.ID, 1, rowsOf(rows.ID, 1, 2)))
	for _, d := range l.mustClaim(noon, 2) {
		l.mustFinish(d, messaging.StateRejected)
	}
	l.mustSet(rows, messaging.RunDone)
	l.runOf("winback", "3", nil)
	same(t, "while messages are kept", "1 2 3", l.retainRuns(399, "winback")["winback"])
	same(t, "afterwards", "3", l.retainRuns(401, "winback")["winback"])
	for _, id := range []messaging.RunID{r.ID, rows.ID} {
		if _, err := l.Run(l.ctx, id); !errors.Is(err, messaging.ErrNotFound) {
			t.Errorf("run %d: %v", id, err)
		}
		if parts, err := l.Parts(l.ctx, id); err != nil || len(parts) != 0 {
			t.Errorf("%d parts of run %d are left, %v", len(parts), id, err)
		}
		same(t, "messages", map[string]int64{}, l.runMessages(id))
	}
	if v, err := l.privacy().RetentionState(l.ctx); err != nil || v.Removed["runs"] != 2 {
		t.Errorf("removed %v, %v", v.Removed, err)
	}
	if next := reopenAfter(t, l).mustStart(aRun("winback", "4")); next.ID <= rows.ID+1 {
		t.Errorf("the next run is %d", next.ID)
	}
}

func (s suite) aRunThatIsNotSettledStays(t *testing.T) {
	l := s.open(t)
	l.ended("1", messaging.PartAccepted, messaging.PartInDoubt)
	waits := l.handedOver("2", 1)
	l.mustSet(waits, messaging.RunDone)
	paused := l.handedOver("3", 1)
	l.mustSet(paused, messaging.RunPaused)
	cancelled := l.handedOver("4", 0)
	l.must(l.Enqueue(l.ctx, cancelled.ID, 1, rowsOf(cancelled.ID, 1, 1)))
	l.mustSet(cancelled, messaging.RunCancelled) // nobody has ended its row yet, and its halt stands
	l.runOf("winback", "5", nil)
	same(t, "left", "1 2 3 4 5", l.retainRuns(4000, "winback")["winback"])
	if n, _, err := l.EndCancelled(l.ctx); err != nil || n != 1 {
		t.Fatalf("%d rows, %v", n, err)
	}
	same(t, "while the row is young", "1 2 3 4 5", l.retainRuns(4001, "winback")["winback"])
	same(t, "once it is gone", "1 2 3 5", l.retainRuns(4402, "winback")["winback"])
	l.mustSet(l.run(paused.ID), messaging.RunUploading)
	same(t, "one that went on", "1 2 3 5", l.retainRuns(4403, "winback")["winback"])
}

func (s suite) aRunStaysWhileALimitMayAskForIt(t *testing.T) {
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{"447700900555"})
	p, err := l.claim(r.ID, 1, noon)
	l.must(err)
	l.endPart(p, messaging.PartAccepted)
	l.mustSet(l.run(r.ID), messaging.RunDone)
	l.runOf("winback", "2", nil)
	reached := func(days int) int64 {
		t.Helper()
		now := noon.Add(time.Duration(days) * day)
		room, err := l.Room(l.ctx, messaging.QuotaQuestion{Now: now, Per: now.Sub(noon) + time.Hour, Most: 9, Least: 1, Phones: []messaging.Phone{"447700900555"}})
		l.must(err)
		return room.Contacts
	}
	short := keptRuns
	short.Runs = day
	for _, step := range []struct {
		days int
		left int
		in   int64
	}{{99, 2, 1}, {101, 1, 0}} {
		now := noon.Add(time.Duration(step.days) * day)
		l.at(now)
		if _, err := l.privacy().Retain(l.ctx, short, now); err != nil {
			t.Fatal(err)
		}
		runs, err := l.Runs(l.ctx, store.RunFilter{})
		if err != nil || len(runs) != step.left {
			t.Errorf("after %d days: %d runs, %v", step.days, len(runs), err)
		}
		l = reopenAfter(t, l)
		same(t, fmt.Sprintf("contacts after %d days", step.days), step.in, reached(step.days))
	}
}

func (s suite) aRunOfManyPartsGoesSomeAtATime(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 450)
	l.mustSet(r, messaging.RunCancelled)
	l.runOf("winback", "2", nil)
	stop := errors.New("the daemon stops")
	keep := keptRuns
	commits, left := 0, 450
	keep.Rest = func(ctx context.Context, _ time.Duration) error {
		parts, err := l.Parts(ctx, r.ID)
		if err != nil {
			return err
		}
		if gone := left - len(parts); gone > 200 {
			t.Errorf("one commit removed %d parts", gone)
		}
		if left > len(parts) {
			commits, left = commits+1, len(parts)
		}
		if left < 450 && commits == 1 {
			return stop
		}
		return nil
	}
	now := noon.Add(201 * day)
	l.at(now)
	if _, err := l.privacy().Retain(l.ctx, keep, now); !errors.Is(err, stop) || left != 250 {
		t.Fatalf("%d parts are left, %v", left, err)
	}
	again := reopenAfter(t, l)
	same(t, "after the next start", "2", again.retainRuns(201, "winback")["winback"])
	if parts, err := again.Parts(again.ctx, r.ID); err != nil || len(parts) != 0 {
		t.Errorf("%d parts are left, %v", len(parts), err)
	}
}

func (s suite) noRunGoesWhereNoAgeIsSet(t *testing.T) {
	l := s.open(t)
	l.runOf("winback", "1", nil)
	l.runOf("winback", "2", nil)
	now := noon.Add(5000 * day)
	l.at(now)
	for _, step := range []struct {
		kept time.Duration
		want int64
	}{{0, 0}, {5001 * day, 0}, {4999 * day, 1}, {0, 0}} {
		run, err := l.privacy().Retain(l.ctx, privacy.Retention{Runs: step.kept}, now)
		if err != nil || run.Removed["runs"] != step.want {
			t.Errorf("kept %s: removed %v, %v", step.kept, run.Removed, err)
		}
	}
}
