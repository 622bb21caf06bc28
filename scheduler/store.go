package scheduler

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Store is what a Scheduler needs of package store. Every method that changes something is
// one commit, durable when it returns. Errors: messaging.ErrNotFound for a run that is not there,
// messaging.ErrMoved for a change to a run or part that is not where the caller believed it was.
type Store interface {
	RunStore
	RowStore
	ListStore
	RetryStore
}

// A RunStore keeps runs and their parts.
type RunStore interface {
	// StartRun stores a run unless there is one of the same job and slot, and gives it its ID.
	// won is false when there is: whoever won runs it, and id is that one's.
	StartRun(ctx context.Context, r messaging.Run) (id messaging.RunID, won bool, err error)

	// Run is one run.
	Run(ctx context.Context, id messaging.RunID) (messaging.Run, error)

	// OpenRuns are the runs of a job that are not final, the oldest first; of all jobs for "".
	OpenRuns(ctx context.Context, job string) ([]messaging.Run, error)

	// LastSent is the newest run of a job that kept at least one row and is done, partial, or cancelled
	// after some of it had left, or may have; one that repeats another is passed over.
	LastSent(ctx context.Context, job string) (r messaging.Run, ok bool, err error)

	// LastScheduled is the time up to which a job's clock needs no more looking at: the newest
	// DueAt among its runs by cron or missed, or, if that is later, when this cron line (with
	// its zone) was first seen, which is now if it never was.
	LastScheduled(ctx context.Context, job, line string, now time.Time) (time.Time, error)

	// SetRun stores r in place of the run of its ID (all but ID, Job, Slot, DueAt, Cause and
	// CreatedAt) while that is in one of from and its Owner is by; ErrMoved otherwise. A
	// person's word has no owner: by is "" then, and any will do. A run that becomes cancelled
	// takes its parts that wait along, in the same commit. While a run is paused, and once
	// it is cancelled, no row of it that was handed over is sent.
	SetRun(ctx context.Context, by string, r messaging.Run, from ...messaging.RunState) error

	// ApproveRun has approve change a run as it is at that moment, and stores that. Its error comes back, and nothing is changed.
	// It may be called more than once.
	ApproveRun(ctx context.Context, id messaging.RunID, approve func(*messaging.Run) error) error

	// SaveParts stores r as SetRun does from building, and its parts in place of earlier ones.
	SaveParts(ctx context.Context, by string, r messaging.Run, parts []messaging.Part) error

	// Parts are the parts of a run by number.
	Parts(ctx context.Context, id messaging.RunID) ([]messaging.Part, error)

	// Point is this moment, from which on a part of the run is cut, for ClaimPart.
	Point(ctx context.Context, run messaging.RunID) (messaging.Point, error)

	// ChangedContacts are those of the phones of which something changed since that point, or since they were asked for last. same is
	// false where something else changed.
	ChangedContacts(ctx context.Context, run messaging.RunID, since messaging.Point, phones []messaging.Phone) (changed []messaging.Phone, same bool, err error)

	// ClaimPart is the durable intent to upload a part as it was cut: it makes one that waits uploading, counts the attempt and
	// leaves the rows that found no place as a part of their own, while its run is uploading and the owner's; ErrMoved otherwise. claimed
	// is false, and nothing has changed, where what the part was cut by has changed since its point: then ChangedContacts says of whom.
	ClaimPart(ctx context.Context, c messaging.PartClaim) (p messaging.Part, claimed bool, err error)

	// ReplacePart stores a part that waits, of which nobody may go now, and the tally of r, its run, while that is uploading
	// and owner's; ErrMoved otherwise.
	ReplacePart(ctx context.Context, owner string, r messaging.Run, p messaging.Part) error

	// Room says how many of the phones have room in the window of their account's limit.
	Room(ctx context.Context, q messaging.QuotaQuestion) (messaging.Room, error)

	// Spent is what was spent on the day and in the month of a moment.
	Spent(ctx context.Context, of messaging.Calendar, at time.Time) (messaging.Spent, error)

	// FinishPart stores how an upload ended. The part must be uploading, or in doubt because
	// somebody took the uploader for dead, with the same Attempt; else ErrMoved. The messages
	// that p.MessageIDs names are followed from then on.
	FinishPart(ctx context.Context, p messaging.Part) error

	// FollowRest goes on with making messages of what FinishPart was told, where they were too many
	// for its commit.
	FollowRest(ctx context.Context) error

	// ClaimRuns gives owner the runs that are planned, building or uploading and nobody's, its own,
	// or under a lease that ended before now, and makes their lease end at until. A planned run
	// is passed over while an older one of its job is not final. The oldest come first. Those that may says no to stay as they
	// are; nil says no to none.
	ClaimRuns(ctx context.Context, owner string, now, until time.Time, may func(*messaging.Run) bool) ([]messaging.Run, error)

	// ReleaseRun notes with a run who lets it go on although the config does not send by its job; "" is nobody.
	ReleaseRun(ctx context.Context, id messaging.RunID, who string) error
	// RunsUnsent are the runs of jobs that of names, the oldest first, of which a message waits or is being sent.
	RunsUnsent(ctx context.Context, of func(job string) bool) ([]messaging.Run, error)

	// Renew moves the lease of a run on and gives the run as it stands: a person may have
	// paused or cancelled it. ErrMoved when it is not owner's any more.
	Renew(ctx context.Context, id messaging.RunID, owner string, until time.Time) (messaging.Run, error)
}

// A ListStore keeps the rows of lists.
type ListStore interface {
	// AddRows stores rows of a run that is being built, store.PerRows at the most, while it is owner's; ErrMoved otherwise.
	AddRows(ctx context.Context, owner string, run messaging.RunID, rows []messaging.ListRow) error
	// DropRows removes the rows of a run that was not built to its end, unless it is another's by now. excluded says that those go,
	// too, which were excluded.
	DropRows(ctx context.Context, owner string, run messaging.RunID, excluded bool) error
	// ListRows calls each for the rows of a list in these ranges, in their order.
	ListRows(ctx context.Context, list messaging.RunID, in messaging.RowRanges, each func(*messaging.ListRow) error) error
	// NoteRows notes why rows do not go, or until when they wait.
	NoteRows(ctx context.Context, list messaging.RunID, notes []messaging.RowNote) error
}

// A RowStore takes rows as messages, for jobs that deliver message by message.
type RowStore interface {
	// HandedOver is the number of the last row that a run handed over; 0 for none.
	HandedOver(ctx context.Context, id messaging.RunID) (int64, error)

	// Backlog is how many messages of a run wait to be sent.
	Backlog(ctx context.Context, id messaging.RunID) (waiting int64, err error)

	// Enqueue stores the messages of a run's rows in one commit: the row with the number first,
	// counted among the kept rows from 1, and those after it. One that is dropped is stored as that,
	// with its reason, and never sent. A row that the run already queues is passed over, so that a batch
	// may be handed over again after a crash.
	Enqueue(ctx context.Context, id messaging.RunID, first int64, rows []messaging.Message) error

	// EnqueueAtRate is Enqueue for as many of the rows, from the first, as the window has room for: done of them. since is
	// when that window began.
	EnqueueAtRate(ctx context.Context, id messaging.RunID, first int64, rows []messaging.Message, w messaging.RateWindow) (done int, since time.Time, err error)

	// UseRate takes room for that many rows from the window, or what is left of it.
	UseRate(ctx context.Context, w messaging.RateWindow, rows int) (granted int, since time.Time, err error)

	// RowsToGoAgain are rows of a run, after the one with the number after, that may go again and that meant names: at
	// most limit of them.
	RowsToGoAgain(ctx context.Context, id messaging.RunID, after int64, limit int, meant func(*messaging.RunRow) bool) ([]messaging.RunRow, error)

	// EnqueueRetries queues these messages once more, as rows of the run. One that may
	// not go again any more, or did already, is passed over. due is when each falls due; nil for now. total is how many rows the run queues
	// then.
	EnqueueRetries(ctx context.Context, id messaging.RunID, of []messaging.MessageID, due func(messaging.Phone, time.Time) time.Time, now time.Time) (total int64, err error)

	// CountRunMessages counts the run's messages: those of its rows that were handed over, or that an upload's
	// answer named.
	CountRunMessages(ctx context.Context, id messaging.RunID) (messaging.RunCounts, error)

	// CancelRows ends the run's messages that still wait, and says how many there were.
	CancelRows(ctx context.Context, id messaging.RunID, reason string) (n int64, err error)

	// PauseSent pauses a run that has ended while messages of it still wait, from where it goes
	// on as uploading; false, and nothing has changed, when none does.
	PauseSent(ctx context.Context, id messaging.RunID, who, held, reason string) (paused bool, err error)

	// EndCancelled ends messages of cancelled runs that were in a sender's hands then and have
	// come back to wait: n of them. left says that some are still in its hands.
	EndCancelled(ctx context.Context) (n int64, left bool, err error)
}

// A RetryStore knows what became of a run, and takes a run that repeats some of it.
type RetryStore interface {
	// RunRows calls each for the rows of a run that have a message, by number, after that one.
	RunRows(ctx context.Context, id messaging.RunID, after int64, each func(*messaging.RunRow) error) error
	// RetriesOf counts the runs that send a run again.
	RetriesOf(ctx context.Context, id messaging.RunID) (int, error)
	// PartsOfList are the parts of all runs that send rows of a list, the oldest run first.
	PartsOfList(ctx context.Context, list messaging.RunID) ([]messaging.Part, error)
	// StartRunOf is StartRun for a run whose parts are there already, in one commit.
	StartRunOf(ctx context.Context, r messaging.Run, parts []messaging.Part) (id messaging.RunID, won bool, err error)
	// ResolvePart stores a person's word on a part in doubt, and r where that word moves its run
	// from its state.
	ResolvePart(ctx context.Context, from messaging.RunState, r messaging.Run, p messaging.Part) error
}
