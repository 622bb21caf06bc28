package scheduler

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
)

// What a Store answers, for errors.Is.
var (
	// ErrMoved is a change to a run or part that is not where the caller believed it was:
	// another process, or a person, was faster. Nothing was changed.
	ErrMoved = errors.New("the run has moved on")
	// ErrNoRun is a run that is not there.
	ErrNoRun = errors.New("there is no such run")
)

// A Store is what a Scheduler needs of package store. Every method that changes something is
// one commit, durable when it returns.
type Store interface {
	// StartRun stores a run unless there is one of the same job and slot, and gives it its ID.
	// won is false when there is: whoever won runs it, and id is that one's.
	StartRun(ctx context.Context, r nudgewire.Run) (id nudgewire.RunID, won bool, err error)

	// Run is one run; ErrNoRun when it is not there.
	Run(ctx context.Context, id nudgewire.RunID) (nudgewire.Run, error)

	// OpenRuns are the runs of a job that are not final, the oldest first; of all jobs for "".
	OpenRuns(ctx context.Context, job string) ([]nudgewire.Run, error)

	// LastSent is the newest run of a job that kept at least one row and is done, partial, or cancelled
	// after some of it had left, or may have; one that repeats another is passed over.
	LastSent(ctx context.Context, job string) (r nudgewire.Run, ok bool, err error)

	// LastScheduled is the time up to which a job's clock needs no more looking at: the newest
	// DueAt among its runs by cron or missed, or, if that is later, when this cron line (with
	// its zone) was first seen, which is now if it never was.
	LastScheduled(ctx context.Context, job, line string, now time.Time) (time.Time, error)

	// SetRun stores r in place of the run of its ID (all but ID, Job, Slot, DueAt, Cause and
	// CreatedAt) while that is in one of from and its Owner is by; ErrMoved otherwise. A
	// person's word has no owner: by is "" then, and any will do. A run that becomes cancelled
	// takes its parts that are built along, in the same commit. While a run is paused, and once
	// it is cancelled, nothing that Owing took of it is sent.
	SetRun(ctx context.Context, by string, r nudgewire.Run, from ...nudgewire.RunState) error

	// SaveParts stores r as SetRun does from building, and its parts in place of earlier ones.
	SaveParts(ctx context.Context, by string, r nudgewire.Run, parts []nudgewire.Part) error

	// Parts are the parts of a run by number.
	Parts(ctx context.Context, id nudgewire.RunID) ([]nudgewire.Part, error)

	// ReplacePart stores a part that is built as it is now, without the rows that it has lost or as
	// one that was cut into others, with these, and the tally of r, its run, while that is uploading
	// and owner's; ErrMoved otherwise.
	ReplacePart(ctx context.Context, owner string, r nudgewire.Run, p nudgewire.Part, into ...nudgewire.Part) error

	// ClaimPart is the durable intent to upload: it makes a part that is built uploading and
	// counts the attempt, while its run is uploading and owner's. ErrMoved otherwise.
	ClaimPart(ctx context.Context, id nudgewire.RunID, number int, owner string, now time.Time) (nudgewire.Part, error)

	// FinishPart stores how an upload ended. The part must be uploading, or in doubt because
	// somebody took the uploader for dead, with the same Attempt; else ErrMoved. The messages
	// that p.MessageIDs names are followed from then on.
	FinishPart(ctx context.Context, p nudgewire.Part) error

	// ClaimRuns gives owner the runs that are planned, building or uploading and nobody's, its own,
	// or under a lease that ended before now, and makes their lease end at until. A planned run
	// is passed over while an older one of its job is not final. The oldest come first.
	ClaimRuns(ctx context.Context, owner string, now, until time.Time) ([]nudgewire.Run, error)

	// Renew moves the lease of a run on and gives the run as it stands: a person may have
	// paused or cancelled it. ErrMoved when it is not owner's any more.
	Renew(ctx context.Context, id nudgewire.RunID, owner string, until time.Time) (nudgewire.Run, error)
}

// An Uploader creates campaigns; *apiclient.Client is one. Its errors answer to
// apiclient.OutcomeOf.
type Uploader interface {
	CreateCampaign(ctx context.Context, name string, templateID int64, fileName string, file io.Reader, size int64) (apiclient.Answer, error)
}

// An Owing takes rows as dispatches, for jobs that deliver message by message.
type Owing interface {
	// Room waits until few enough messages of a run wait to be sent that more may be handed over;
	// ErrMoved when the run does not send any more.
	Room(ctx context.Context, id nudgewire.RunID) error

	// Enqueue stores the dispatches of a run's rows in one commit: the row with the number first,
	// counted among the kept rows from 1, and those after it. One that is dropped is stored as that,
	// with its reason, and never sent. A row that the run already queues is passed over, so that a batch
	// may be handed over again after a crash.
	Enqueue(ctx context.Context, id nudgewire.RunID, first int64, rows []nudgewire.Dispatch) error

	// EnqueueRetries queues once more, as rows of the run id, what may go again of the rows of the run
	// that it repeats: some of those after the row after, in one commit. A row that was queued
	// once more before is passed over. last is the row that it came to, 0 when none was left;
	// total is how many rows the run queues by now.
	EnqueueRetries(ctx context.Context, id nudgewire.RunID, after int64) (last, total int64, err error)

	// Standing counts the run's messages that have ended, and those of them that failed:
	// rejected by the service, or failed on the way to the phone.
	Standing(ctx context.Context, id nudgewire.RunID) (ended, failed int64, err error)

	// CancelRows ends the run's messages that still wait, and says how many there were.
	CancelRows(ctx context.Context, id nudgewire.RunID, reason string) (n int64, err error)

	// PauseSent pauses a run that has ended while messages of it still wait, from where it goes
	// on as uploading; false, and nothing has changed, when none does.
	PauseSent(ctx context.Context, id nudgewire.RunID, who, reason string) (paused bool, err error)

	// EndCancelled ends messages of cancelled runs that were in a sender's hands then and have
	// come back to wait. left says that some are still in its hands.
	EndCancelled(ctx context.Context) (left bool, err error)
}
