package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Remaining adds up what of a run's rows may go again, and what keeps the others from it. The
// zero value is ready.
type Remaining struct {
	Order  RetryOrder
	At     time.Time             // when it was given
	Rules  *messaging.ErrorRules // that say which class words have
	Prices Prices                // nil for none

	stay, causes excludedReasons
	rows         int64
	points       float64
	gone         int64 // that went again before
	files        fileNames
}

// Add takes the next row, and whether it may go by now.
func (l *Remaining) Add(r *messaging.RunRow, now *messaging.Verdict) {
	l.rows++
	l.files.see(r.Position.File)
	may, why := r.MayGoAgain()
	if kept := l.Order.keeps(r, l.Rules.Now(r.Words, r.Class), l.At); may && kept != "" {
		l.stay.add(KindMessage, "the message "+kept, position{r.Position, int(l.rows)})
		return
	}
	if may && now.Action == messaging.DropSend {
		l.stay.add(KindContact, now.Counted(), position{r.Position, int(l.rows)})
		return
	}
	if may {
		l.causes.add(KindRetry, why, position{r.Position, int(l.rows)})
		if l.Prices != nil { // by the row's own category, as when the list was read
			l.points = decimal(l.points + l.Prices.Of(r.Message.Category, string(r.Message.Phone)))
		}
		return
	}
	if r.RetriedAs != 0 {
		l.gone++
	}
	l.stay.add(KindMessage, "the message "+why, position{r.Position, int(l.rows)})
}

// Retry is a run that queues what may go again of the rows of r, which has ended and was delivered
// message by message. nth counts the retries of r, from 1: two that are asked for at the same
// moment have the same number, and one of them is stored.
func (l *Remaining) Retry(r messaging.Run, who string, nth int, now time.Time) (Retry, error) {
	again := retryOf(r, who, nth, now)
	again.RetryWait, again.RetryUntil = l.Order.MinWait, l.Order.Until
	if again.RetryClasses = l.Order.Classes; again.RetryClasses != "" {
		again.Began = fmt.Sprintf("what of run %d failed with words of class %s, again for %s", r.ID, again.RetryClasses.Words(), who)
	}
	again.Tally = messaging.Tally{Rows: l.rows, Kept: l.causes.count(), Points: l.points, Excluded: l.files.short(l.stay.list())}
	if again.Tally.Kept == 0 {
		hint := "no row of it was handed over"
		switch {
		case l.gone > 0:
			hint = fmt.Sprintf("%s of its rows went again before: look for its retry with jobs history %s", units.Number(l.gone), r.Job)
		case l.rows > 0:
			top := again.Tally.Excluded[0]
			hint = fmt.Sprintf("%s of %s cannot: %s", units.Number(top.Count), units.Count(l.rows, "row"), top.Reason)
			if l.rows == 1 {
				hint = "its one row cannot: " + top.Reason
			}
		}
		return Retry{}, nothingLeft(r.ID, hint)
	}
	return Retry{Run: again, Causes: l.files.short(l.causes.list())}, nil
}

// enqueueRetries hands over once more what may go again of the rows of the run that this one repeats.
// The store decides about each row as it takes it, so whatever happened since the rows were
// counted is heeded, and going through them a second time after a crash does no harm.
func (w *working) enqueueRetries(ctx context.Context) error {
	m := newMeter(w.run, nil, w.OnProgress, w.Now)
	for after := int64(0); ; {
		if err := w.await(ctx, time.Time{}); err != nil {
			return err
		}
		if err := w.room(ctx); err != nil {
			return err
		}
		last, total, full, err := w.enqueueSome(ctx, after)
		if err != nil {
			return fmt.Errorf("hand rows over again: %w", err)
		}
		if !full.IsZero() {
			if err := w.nextWindow(ctx, full); err != nil {
				return err
			}
			m.sent(total, 0)
			after = last
			continue
		}
		m.sent(total, 0)
		if last == 0 {
			return w.endRetry(ctx, total)
		}
		after = last
	}
}

// rowsAgain is how many rows of an ended run are queued once more in one commit.
const rowsAgain = 256

// enqueueSome hands over once more some of the rows after the row after. last is the row that it came
// to, 0 when none was left; total is how many rows the run queues by now. full is when the window of the job's rate
// began, where it had no room for all.
func (w *working) enqueueSome(ctx context.Context, after int64) (last, total int64, full time.Time, err error) {
	w.leaving.Lock()
	defer w.leaving.Unlock()
	rules, order := w.errorRules(), orderOf(&w.run)
	rows, err := w.Store.RowsToGoAgain(ctx, w.run.RetryOf, after, rowsAgain, func(r *messaging.RunRow) bool {
		return order.keeps(r, rules.Now(r.Words, r.Class), w.run.CreatedAt) == ""
	})
	if err != nil {
		return 0, 0, full, err
	}
	answers, err := w.mayGoAgain(ctx, &w.run, w.brakes(), rows)
	if err != nil {
		return 0, 0, full, err
	}
	var of []messaging.MessageID
	var numbers []int64
	for i := range rows {
		if last = rows[i].Number; !answers[i].never() {
			of, numbers = append(of, rows[i].Message.ID), append(numbers, rows[i].Number)
		}
	}
	window, err := w.window(ctx)
	if err == nil && window != nil && len(of) > 0 {
		granted, since, used := w.Store.UseRate(ctx, *window, len(of))
		if err = used; err == nil && granted < len(of) {
			of, full, last = of[:granted], since, numbers[granted]-1 // on from the first that found no room
		}
	}
	if err != nil {
		return 0, 0, full, err
	}
	total, err = w.Store.EnqueueRetries(ctx, w.run.ID, of, w.turns().due, w.Now().UTC())
	return last, total, full, err
}

// mayGoAgain is mayGo of rows that were messages.
func (s *Scheduler) mayGoAgain(ctx context.Context, r *messaging.Run, job *Compiled, rows []messaging.RunRow) ([]answer, error) {
	phones := make([]messaging.Phone, len(rows))
	for i := range rows {
		phones[i] = rows[i].Message.Phone
	}
	return s.mayGo(ctx, r, job, phones, func(i int) messaging.Category { return rows[i].Message.Category }, atTurn)
}

// endRetry ends a run that sent rows again. There may be fewer than were counted before.
func (w *working) endRetry(ctx context.Context, total int64) error {
	missing, reason := w.run.Tally.Kept-total, ""
	if missing > 0 {
		reason = fmt.Sprintf("%s of %s rows could not go again any more when %s turn came", units.Number(missing), units.Number(w.run.Tally.Kept), verb(missing, "its", "their"))
	}
	return w.change(ctx, messaging.RunDone, reason, func(r *messaging.Run) {
		if missing > 0 {
			r.Tally.Excluded = append(r.Tally.Excluded, messaging.Excluded{Kind: KindMessage, Reason: "could not go again any more when its turn came", Count: missing})
		}
		if missing < 0 { // more have failed since they were counted
			r.Tally.Rows = max(r.Tally.Rows, total)
		}
		r.Tally.Kept = total
	})
}
