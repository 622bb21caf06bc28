package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// ErrNoJob is a job that is not in the config.
var ErrNoJob = errors.New("there is no such job")

// A Retry is what would be sent again of a run that has ended.
type Retry struct {
	Run    messaging.Run        // to be stored; it repeats Run.RetryOf
	Parts  []messaging.Part     // the rows that it uploads; none where it delivers message by message
	Causes []messaging.Excluded // what ended the messages that go again, for per_message
}

// A RetryOrder says what of an ended run is to go again. The zero value is all that surely did not arrive.
type RetryOrder struct {
	InDoubt bool                     // uploaded parts in doubt, too
	Classes messaging.ErrorClassList // only rows whose newest words have one of these classes, by the rules of today

	MinWait time.Duration // only rows that ended that long ago; 0 is as their class rests, where Classes names it
	Until   time.Time     // what was not sent by then is dropped; zero is as the job has it
}

// keeps says why the order is not about a row that may go again, "" where it is; class is that of its newest words by
// the rules of today, and at is when the order was given.
func (o *RetryOrder) keeps(r *messaging.RunRow, class messaging.ErrorClass, at time.Time) string {
	switch {
	case !o.Classes.Has(class):
		return "failed with words of class " + class.Words()
	case r.EndedAt().Add(class.Rest(o.MinWait, o.Classes != "")).After(at):
		return "ended too lately"
	}
	return ""
}

// orderOf is the order by which a run sends rows again.
func orderOf(r *messaging.Run) RetryOrder {
	return RetryOrder{Classes: r.RetryClasses, MinWait: r.RetryWait, Until: r.RetryUntil}
}

// RetryParts makes a run of the rows of those parts of an ended one that were not accepted. Parts in doubt are excluded unless
// doubtful says that a person has looked: whoever is on them may have the message already.
//
// family are the parts of all runs that send rows of its list, the oldest run first: what a later run took up is not taken up again.
// nth is as in Remaining.Retry.
func RetryParts(r messaging.Run, family []messaging.Part, who string, nth int, doubtful bool, now time.Time) (Retry, error) {
	if err := MayRetry(r, RetryOrder{InDoubt: doubtful}); err != nil {
		return Retry{}, err
	}
	again := retryOf(r, who, nth, now)
	var left []messaging.Part
	doubts, elsewhere := 0, messaging.RunID(0)
	for _, p := range family {
		if p.RunID != r.ID {
			continue
		}
		rows, later := p.Ranges, messaging.RunID(0)
		for i := range family {
			if other := &family[i]; other.RunID > r.ID {
				if rest := rows.Without(other.Ranges); rest.Count() < rows.Count() {
					rows, later = rest, other.RunID
				}
			}
		}
		switch {
		case len(rows) == 0:
			if p.State != messaging.PartAccepted {
				elsewhere = max(elsewhere, later)
			}
			continue
		case p.State == messaging.PartRejected, p.State == messaging.PartCancelled:
		case p.State == messaging.PartInDoubt:
			doubts++
			if !doubtful {
				continue
			}
		default:
			continue
		}
		left = append(left, messaging.Part{
			Number: len(left) + 1, List: p.List, Ranges: rows, Rows: rows.Count(), State: messaging.PartWaiting, UpdatedAt: now.UTC(),
		})
		again.Tally.Kept += rows.Count()
	}
	if len(left) == 0 {
		hint := ""
		switch {
		case doubts > 0:
			hint = fmt.Sprintf("%s in doubt; --only in_doubt sends what is in doubt again, and who got it gets it twice", are(doubts))
		case elsewhere > 0:
			hint = fmt.Sprintf("run %d has sent the rest of it again: look at jobs show %d", elsewhere, elsewhere)
		}
		return Retry{}, nothingLeft(r.ID, hint)
	}
	again.Tally.Rows, again.Tally.Parts = again.Tally.Kept, len(left)
	return Retry{Run: again, Parts: left}, nil
}

// ErrNothing means that what was asked about is not there: no part of that number, nothing left to send
// again.
var ErrNothing = errors.New("there is nothing of that kind")

// A nothingError is ErrNothing in the words of one case.
type nothingError struct{ *wordError }

func (e *nothingError) Unwrap() error { return e.wordError }

func (*nothingError) Is(target error) bool { return target == ErrNothing }

func nothingLeft(id messaging.RunID, hint string) error {
	return &nothingError{&wordError{fmt.Sprintf("run %d has nothing that can be sent again", id), hint}}
}

// MayRetry says why nothing of a run can be sent again as it stands; nil where it can be looked
// at.
func MayRetry(r messaging.Run, what RetryOrder) error {
	if r.ApprovalsNeeded() > 1 && r.Approved == "" && r.State.Final() { // else one person would let it go by ending it first
		return &wordError{
			fmt.Sprintf("run %d was never let go: %d people had to approve it", r.ID, r.ApprovalsNeeded()), "run the job again, and have it approved: nudgewire jobs run " + r.Job,
		}
	}
	if !r.State.Final() {
		return &wordError{fmt.Sprintf("run %d is still %s", r.ID, r.State.Words()), "wait until it has ended, or resume it"}
	}
	if what.Classes != "" && r.Deliver != messaging.DeliverPerMessage {
		return &wordError{
			fmt.Sprintf("run %d uploads files, which go again as they are: there is no choosing by what the service said of one message", r.ID),
			fmt.Sprintf("nudgewire jobs retry %d --dry-run, without --class", r.ID),
		}
	}
	if (what.MinWait > 0 || !what.Until.IsZero()) && r.Deliver != messaging.DeliverPerMessage {
		return &wordError{
			fmt.Sprintf("run %d uploads files, which go again as they are: no row has a time of its own", r.ID),
			fmt.Sprintf("nudgewire jobs retry %d --dry-run, without --min-wait and --deadline", r.ID),
		}
	}
	if what.InDoubt && r.Deliver == messaging.DeliverPerMessage {
		return &wordError{
			fmt.Sprintf("run %d was delivered message by message: what is in doubt is settled one by one", r.ID),
			fmt.Sprintf("list it with messages list --trigger %s --state in_doubt, then say with messages resolve what became of each", r.Job),
		}
	}
	if r.Deliver == messaging.DeliverCSV {
		return rowsRemoved(r)
	}
	return nil
}

// rowsRemoved says that what the rows of a run said was removed.
func rowsRemoved(r messaging.Run) error {
	if r.BlankedAt.IsZero() {
		return nil
	}
	return &wordError{
		fmt.Sprintf("what the rows of run %d said was removed on %s (retention.lists)", r.ID, r.BlankedAt.UTC().Format(time.DateOnly)),
		"run the job again: nudgewire jobs run " + r.Job,
	}
}

// retryOf is a run that sends something of r again. Who asked for it has seen the counts, so no
// guard and no canary stops it.
func retryOf(r messaging.Run, who string, nth int, now time.Time) messaging.Run {
	return messaging.Run{
		Job: r.Job, Slot: fmt.Sprintf("retry %d of run %d", nth, r.ID), DueAt: now.UTC(), Cause: messaging.CauseHand, RetryOf: r.ID,
		Source: r.Source, Config: r.Config, Account: r.Account, State: messaging.RunUploading, Began: fmt.Sprintf("what was left of run %d, again for %s", r.ID, who),
		Deliver: r.Deliver, Columns: r.Columns, CampaignName: r.CampaignName, TemplateID: r.TemplateID, Send: r.Send,
		Category: r.Category, Expires: r.Expires, Approved: who, CreatedAt: now.UTC(), StartedAt: now.UTC(),
	}
}

func are(parts int) string {
	if parts == 1 {
		return "1 part is"
	}
	return fmt.Sprintf("%d parts are", parts)
}

// Recheck leaves those out of a retry that uploads files who must not be sent to by now: between the run and
// its retry a contact may have been blocked, or messaged by another campaign. notes are what is to be kept of them. Who may go later stays:
// each part is asked about once more when its turn comes.
func (t *Retry) Recheck(ctx context.Context, from ListStore, ask Ask, most units.Size, prices Prices) (notes []messaging.RowNote, err error) {
	parts := t.Parts
	t.Parts, t.Run.Tally.Kept, t.Run.Tally.Bytes, t.Run.Tally.Parts = nil, 0, 0, 0
	gone := &cutting{}
	for _, p := range parts {
		for rest := p.Ranges; len(rest) > 0; {
			c := &cutting{ask: ask, columns: t.Run.Columns, most: most}
			p.Ranges = rest
			if err := c.cut(ctx, from, &p); err != nil {
				return nil, err
			}
			gone.gone = append(gone.gone, c.gone...)
			stay := c.taken
			for _, l := range c.late {
				stay = stay.And(messaging.RowRanges{{First: l.Number, Last: l.Number}})
			}
			if rest = nil; c.stop > 0 {
				rest = p.Ranges.From(c.stop)
			}
			if len(stay) == 0 {
				continue
			}
			one := p
			one.Number, one.Ranges, one.Rows = len(t.Parts)+1, stay, stay.Count()
			t.Parts = append(t.Parts, one)
			t.Run.Tally.Kept += one.Rows
			t.Run.Tally.Bytes += int64(c.file.Len())
		}
	}
	late := gone.lose(messaging.Tally{}, &t.Run, prices)
	for i := range late.Excluded {
		late.Excluded[i].Late = false
	}
	t.Run.Tally.Parts, t.Run.Tally.Excluded = len(t.Parts), late.Excluded
	if len(t.Parts) == 0 {
		top := t.Run.Tally.Excluded[0]
		return nil, nothingLeft(t.Run.RetryOf, fmt.Sprintf("nobody on its files is left to send to: of %s %s because %s", units.Count(len(gone.gone), "row"), units.Number(top.Count), top.Reason))
	}
	return gone.notes(), nil
}
