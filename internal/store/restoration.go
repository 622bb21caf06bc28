package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// A Restoration is one finding that this data is a copy of what it was (instance.go). Whoever had the data after the copy was
// made may have sent what waits in it. So what was due until the finding is in doubt from the first start on, before anything
// else may change its due time; runs that were open are paused; and nothing is sent until a person has reviewed it (decision 21).
type Restoration struct {
	ID       int64
	How      string    // why it is known for a copy, as a sentence
	CopiedAt time.Time // zero where it is not known
	NewestAt time.Time // when the newest thing happened that the copy knows of
	FoundAt  time.Time

	// Until is up to when what was due may have been sent: the finding, or what a person said at the review. Zero
	// while that is not worked out.
	Until       time.Time
	LastEvent   messaging.EventID // in the copy, as the next two
	LastMessage messaging.MessageID
	LastRun     messaging.RunID
	Config      string // version of the config that the copy had last

	Claimed    int64     // messages that were being sent when the copy was made
	Doubted    int64     // messages that waited, and were due until Until
	ReviewedAt time.Time // when its hold ended
}

const newestRestoration = `SELECT id, how, copied_at, newest_at, found_at, until_at, last_event, last_message, last_run, config, claimed, doubted,
		coalesce((SELECT ended_at FROM holds WHERE scope = 'all' AND name = '' AND kind = 'restored' AND of_account = '' AND part = '' AND way = ''), 0)
	FROM restorations ORDER BY id DESC LIMIT 1`

// restoration is the newest one; nil for none.
func (s *Store) restoration(ctx context.Context) (v *Restoration, err error) {
	err = s.Rows(ctx, newestRestoration, nil, func(r *engine.Row) error {
		v = &Restoration{
			ID: r.Int(), How: r.Text(), CopiedAt: r.Time(), NewestAt: r.Time(), FoundAt: r.Time(), Until: r.Time(),
			LastEvent: messaging.EventID(r.Int()), LastMessage: messaging.MessageID(r.Int()), LastRun: messaging.RunID(r.Int()), Config: r.Text(),
			Claimed: r.Int(), Doubted: r.Int(), ReviewedAt: r.Time(),
		}
		return r.Err
	})
	return v, Wrap(err, "whether this was restored")
}

var insertRestorationSQL = engine.SQL(`INSERT INTO restorations (id, how, copied_at, newest_at, found_at, until_at, last_event, last_message, last_run, config, claimed, doubted)
		SELECT coalesce((SELECT max(id) FROM restorations), 0) + 1, ?1, ?2, ?3, ?4, 0,
			coalesce((SELECT max(id) FROM events), 0), coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(id) FROM runs), 0),
			?5, 0, 0`)

// leaveSignedIn end all that lets somebody in without a password or a token: in data that was restored it could be older
// than its end.
var leaveSignedIn = []*engine.Statement{
	engine.SQL(`DELETE FROM console_sessions WHERE hash <> ''`),
	engine.SQL(`DELETE FROM console_links WHERE hash <> ''`),
	engine.SQL(`UPDATE users SET setup = '', setup_until = 0 WHERE setup_until > 0`),
}

// recognise finds out whether the data is a copy, and notes that for good before it signs it for its own.
func (s *Store) recognise(ctx context.Context, path string) error {
	how, at, err := s.copied(ctx, path)
	if err != nil {
		return err
	}
	last, err := s.restoration(ctx)
	if err != nil {
		return err
	}
	// One that was found a moment ago, by a start that did not get further, is this one.
	if how != "" && (last == nil || !last.ReviewedAt.IsZero() || !last.Until.IsZero()) {
		newest := int64(0)
		if err := s.Rows(ctx, NewestKnown, nil, func(r *engine.Row) error { newest = r.Int(); return nil }); err != nil {
			return err
		}
		config := ""
		if err := s.Rows(ctx, `SELECT version FROM configs ORDER BY at DESC LIMIT 1`, nil, func(r *engine.Row) error { config = r.Text(); return nil }); err != nil {
			return err
		}
		err := s.writer.runBatch([]*commit.Operation[*Tx]{{Run: func(t *Tx) error {
			for _, end := range leaveSignedIn {
				if err := t.Put(end); err != nil {
					return err
				}
			}
			if err := t.Put(insertRestorationSQL, how, engine.Micro(at), newest, t.At, config); err != nil {
				return err
			}
			return t.hold((&Restoration{How: how, CopiedAt: at, FoundAt: engine.Moment(t.At)}).hold())
		}}})
		if err != nil {
			return fmt.Errorf("note that the data was restored: %w", err)
		}
	}
	if err := s.sign(ctx, path); err != nil {
		return err
	}
	if err := disk.Remove(place.NoteFile(path)); err != nil {
		return fmt.Errorf("note that the data was restored: %w", err)
	}
	return s.loadRestoration(ctx)
}

func (s *Store) loadRestoration(ctx context.Context) error {
	r, err := s.restoration(ctx)
	if err == nil {
		s.restored.Store(r)
	}
	return err
}

// copyBeside is recognise for a store that only reads, where no daemon has the data: it changes nothing.
func (s *Store) copyBeside(ctx context.Context, path string) error {
	if free, err := sqlite.Unlocked(path + ".lock"); err != nil || !free {
		return err
	}
	how, at, err := s.copied(ctx, path)
	if err == nil && how != "" {
		s.unrecognised = &Restoration{How: how, CopiedAt: at}
	}
	return err
}

// Restoration is the newest one, reviewed or not; ok is false where the data was never restored. One that no daemon has found yet
// has no number.
func (s *Store) Restoration(ctx context.Context) (r Restoration, ok bool, err error) {
	v, err := s.restoration(ctx)
	if s.unrecognised != nil {
		v = s.unrecognised
	}
	if v == nil || err != nil {
		return r, false, err
	}
	return *v, true, nil
}

// RestoredAt is when the data was found to be a copy the last time; zero for never.
func (s *Store) RestoredAt() time.Time {
	if r := s.restored.Load(); r != nil {
		return r.FoundAt
	}
	return time.Time{}
}

// InReview is the restoration that nobody has reviewed yet. It asks no disk.
func (s *Store) InReview() (Restoration, bool) {
	if r := s.restored.Load(); r != nil && r.ReviewedAt.IsZero() {
		return *r, true
	}
	return Restoration{}, false
}

// MaybeGone is the end of the time in which another process may have sent from the data of which this is a restored copy: what was due
// before it may have been sent already. Zero where it never was restored.
func (s *Store) MaybeGone() time.Time {
	r := s.restored.Load()
	if r == nil {
		return time.Time{}
	}
	return r.until()
}

// until is Until, or the finding while that is not worked out.
func (r *Restoration) until() time.Time {
	if r.Until.IsZero() {
		return r.FoundAt
	}
	return r.Until
}

// restoredHold names the hold of data that is a copy.
var restoredHold = messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldRestored}

// hold is a restoration that nobody has reviewed, as what holds everything.
func (r *Restoration) hold() messaging.Hold {
	words := "this data is a copy: " + r.How
	if !r.CopiedAt.IsZero() {
		words += ", as it was at " + r.CopiedAt.UTC().Format(time.DateTime) + " UTC"
	}
	h := restoredHold
	h.Reason, h.At = words, r.FoundAt
	return h
}

// reviewTurn has one process at a time prepare a review.
func (s *Store) reviewTurn(ctx context.Context) (end func(), err error) {
	if _, review := s.InReview(); !review {
		return func() {}, nil
	}
	if end, err = s.Turn(ctx, "review", ""); err != nil {
		return nil, err
	}
	if err := s.loadRestoration(ctx); err != nil { // perhaps somebody else has prepared it
		end()
		return nil, err
	}
	return end, nil
}

// MarkRestoredInDoubt puts in doubt what the data, as long as its review has not been prepared, may not know to be sent: what was
// being sent when the copy was made, and what was due until now. deferred says that the rules of the due moment may have changed since
// the copy: then also what they had put off. It says how many.
func (s *Store) MarkRestoredInDoubt(ctx context.Context, now time.Time, deferred bool) (n int64, err error) {
	end, err := s.reviewTurn(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	return s.markRestoredInDoubt(ctx, now, deferred)
}

func (s *Store) markRestoredInDoubt(ctx context.Context, now time.Time, deferred bool) (n int64, err error) {
	r, review := s.InReview()
	if !review || !r.Until.IsZero() {
		return 0, nil
	}
	n, err = s.doubt(ctx, &r, now, deferred)
	return n, Wrap(err, "put in doubt what may have been sent")
}

// A bound on the id in these would have SQLite read all history by it, and not the small indexes of what waits and what is being sent.
const (
	doubtClaimed  = `SELECT id FROM messages WHERE state = 'sending'`
	doubtDue      = ` UNION ALL SELECT id FROM messages WHERE state = 'waiting' AND due_at <= ?1`
	doubtDeferred = ` UNION ALL SELECT id FROM messages WHERE state = 'waiting' AND due_at > ?1 AND first_due_at > 0 AND first_due_at <= ?1`
)

var countDoubtsSQL = engine.SQL(`UPDATE restorations SET claimed = claimed + ?2, doubted = doubted + ?3 WHERE id = ?1`)

// doubt is MarkRestoredInDoubt of what was due until a time.
func (s *Store) doubt(ctx context.Context, r *Restoration, until time.Time, deferred bool) (n int64, err error) {
	query, args := doubtClaimed, []any{engine.Micro(until)}
	if s.file == nil { // who lives and has a claim tells how it ends, or its lease does
		query += ` AND (owner = ?2 OR NOT ` + nodes.Alive("messages.owner") + `)`
		args = append(args, s.calls.Predecessor())
	}
	query += doubtDue
	if deferred {
		query += doubtDeferred
	}
	ids, err := List(ctx, s, query, args, engine.Number[int64])
	if err != nil {
		return 0, err
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return id > int64(r.LastMessage) })
	for some := range slices.Chunk(ids, perBulk) {
		var claimed, waited int64
		err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			claimed, waited = 0, 0 // a batch that is undone runs again
			for _, id := range some {
				was, err := t.markRestoredInDoubt(id, r)
				if err != nil {
					return fmt.Errorf("message %d: %w", id, err)
				}
				switch was {
				case messaging.StateSending:
					claimed++
				case messaging.StateWaiting:
					waited++
				}
			}
			return t.Put(countDoubtsSQL, r.ID, claimed, waited)
		})
		if err != nil {
			return n, err
		}
		n += claimed + waited
	}
	return n, s.loadRestoration(ctx)
}

// DoubtedOwner marks what waited in the copy: a review that knows more can tell it from other doubts.
func (r *Restoration) DoubtedOwner() string { return fmt.Sprintf("restoration %d", r.ID) }

// What waited counts as claimed when it was due: cooldowns begin there.
var doubtRestoredSQL = engine.SQL(`UPDATE messages SET state = 'in_doubt', reason = ?2, updated_at = ?3, attempt = ?4, lease_ends = 0,
			claimed_at = CASE WHEN state = 'sending' THEN claimed_at ELSE due_at END, owner = CASE WHEN state = 'sending' THEN owner ELSE ?5 END, ` + stored.EndSend + `
		WHERE id = ?1 AND (state = 'waiting' OR state = 'sending')`)

// markRestoredInDoubt puts a message in doubt, and says what state it was in.
func (t *Tx) markRestoredInDoubt(id int64, r *Restoration) (was messaging.State, err error) {
	var d messaging.Message
	if err := t.Query(MessageSQL, func(row *engine.Row) error { d, _ = stored.ScanMessage(row); return row.Err }, id); err != nil {
		return "", err
	}
	a := messaging.Attempt{MessageID: d.ID, Number: d.Attempt, State: messaging.StateInDoubt, Owner: d.Owner, At: engine.Moment(t.At)}
	switch d.State {
	case messaging.StateSending:
		a.Reason = fmt.Sprintf("attempt %d was under way when the copy was made that this data was restored from; it may have been sent", d.Attempt)
	case messaging.StateWaiting:
		a.Number, a.Owner = d.Attempt+1, r.DoubtedOwner()
		a.Reason = "it waited in the copy that this data was restored from, and was due at " + d.DueAt.UTC().Format(time.DateTime) + " UTC; it may have been sent"
		if id > int64(r.LastMessage) {
			a.Reason = "its event happened before this data was restored from a copy, and it may have been due since " + d.DueAt.UTC().Format(time.DateTime) + " UTC; it may have been sent"
		}
	default:
		return "", nil
	}
	if err := t.insertAttempt(&a); err != nil {
		return "", err
	}
	p := labels.OfMessage(&d)
	t.messageState(d.ID, &p, messaging.StateInDoubt, a.Reason, "", "")
	err = t.Put(doubtRestoredSQL, id, a.Reason, t.At, int64(a.Number), a.Owner)
	return d.State, err
}

var settleReviewSQL = engine.SQL(`UPDATE restorations SET until_at = ?2 WHERE id = ?1`)

// PrepareReview ends what the first start over restored data does: it puts in doubt what is due by the rules of now, pauses
// the runs that were open in the copy until a person resumes them, those too that the config had paused, and notes up to when what was due may
// have been sent. Afterwards it does nothing.
func (s *Store) PrepareReview(ctx context.Context, now time.Time, deferred bool) error {
	end, err := s.reviewTurn(ctx)
	if err != nil {
		return err
	}
	defer end()
	r, review := s.InReview()
	if !review || !r.Until.IsZero() {
		return nil
	}
	if _, err := s.markRestoredInDoubt(ctx, now, deferred); err != nil {
		return err
	}
	open, err := s.OpenRuns(ctx, "")
	for i := 0; err == nil && i < len(open); i++ {
		if open[i].ID <= r.LastRun {
			err = s.doubtRun(ctx, &r, open[i])
		}
	}
	if err == nil {
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			return t.Put(settleReviewSQL, r.ID, engine.Micro(now))
		})
	}
	if err == nil {
		err = s.loadRestoration(ctx)
	}
	return Wrap(err, "prepare the review of restored data")
}

// Rows of such a part count as sent when the copy was found: whoever had the data sent them no later.
var (
	doubtPartsSQL   = engine.SQL(`UPDATE parts SET state = 'in_doubt', reason = ?2, retry_at = 0, updated_at = ?3, claimed_at = ?4 WHERE run_id = ?1 AND state = 'waiting'`)
	doubtUploadsSQL = engine.SQL(`UPDATE parts SET state = 'in_doubt', reason = ?2, updated_at = ?3 WHERE run_id = ?1 AND state = 'uploading'`)
)

// doubtRun puts the parts of a run in doubt that waited in the copy, or were being uploaded, so that each goes only by a person's word on it, and
// pauses the run, unless a person had: then whoever had the data may have resumed it. A node that lives and uploads one still says how that ends.
// It is one commit, and does no harm again.
func (s *Store) doubtRun(ctx context.Context, r *Restoration, run messaging.Run) error {
	from := run.State
	byConfig := from == messaging.RunPaused && run.Stopped == messaging.StopConfig // it would go on by itself
	if from != messaging.RunPaused || byConfig {
		if !byConfig {
			run.Before = from
		}
		run.State, run.Stopped, run.Held, run.Owner, run.LeaseEnd = messaging.RunPaused, messaging.StopRestored, "", "", time.Time{}
		run.Reason = "the data was restored: whoever had it may have gone on with this run; look at the service's list of campaigns, " +
			"and say what became of each part that is in doubt, before it is resumed"
	}
	return s.changeRun(ctx, "", run, []messaging.RunState{from}, func(t *Tx) error {
		t.peers.FilesCount(true)
		if err := t.Put(doubtUploadsSQL, int64(run.ID), "it was being uploaded when the copy was made that the data was restored from", t.At); err != nil {
			return err
		}
		return t.Put(doubtPartsSQL, int64(run.ID), "it waited in the copy that the data was restored from, and whoever had the data since may have uploaded it, or rows of it",
			t.At, engine.Micro(r.FoundAt))
	})
}

// Reviewed is what the end of a review did.
type Reviewed struct {
	Doubted int64 // messages that stay in doubt because of the restoration
	Back    int64 // messages that wait again, because whoever had the data was lost before they were due
}

// A LostAtError says that the time at which the data was lost cannot be.
type LostAtError struct{ Lost, From, Until time.Time }

func (e *LostAtError) Error() string {
	return fmt.Sprintf("it cannot have been lost at %s: the copy is of %s, and was found at %s",
		e.Lost.UTC().Format(time.DateTime), e.From.UTC().Format(time.DateTime), e.Until.UTC().Format(time.DateTime)+" UTC")
}

var reviewedSQL = engine.SQL(`UPDATE restorations SET until_at = ?2, doubted = ?3 WHERE id = ?1`)

// EndReview lets restored data send. lost is when whoever had it before was lost, where that is known: what was due later surely was
// not sent, and waits again. The rest stays in doubt. Errors: ErrNotFound where nothing is to be reviewed, a *LostAtError.
func (s *Store) EndReview(ctx context.Context, lost time.Time) (done Reviewed, err error) {
	r, review := s.InReview()
	if !review {
		return done, fmt.Errorf("end the review: %w", messaging.ErrNotFound)
	}
	if r.Until.IsZero() { // it began a moment ago, while daemons ran
		if err := s.PrepareReview(ctx, s.now(), true); err != nil {
			return done, err
		}
		if r, review = s.InReview(); !review {
			return done, fmt.Errorf("end the review: %w", messaging.ErrNotFound)
		}
	}
	until := r.Until
	if !lost.IsZero() {
		from := r.CopiedAt
		if from.IsZero() {
			from = r.NewestAt
		}
		if lost.Before(from.Truncate(time.Second)) || lost.After(r.Until) {
			return done, &LostAtError{lost, from, r.Until}
		}
		until = lost
	}
	// A reload since may have made something due earlier.
	if _, err = s.doubt(ctx, &r, until, false); err == nil && !lost.IsZero() {
		done.Back, err = s.undoubt(ctx, &r, lost)
	}
	if err == nil {
		err = s.Rows(ctx, `SELECT count(*) FROM messages WHERE state = 'in_doubt' AND owner = ?1`, []any{r.DoubtedOwner()}, func(r *engine.Row) error {
			done.Doubted = r.Int()
			return nil
		})
	}
	if err == nil {
		waited := done.Doubted
		done.Doubted += r.Claimed
		err = s.changeHolds(ctx, restoredHold.Same, func(t *Tx) error {
			was, err := t.endHold(restoredHold)
			if err != nil || !was {
				return err
			}
			t.wakeEnricher(t.At)
			return t.Put(reviewedSQL, r.ID, engine.Micro(until), waited)
		})
	}
	if err == nil {
		err = s.loadRestoration(ctx)
	}
	return done, Wrap(err, "end the review")
}

// undoubt has what was due after a time wait again.
func (s *Store) undoubt(ctx context.Context, r *Restoration, lost time.Time) (n int64, err error) {
	ids, err := List(ctx, s, `SELECT id FROM messages WHERE state = 'in_doubt' AND owner = ?1 AND due_at > ?2`, []any{r.DoubtedOwner(), engine.Micro(lost)}, engine.Number[int64])
	for some := range slices.Chunk(ids, perBulk) {
		if err != nil {
			break
		}
		var back int64
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			back = 0
			for _, id := range some {
				var d messaging.Message
				err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = stored.ScanMessage(r); return r.Err }, id)
				if err != nil || d.State != messaging.StateInDoubt || d.Forgotten() {
					if err != nil {
						return err
					}
					continue
				}
				state, err := t.requeueMessage(&d, requeue{
					reason: "not sent: whoever had the data was lost at " + lost.UTC().Format(time.DateTime) + " UTC, before it was due",
					due:    engine.Micro(d.DueAt), expires: engine.Micro(d.ExpiresAt), at: t.At,
				})
				if err == nil {
					err = t.undoAttempt(&d, r)
				}
				if err != nil {
					return fmt.Errorf("message %d: %w", id, err)
				}
				if state == messaging.StateWaiting {
					back++
				}
			}
			return nil
		})
		n += back
	}
	return n, err
}

var (
	undoAttemptSQL = engine.SQL(`DELETE FROM attempts WHERE message = ?1 AND number = ?2 AND owner = ?3`)

	// What was tried before the copy counts from then on.
	undoClaimSQL = engine.SQL(`UPDATE messages SET claimed_at = coalesce((SELECT max(at) FROM attempts WHERE message = ?1), 0) WHERE id = ?1`)
)

// undoAttempt takes back the attempt that a restoration noted for what waited, which nobody made: else a message that is cancelled or
// expires from now on would count as one that may have been sent.
func (t *Tx) undoAttempt(d *messaging.Message, r *Restoration) error {
	err := t.Put(undoAttemptSQL, int64(d.ID), int64(d.Attempt), r.DoubtedOwner())
	if err == nil {
		err = t.Put(undoClaimSQL, int64(d.ID))
	}
	return err
}

// mayHaveGone reports whether whoever had the data before it was restored may have gone on with something of that time.
func (w *writer) mayHaveGone(at time.Time) bool {
	r := w.restored.Load()
	return r != nil && !at.After(r.until())
}

// markPlannedInDoubt puts in doubt what is planned because of an event that whoever had the data may have planned on, too, and sent what
// came of it: one of the copy that waited for a look-up there, or one that happened before the copy was found and is posted again
// in its review.
func (t *Tx) markPlannedInDoubt(e *messaging.Event, id messaging.EventID, decisions []messaging.Decision) error {
	r := t.restored.Load()
	if r == nil || id > r.LastEvent && !r.postedAgain(e) {
		return nil
	}
	if err := t.writeCancels(); err != nil {
		return err
	}
	for i := range decisions {
		for _, one := range append(slices.Clone(decisions[i].Later), decisions[i].MessageID) {
			if err := t.markOneInDoubt(e, id, one, r); err != nil {
				return fmt.Errorf("message %d: %w", one, err)
			}
		}
	}
	return nil
}

// postedAgain reports whether an event that the copy did not have may be one that was posted to whoever had the data before. What comes
// after the review was not taken there: senders repeat by themselves only that.
func (r *Restoration) postedAgain(e *messaging.Event) bool {
	inReview := r.ReviewedAt.IsZero() || e.ReceivedAt.Before(r.ReviewedAt)
	return inReview && !e.Time().After(r.until())
}

var dueWithEventSQL = engine.SQL(`UPDATE messages SET due_at = ?2 WHERE id = ?1 AND state{{checked}} = 'waiting'`)

// markOneInDoubt is markPlannedInDoubt of one message.
func (t *Tx) markOneInDoubt(e *messaging.Event, event messaging.EventID, id messaging.MessageID, r *Restoration) error {
	var d messaging.Message
	err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = stored.ScanMessage(r); return r.Err }, int64(id))
	if err != nil || d.State != messaging.StateWaiting {
		return err
	}
	if event <= r.LastEvent {
		late := engine.Moment(t.At).Sub(e.ReceivedAt) // a wait may have been counted from now
		if t.mayHaveGone(d.DueAt.Add(-late)) {
			_, err = t.markRestoredInDoubt(int64(id), r)
		}
		return err
	}
	if d.DueAt.After(engine.Moment(t.At)) { // after the loss
		return nil
	}
	// When it was due there is not known. It was not before the event, and --lost-at is held against that.
	if err := t.Put(dueWithEventSQL, int64(id), engine.Micro(e.Time())); err != nil {
		return err
	}
	_, err = t.markRestoredInDoubt(int64(id), r)
	return err
}
