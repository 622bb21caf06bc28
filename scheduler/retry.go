package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
)

// ErrNoJob is a job that is not in the config.
var ErrNoJob = errors.New("there is no such job")

// A Retry is what would be sent again of a run that has ended.
type Retry struct {
	Run    nudgewire.Run        // to be stored; it repeats Run.RetryOf
	Parts  []nudgewire.Part     // the files that it uploads; none where it delivers message by message
	Causes []nudgewire.Excluded // what ended the messages that go again, for per_message
}

// A RetryOrder says what of an ended run is to go again. The zero value is all that surely did not arrive.
type RetryOrder struct {
	InDoubt bool                     // uploaded parts in doubt, too
	Classes nudgewire.ErrorClassList // only rows whose newest words have one of these classes, by the rules of today

	MinWait time.Duration // only rows that ended that long ago; 0 is as their class rests, where Classes names it
	Until   time.Time     // what was not sent by then is dropped; zero is as the job has it
}

// keeps says why the order is not about a row that may go again, "" where it is; class is that of its newest words by
// the rules of today, and at is when the order was given.
func (o *RetryOrder) keeps(r *nudgewire.RunRow, class nudgewire.ErrorClass, at time.Time) string {
	switch {
	case !o.Classes.Has(class):
		return "failed with words of class " + class.Words()
	case r.EndedAt().Add(class.Rest(o.MinWait, o.Classes != "")).After(at):
		return "ended too lately"
	}
	return ""
}

// orderOf is the order by which a run sends rows again.
func orderOf(r *nudgewire.Run) RetryOrder {
	return RetryOrder{Classes: r.RetryClasses, MinWait: r.RetryWait, Until: r.RetryUntil}
}

// RetryParts makes a run of those parts of an ended one that were not accepted, over the same
// files. Parts in doubt are excluded unless doubtful says that a person has looked: whoever is
// on them may have the message already.
//
// family are the parts of all runs over the same files, the oldest run first: a file is as it
// stands in the newest of them, so that what a retry took up is not taken up again. nth is as in
// Remaining.Retry.
func RetryParts(r nudgewire.Run, family []nudgewire.Part, who string, nth int, doubtful bool, now time.Time) (Retry, error) {
	if err := MayRetry(r, RetryOrder{InDoubt: doubtful}); err != nil {
		return Retry{}, err
	}
	again := retryOf(r, who, nth, now)
	again.Folder = r.Folder
	newest := map[string]nudgewire.Part{}
	for _, p := range family {
		newest[fileOf(p.File)] = p
	}
	var left []nudgewire.Part
	doubts, elsewhere := 0, nudgewire.RunID(0)
	for _, p := range family {
		if p.RunID != r.ID {
			continue
		}
		switch latest := newest[fileOf(p.File)]; {
		case latest.RunID != r.ID:
			if p.State != nudgewire.PartAccepted {
				elsewhere = max(elsewhere, latest.RunID)
			}
			continue
		case p.State == nudgewire.PartRejected, p.State == nudgewire.PartCancelled:
		case p.State == nudgewire.PartInDoubt:
			doubts++
			if !doubtful {
				continue
			}
		default:
			continue
		}
		left = append(left, nudgewire.Part{
			Number: len(left) + 1, File: p.File, Rows: p.Rows, First: again.Tally.Kept + 1, Bytes: p.Bytes, SHA256: p.SHA256,
			State: nudgewire.PartBuilt, UpdatedAt: now.UTC(),
		})
		again.Tally.Kept += p.Rows
		again.Tally.Bytes += p.Bytes
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

func nothingLeft(id nudgewire.RunID, hint string) error {
	return &nothingError{&wordError{fmt.Sprintf("run %d has nothing that can be sent again", id), hint}}
}

// MayRetry says why nothing of a run can be sent again as it stands; nil where it can be looked
// at.
func MayRetry(r nudgewire.Run, what RetryOrder) error {
	if r.ApprovalsNeeded() > 1 && r.Approved == "" && r.State.Final() { // else one person would let it go by ending it first
		return &wordError{
			fmt.Sprintf("run %d was never let go: %d people had to approve it", r.ID, r.ApprovalsNeeded()), "run the job again, and have it approved: nudgewire jobs run " + r.Job,
		}
	}
	if !r.State.Final() {
		return &wordError{fmt.Sprintf("run %d is still %s", r.ID, r.State.Words()), "wait until it has ended, or resume it"}
	}
	if what.Classes != "" && r.Deliver != nudgewire.DeliverPerMessage {
		return &wordError{
			fmt.Sprintf("run %d uploads files, which go again as they are: there is no choosing by what the service said of one message", r.ID),
			fmt.Sprintf("nudgewire jobs retry %d --dry-run, without --class", r.ID),
		}
	}
	if (what.MinWait > 0 || !what.Until.IsZero()) && r.Deliver != nudgewire.DeliverPerMessage {
		return &wordError{
			fmt.Sprintf("run %d uploads files, which go again as they are: no row has a time of its own", r.ID),
			fmt.Sprintf("nudgewire jobs retry %d --dry-run, without --min-wait and --deadline", r.ID),
		}
	}
	if what.InDoubt && r.Deliver == nudgewire.DeliverPerMessage {
		return &wordError{
			fmt.Sprintf("run %d was delivered message by message: what is in doubt is settled one by one", r.ID),
			fmt.Sprintf("list it with messages list --trigger %s --state in_doubt, then say with messages resolve what became of each", r.Job),
		}
	}
	if r.Deliver == nudgewire.DeliverCSV {
		return filesRemoved(r)
	}
	return nil
}

// filesRemoved says that what a run would upload was cleared away.
func filesRemoved(r nudgewire.Run) error {
	if r.FilesRemovedAt.IsZero() {
		return nil
	}
	return &wordError{
		fmt.Sprintf("the files of run %d were removed on %s (retention.lists)", r.ID, r.FilesRemovedAt.UTC().Format(time.DateOnly)),
		"run the job again: nudgewire jobs run " + r.Job,
	}
}

// retryOf is a run that sends something of r again. Who asked for it has seen the counts, so no
// guard and no canary stops it.
func retryOf(r nudgewire.Run, who string, nth int, now time.Time) nudgewire.Run {
	return nudgewire.Run{
		Job: r.Job, Slot: fmt.Sprintf("retry %d of run %d", nth, r.ID), DueAt: now.UTC(), Cause: nudgewire.CauseHand, RetryOf: r.ID,
		Source: r.Source, Config: r.Config, Account: r.Account, State: nudgewire.RunUploading, Began: fmt.Sprintf("what was left of run %d, again for %s", r.ID, who),
		Deliver: r.Deliver, CampaignName: r.CampaignName, TemplateID: r.TemplateID, Send: r.Send,
		Category: r.Category, Expires: r.Expires, Approved: who, CreatedAt: now.UTC(), StartedAt: now.UTC(),
	}
}

func are(parts int) string {
	if parts == 1 {
		return "1 part is"
	}
	return fmt.Sprintf("%d parts are", parts)
}
