package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/spent"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

var insertPartSQL = engine.SQL(`INSERT INTO parts (` + stored.PartColumns + `)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`)

func (t *Tx) insertPart(run messaging.RunID, p *messaging.Part) error {
	ids, err := stored.EncodeIDs(p)
	if err != nil {
		return err
	}
	list := p.List
	if list == 0 {
		list = run
	}
	err = t.Put(insertPartSQL, int64(run), int64(p.Number), int64(list), p.Rows, p.Bytes, p.SHA256, string(p.State), p.Reason,
		int64(p.Attempt), engine.Micro(p.RetryAt), p.CampaignID, ids, plain.Cut(p.Answer, maxAnswer), int64(p.HTTPStatus), engine.Micro(p.UpdatedAt), p.Resolved, "")
	if err != nil {
		return err
	}
	return t.setPartRows(run, p.Number, p.Ranges)
}

var (
	dropPartRowsSQL = engine.SQL(`DELETE FROM part_rows WHERE run_id = ?1 AND part = ?2`)
	addPartRowsSQL  = engine.SQL(`INSERT INTO part_rows (run_id, part, first_row, last_row) VALUES (?1, ?2, ?3, ?4)`)
)

// setPartRows says which rows a part has from now on.
func (t *Tx) setPartRows(run messaging.RunID, number int, rows messaging.RowRanges) error {
	if err := t.Put(dropPartRowsSQL, int64(run), int64(number)); err != nil {
		return err
	}
	for _, r := range rows {
		if err := t.Put(addPartRowsSQL, int64(run), int64(number), r.First, r.Last); err != nil {
			return err
		}
	}
	return nil
}

var partSQL = engine.SQL(`SELECT ` + stored.PartColumns + ` FROM parts WHERE run_id = ?1 AND number = ?2 {{for update}}`)

// part is a part without its rows.
func (t *Tx) part(run messaging.RunID, number int) (p messaging.Part, err error) {
	err = t.Query(partSQL, func(r *engine.Row) (err error) { p, err = stored.ScanPart(r); return err }, int64(run), int64(number))
	return p, err
}

var (
	holdsSeenSQL     = engine.SQL(`SELECT count(*), coalesce(max(at), 0) FROM holds WHERE ended_at = 0`)
	requestsSeenSQL  = engine.SQL(`SELECT count(*), coalesce(max(up_to), 0) FROM redactions`)
	forgottenSeenSQL = engine.SQL(`SELECT count(*), coalesce(max(at), 0) FROM forgotten WHERE at >= ?1`)
	claimsSeenSQL    = engine.SQL(`SELECT CAST(coalesce(sum(attempt), 0) AS BIGINT), coalesce(max(claimed_at), 0) FROM parts WHERE claimed_at >= ?1 AND claimed_at > 0`)
)

// late is how long before it is on disk a change may be dated: its transaction took its time, or the clock was set back.
const late = int64(time.Hour / time.Microsecond)

// pointSeen is what Point.Seen is made of: it differs from that of the point at a time once a hold begins or ends, all that came
// by a connector is asked to be forgotten, a contact is forgotten, or a file leaves.
func (t *Tx) pointSeen(at int64) (string, error) {
	var text []byte
	for _, s := range [...]*engine.Statement{holdsSeenSQL, requestsSeenSQL, forgottenSeenSQL, claimsSeenSQL} {
		since := []any{at - late}
		if s == holdsSeenSQL || s == requestsSeenSQL { // they are few
			since = nil
		}
		err := t.Query(s, func(r *engine.Row) error { text = fmt.Appendf(text, "%d %d;", r.Int(), r.Int()); return r.Err }, since...)
		if err != nil {
			return "", err
		}
	}
	return string(text), nil
}

var (
	claimPartSQL = engine.SQL(`UPDATE parts SET state = 'uploading', attempt = ?3, updated_at = ?4, claimed_at = ?4, row_count = ?5, bytes = ?6, sha256 = ?7, goes = ?8, retry_at = 0
		WHERE run_id = ?1 AND number = ?2 AND state = 'waiting'`)
	newestPartSQL = engine.SQL(`SELECT coalesce(max(number), 0) FROM parts WHERE run_id = ?1`)
)

// ClaimPart is the durable intent to upload a part as it was cut: it becomes uploading with the rows, bytes and hash of this attempt, and
// what found no place becomes a part of its own. ErrMoved where the part does not wait, or its run is not uploading and the owner's.
// claimed is false, nothing has changed, and p has no rows, where somebody on it may not get it any more, or not all have room, or something else changed since its
// point: then it is cut anew.
func (s *Store) ClaimPart(ctx context.Context, c messaging.PartClaim) (p messaging.Part, claimed bool, err error) {
	contacts := reach.HashesOf(c.Phones, keyindex.Hash) // there may be a third of a million, so before the commit
	var asked *reach.Question
	if c.Room != nil {
		asked = reach.Ask(*c.Room, s.hash)
	}
	var r messaging.Run
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		claimed = false // a batch that is undone runs again
		if r, err = t.run(c.Part.RunID); err != nil {
			return err
		}
		if p, err = t.part(c.Part.RunID, c.Part.Number); err != nil {
			return err
		}
		if r.State != messaging.RunUploading || r.Owner != c.Owner || p.State != messaging.PartWaiting || p.Attempt != c.Part.Attempt {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		if same, err := t.asAt(&c, r.Category, contacts, asked); err != nil || !same {
			return err
		}
		claimed = true
		p.Ranges, p.Rows, p.Bytes, p.SHA256 = c.Part.Ranges, c.Part.Ranges.Count(), c.Part.Bytes, c.Part.SHA256
		p.Goes = c.Part.Goes
		p.State, p.UpdatedAt, p.RetryAt = messaging.PartUploading, engine.Moment(engine.Micro(c.At)), time.Time{}
		p.Attempt++
		goes, err := stored.EncodeList(c.Part.Goes)
		if err != nil {
			return err
		}
		r.Tally = c.Tally
		t.partState(&r, &p, p.State, 0)
		err = t.Put(claimPartSQL, int64(p.RunID), int64(p.Number), int64(p.Attempt), engine.Micro(c.At), p.Rows, p.Bytes, p.SHA256, goes)
		if err == nil {
			err = t.setPartRows(p.RunID, p.Number, p.Ranges)
		}
		if err == nil {
			err = t.leave(&p, c.Left)
		}
		if err == nil {
			err = t.forgetCuts(p.RunID)
		}
		if err != nil {
			return err
		}
		args, err := runArgs(&r)
		if err == nil {
			err = t.Put(updateRunSQL, append([]any{int64(r.ID)}, args...)...)
		}
		return err
	})
	if err == nil && !claimed {
		return p, false, nil
	}
	if err == nil {
		_ = s.calls.Note(calls.Slots, calls.Upload(p.RunID, p.Number, p.Attempt)) // it only helps to know a copy of the data
	}
	return p, claimed, observe(Wrap(err, "claim part %d of run %d", c.Part.Number, c.Part.RunID), s.observer.Part, p)
}

// asAt reports whether a part may go as it was cut. Claims go one after the other, and each sees those before it.
func (t *Tx) asAt(c *messaging.PartClaim, category messaging.Category, contacts []int64, room *reach.Question) (bool, error) {
	locks := []int64{keyindex.Hash("parts")} // at once, as claims of messages lock them
	if room != nil {
		locks = append(locks, peers.ReachLock(room.Account, room.Hash))
	}
	if c.Budget != nil {
		locks = append(locks, spent.Lock(keyindex.Hash))
	}
	if err := t.peers.Lock(t.Tx, locks, nil); err != nil {
		return false, err
	}
	same, err := t.cutSince(c.Part.RunID, c.Point)
	if err != nil || !same || c.Still != nil && !c.Still() {
		return false, err
	}
	changed, err := t.anyChanged(c.Part.RunID, category, contacts)
	if err != nil || changed {
		return false, err
	}
	if c.Budget != nil {
		s, err := t.sums.Read(t.Query, c.Budget, c.At, t.At, t.tally.Hours.Points(), t.points)
		if err != nil || !c.Pays(s) {
			return false, err
		}
	}
	if room == nil {
		return true, nil
	}
	answer, err := t.room(room)
	return answer.Fits >= len(room.Phones), err
}

// leave makes a part of rows that found no place in another.
func (t *Tx) leave(of *messaging.Part, rows messaging.RowRanges) error {
	if len(rows) == 0 {
		return nil
	}
	newest := int64(0)
	if err := t.Query(newestPartSQL, func(r *engine.Row) error { newest = r.Int(); return r.Err }, int64(of.RunID)); err != nil {
		return err
	}
	return t.insertPart(of.RunID, &messaging.Part{
		Number: int(newest) + 1, List: of.List, Ranges: rows, Rows: rows.Count(), State: messaging.PartWaiting, UpdatedAt: of.UpdatedAt,
	})
}

var (
	emptyPartSQL = engine.SQL(`UPDATE parts SET state = 'excluded', reason = ?3, row_count = 0, retry_at = 0, updated_at = ?4 WHERE run_id = ?1 AND number = ?2 AND state = 'waiting'`)
	deferPartSQL = engine.SQL(`UPDATE parts SET reason = ?3, row_count = ?4, retry_at = ?5, updated_at = ?6 WHERE run_id = ?1 AND number = ?2 AND state = 'waiting'`)
)

// ReplacePart stores a waiting part of which no row may go now. Rows that may never go are taken out; the part waits until the first of the
// others may go; with no row left its state is excluded. With it comes the tally of r, its run, while that is uploading and owner's. ErrMoved otherwise, and nothing has changed.
func (s *Store) ReplacePart(ctx context.Context, owner string, r messaging.Run, p messaging.Part) error {
	return s.changeRun(ctx, owner, r, []messaging.RunState{messaging.RunUploading}, func(t *Tx) (err error) {
		old, err := t.part(r.ID, p.Number)
		if err != nil {
			return err
		}
		var n int64
		switch p.State {
		case messaging.PartExcluded:
			n, err = t.Exec(emptyPartSQL, int64(r.ID), int64(p.Number), p.Reason, engine.Micro(p.UpdatedAt))
		case messaging.PartWaiting:
			n, err = t.Exec(deferPartSQL, int64(r.ID), int64(p.Number), p.Reason, p.Ranges.Count(), engine.Micro(p.RetryAt), engine.Micro(p.UpdatedAt))
		default:
			return fmt.Errorf("part %d: it cannot become %s", p.Number, p.State)
		}
		switch {
		case err != nil:
			return err
		case n == 0:
			return messaging.ErrMoved
		case old.Rows == p.Ranges.Count(): // none was taken out, and there may be as many ranges as rows
			return nil
		}
		return t.setPartRows(r.ID, p.Number, p.Ranges)
	})
}

var finishPartSQL = engine.SQL(`UPDATE parts SET state = ?4, reason = ?5, retry_at = ?6, campaign_id = ?7, message_ids = ?8, answer = ?9, http_status = ?10, updated_at = ?11
		WHERE run_id = ?1 AND number = ?2 AND attempt = ?3 AND (state = 'uploading' OR state = 'in_doubt')`)

// FinishPart stores how an upload ended. The part must be uploading, or in doubt because
// somebody took the uploader for dead, with the same Attempt; else ErrMoved.
//
// A part that goes back to waiting while its run was cancelled is cancelled with it: nobody
// would come for it any more.
//
// The messages of an accepted part are followed from then on: p.MessageIDs are kept in the same
// commit, as messages as far as followAtOnce goes; FollowRest goes on with the others. Its other
// rows are counted as uploaded.
func (s *Store) FinishPart(ctx context.Context, p messaging.Part) error {
	if p.State != messaging.PartAccepted {
		p.MessageIDs, p.Phones = nil, nil
	}
	if p.Phones != nil && len(p.Phones) != len(p.MessageIDs) {
		return fmt.Errorf("finish part %d of run %d: %d phones for %d messages", p.Number, p.RunID, len(p.Phones), len(p.MessageIDs))
	}
	ids, err := stored.EncodeIDs(&p)
	if err != nil {
		return fmt.Errorf("finish part %d of run %d: %w", p.Number, p.RunID, err)
	}
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		r, err := t.run(p.RunID) // before its part, as everybody locks them
		if err != nil {
			return err
		}
		old, err := t.part(p.RunID, p.Number)
		if err != nil {
			return err
		}
		if old.Attempt != p.Attempt || !old.State.May(p.State) || old.State == messaging.PartWaiting {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		t.partState(&r, &old, p.State, int64(len(p.MessageIDs)))
		err = t.Put(finishPartSQL, int64(p.RunID), int64(p.Number), int64(p.Attempt), string(p.State), p.Reason, engine.Micro(p.RetryAt),
			p.CampaignID, ids, plain.Cut(p.Answer, maxAnswer), int64(p.HTTPStatus), engine.Micro(p.UpdatedAt))
		if err != nil {
			return err
		}
		switch {
		case p.State == messaging.PartAccepted:
			_, err = t.follow(&r, &p, s.first)
		case p.State == messaging.PartWaiting && r.State == messaging.RunCancelled:
			err = t.Put(cancelPartsSQL, int64(p.RunID), r.Reason, t.At)
		}
		return err
	})
	return observe(Wrap(err, "finish part %d of run %d", p.Number, p.RunID), s.observer.Part, p)
}

// Room says how many of the phones still have room in the window of their account's limit.
func (s *Store) Room(ctx context.Context, q messaging.QuotaQuestion) (room messaging.Room, err error) {
	asked := reach.Ask(q, s.hash)
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		room, err = t.room(asked)
		return err
	})
	return room, Wrap(err, "room of the account %q", q.Account)
}

func (t *Tx) room(q *reach.Question) (messaging.Room, error) {
	reached, err := t.peers.Contacts(t.Tx, q.Account, q.Since(), q.Hash)
	if err != nil {
		return messaging.Room{}, err
	}
	return q.Room(t.Tx, reached)
}

var (
	resolvePartSQL = engine.SQL(`UPDATE parts SET state = ?3, reason = ?4, resolved = ?5, retry_at = 0, updated_at = ?6
		WHERE run_id = ?1 AND number = ?2 AND state{{checked}} = 'in_doubt'`)

	// The ways back from an end: from partial by a word on a part, and from wherever messages may
	// still wait by a pause.
	reopenRunSQL = engine.SQL(`UPDATE runs SET state = 'uploading', reason = ?2, owner = '', lease_ends = 0, ended_at = 0 WHERE id = ?1 AND state = 'partial'`)
	endAnewSQL   = engine.SQL(`UPDATE runs SET state = ?2, reason = ?3 WHERE id = ?1 AND state = 'partial'`)
)

// ResolvePart stores what a person decided about a part in doubt, and r where that moves its run: a
// partial one goes on uploading, or is done, or stays partial for another reason. from is
// the state that the run must be in; ErrMoved when it does not, or when the part is not in doubt or
// was tried again meanwhile.
func (s *Store) ResolvePart(ctx context.Context, from messaging.RunState, r messaging.Run, p messaging.Part) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		old, err := t.run(r.ID)
		if err != nil {
			return err
		}
		part, err := t.part(r.ID, p.Number)
		if err != nil {
			return err
		}
		stays := old.State == r.State && r.State != messaging.RunPartial
		allowed := old.State == from && part.State == messaging.PartInDoubt && part.Attempt == p.Attempt && part.State.May(p.State) &&
			(stays || old.State == messaging.RunPartial)
		if !allowed {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		t.partState(&old, &part, p.State, 0)
		if err := t.Put(resolvePartSQL, int64(r.ID), int64(p.Number), string(p.State), p.Reason, p.Resolved, engine.Micro(p.UpdatedAt)); err != nil {
			return err
		}
		switch {
		case stays:
		case r.State == messaging.RunUploading:
			err = t.Put(reopenRunSQL, int64(r.ID), r.Reason)
		default:
			t.runState(&r, old.State)
			err = t.Put(endAnewSQL, int64(r.ID), string(r.State), r.Reason)
		}
		return err
	})
	err = observe(observe(err, s.observer.Part, p), s.observer.Run, r)
	return Wrap(err, "resolve part %d of run %d", p.Number, r.ID)
}
