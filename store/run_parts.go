package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
)

var insertPartSQL = statementOf(`INSERT INTO parts (` + partColumns + `)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`)

func (t *tx) insertPart(run nudgewire.RunID, p *nudgewire.Part) error {
	ids, err := encodeIDs(p)
	if err != nil {
		return err
	}
	err = t.put(insertPartSQL, int64(run), int64(p.Number), p.File, p.Rows, p.First, p.Bytes, p.SHA256, string(p.State), p.Reason,
		int64(p.Attempt), micro(p.RetryAt), p.CampaignID, ids, cut(p.Answer, maxAnswer), int64(p.HTTPStatus), micro(p.UpdatedAt), p.Excluded, p.Resolved)
	return err
}

// encodeIDs keeps message ids as JSON, each with a space and its phone where that is known;
// none is "".
func encodeIDs(p *nudgewire.Part) (string, error) {
	ids := p.MessageIDs
	if len(ids) == 0 {
		return "", nil
	}
	if p.Phones != nil {
		ids = make([]string, len(p.MessageIDs))
		for i, id := range p.MessageIDs {
			ids[i] = strings.TrimSuffix(id+" "+p.Phones[i], " ")
		}
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("encode message ids: %w", err)
	}
	return string(text), nil
}

// decodeIDs is the other way.
func decodeIDs(p *nudgewire.Part, text string) error {
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&p.MessageIDs); err != nil {
		return fmt.Errorf("part %d of run %d: message ids: %w", p.Number, p.RunID, err)
	}
	for i, one := range p.MessageIDs {
		id, phone, known := strings.Cut(one, " ")
		if p.MessageIDs[i] = id; known {
			if p.Phones == nil {
				p.Phones = make([]string, len(p.MessageIDs))
			}
			p.Phones[i] = phone
		}
	}
	return nil
}

var partSQL = statementOf(`SELECT ` + partColumns + ` FROM parts WHERE run_id = ?1 AND number = ?2 {{for update}}`)

func (t *tx) part(run nudgewire.RunID, number int) (p nudgewire.Part, err error) {
	err = t.query(partSQL, func(r *row) (err error) { p, err = scanPart(r); return err }, int64(run), int64(number))
	return p, err
}

// ClaimPart is the durable intent to upload: it makes a part that is built uploading and
// counts the attempt, while its run is uploading and owner's. ErrMoved otherwise.
func (s *Store) ClaimPart(ctx context.Context, run nudgewire.RunID, number int, owner string, now time.Time) (nudgewire.Part, error) {
	return s.claimPart(ctx, run, number, owner, now, nil)
}

// ClaimPartInRoom is ClaimPart while all that q asks about, who are those on the part, have room. Where they have none
// the part comes back as it is, built, and nothing has changed.
func (s *Store) ClaimPartInRoom(ctx context.Context, run nudgewire.RunID, number int, owner string, now time.Time, q nudgewire.RoomQuestion) (nudgewire.Part, error) {
	return s.claimPart(ctx, run, number, owner, now, &q)
}

var claimPartSQL = statementOf(`UPDATE parts SET state = 'uploading', attempt = ?3, updated_at = ?4, claimed_at = ?4 WHERE run_id = ?1 AND number = ?2 AND state = 'built'`)

func (s *Store) claimPart(ctx context.Context, run nudgewire.RunID, number int, owner string, now time.Time, q *nudgewire.RoomQuestion) (p nudgewire.Part, err error) {
	claimed := false
	var asked *roomAsked
	if q != nil {
		asked = s.askRoom(*q)
	}
	err = s.write(ctx, laneWork, func(t *tx) error {
		claimed = false // a batch that is undone runs again
		r, err := t.run(run)
		if err != nil {
			return err
		}
		if p, err = t.part(run, number); err != nil {
			return err
		}
		if r.State != nudgewire.RunUploading || r.Owner != owner || p.State != nudgewire.PartBuilt {
			return unchanged{nudgewire.ErrMoved}
		}
		if asked != nil {
			room, err := t.room(asked)
			if err != nil || room.Fits < len(asked.contacts) {
				return err
			}
		}
		claimed = true
		p.State, p.UpdatedAt = nudgewire.PartUploading, moment(micro(now))
		p.Attempt++
		t.peers.filesCount(true)
		err = t.put(claimPartSQL, int64(run), int64(number), int64(p.Attempt), micro(now))
		return err
	})
	if err == nil && !claimed {
		return p, nil
	}
	if err == nil {
		_ = s.calls.note(CallSlots, uploadCall(run, number, p.Attempt)) // it only helps to know a copy of the data
	}
	return p, observe(wrap(err, "claim part %d of run %d", number, run), s.observer.Part, p)
}

var replacePartSQL = statementOf(`UPDATE parts SET file = ?3, row_count = ?4, bytes = ?5, sha256 = ?6, excluded = ?7, state = ?8, reason = ?9, updated_at = ?10
		WHERE run_id = ?1 AND number = ?2 AND state = 'built'`)

// ReplacePart stores a part that is built as it is now, without the rows that it has lost or as one
// that was cut into others, with these, and the tally of r, its run, while that is uploading and
// owner's. ErrMoved otherwise, and nothing has changed.
func (s *Store) ReplacePart(ctx context.Context, owner string, r nudgewire.Run, p nudgewire.Part, into ...nudgewire.Part) error {
	return s.changeRun(ctx, owner, r, []nudgewire.RunState{nudgewire.RunUploading}, func(t *tx) error {
		if !nudgewire.PartBuilt.May(p.State) && p.State != nudgewire.PartBuilt {
			return fmt.Errorf("part %d: it cannot become %s", p.Number, p.State)
		}
		n, err := t.exec(replacePartSQL, int64(r.ID), int64(p.Number), p.File, p.Rows, p.Bytes, p.SHA256, p.Excluded, string(p.State), p.Reason, micro(p.UpdatedAt))
		if err == nil && n == 0 {
			err = nudgewire.ErrMoved
		}
		for i := range into {
			if err == nil {
				err = t.insertPart(r.ID, &into[i])
			}
		}
		return err
	})
}

var finishPartSQL = statementOf(`UPDATE parts SET state = ?4, reason = ?5, retry_at = ?6, campaign_id = ?7, message_ids = ?8, answer = ?9, http_status = ?10, updated_at = ?11
		WHERE run_id = ?1 AND number = ?2 AND attempt = ?3 AND (state = 'uploading' OR state = 'in_doubt')`)

// FinishPart stores how an upload ended. The part must be uploading, or in doubt because
// somebody took the uploader for dead, with the same Attempt; else ErrMoved.
//
// A part that goes back to built while its run was cancelled is cancelled with it: nobody
// would come for it any more.
//
// The messages of an accepted part are followed from then on: p.MessageIDs are kept in the same
// commit, as messages as far as followAtOnce goes; FollowRest goes on with the others.
func (s *Store) FinishPart(ctx context.Context, p nudgewire.Part) error {
	if p.State != nudgewire.PartAccepted {
		p.MessageIDs, p.Phones = nil, nil
	}
	if p.Phones != nil && len(p.Phones) != len(p.MessageIDs) {
		return fmt.Errorf("finish part %d of run %d: %d phones for %d messages", p.Number, p.RunID, len(p.Phones), len(p.MessageIDs))
	}
	ids, err := encodeIDs(&p)
	if err != nil {
		return fmt.Errorf("finish part %d of run %d: %w", p.Number, p.RunID, err)
	}
	err = s.write(ctx, laneWork, func(t *tx) error {
		old, err := t.part(p.RunID, p.Number)
		if err != nil {
			return err
		}
		if old.Attempt != p.Attempt || !old.State.May(p.State) || old.State == nudgewire.PartBuilt {
			return unchanged{nudgewire.ErrMoved}
		}
		t.peers.filesCount(p.State == nudgewire.PartAccepted || p.State == nudgewire.PartInDoubt)
		err = t.put(finishPartSQL, int64(p.RunID), int64(p.Number), int64(p.Attempt), string(p.State), p.Reason, micro(p.RetryAt),
			p.CampaignID, ids, cut(p.Answer, maxAnswer), int64(p.HTTPStatus), micro(p.UpdatedAt))
		if err != nil {
			return err
		}
		follows := len(p.MessageIDs) > 0
		if p.State != nudgewire.PartBuilt && !follows {
			return nil
		}
		r, err := t.run(p.RunID)
		switch {
		case err != nil:
		case follows:
			_, err = t.follow(&r, &p, s.first)
		case r.State == nudgewire.RunCancelled:
			err = t.put(cancelPartsSQL, int64(p.RunID), r.Reason, t.at)
		}
		return err
	})
	return observe(wrap(err, "finish part %d of run %d", p.Number, p.RunID), s.observer.Part, p)
}

// partColumns are in the order in which scanPart reads them.
const partColumns = `run_id, number, file, row_count, first_row, bytes, sha256, state, reason, attempt, retry_at, campaign_id, message_ids, answer, http_status, updated_at, excluded, resolved`

// scanPart reads partColumns.
func scanPart(r *row) (p nudgewire.Part, err error) {
	p = nudgewire.Part{
		RunID: nudgewire.RunID(r.int()), Number: int(r.int()), File: r.text(), Rows: r.int(), First: r.int(), Bytes: r.int(),
		SHA256: r.text(), State: nudgewire.PartState(r.text()), Reason: r.text(), Attempt: int(r.int()), RetryAt: r.time(), CampaignID: r.text(),
	}
	ids := r.text()
	p.Answer, p.HTTPStatus, p.UpdatedAt, p.Excluded, p.Resolved = r.text(), int(r.int()), r.time(), r.int(), r.text()
	if r.err != nil {
		return p, r.err
	}
	if ids != "" {
		return p, decodeIDs(&p, ids)
	}
	return p, nil
}
