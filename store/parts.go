package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
)

func (t *tx) insertPart(run nudgewire.RunID, p *nudgewire.Part) error {
	ids, err := encodeIDs(p.MessageIDs)
	if err != nil {
		return err
	}
	_, err = t.exec(stInsertPart, int64(run), int64(p.Number), p.File, p.Rows, p.First, p.Bytes, p.SHA256, string(p.State), p.Reason,
		int64(p.Attempt), micro(p.RetryAt), p.CampaignID, ids, cut(p.Answer, maxAnswer), int64(p.HTTPStatus), micro(p.UpdatedAt))
	return err
}

// encodeIDs keeps message ids as JSON; none is "".
func encodeIDs(ids []string) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("encode message ids: %w", err)
	}
	return string(text), nil
}

func (t *tx) part(run nudgewire.RunID, number int) (p nudgewire.Part, err error) {
	err = t.query(stPart, func(r *row) (err error) { p, err = scanPart(r); return err }, int64(run), int64(number))
	return p, err
}

// ClaimPart is the durable intent to upload: it makes a part that is built uploading and
// counts the attempt, while its run is uploading and owner's. ErrMoved otherwise.
func (s *Store) ClaimPart(ctx context.Context, run nudgewire.RunID, number int, owner string, now time.Time) (p nudgewire.Part, err error) {
	moved := false
	err = s.write(ctx, laneWork, func(t *tx) error {
		r, err := t.run(run)
		if err != nil {
			return err
		}
		if p, err = t.part(run, number); err != nil {
			return err
		}
		if moved = r.State != nudgewire.RunUploading || r.Owner != owner || p.State != nudgewire.PartBuilt; moved {
			return nil
		}
		p.State, p.UpdatedAt = nudgewire.PartUploading, moment(micro(now))
		p.Attempt++
		_, err = t.exec(stClaimPart, int64(run), int64(number), int64(p.Attempt), micro(now))
		return err
	})
	if err == nil && moved {
		err = ErrMoved
	}
	if err != nil {
		return nudgewire.Part{}, fmt.Errorf("claim part %d of run %d: %w", number, run, err)
	}
	return p, nil
}

// FinishPart stores how an upload ended. The part must be uploading, or in doubt because
// somebody took the uploader for dead, with the same Attempt; else ErrMoved.
//
// A part that goes back to built while its run was cancelled is cancelled with it: nobody
// would come for it any more.
func (s *Store) FinishPart(ctx context.Context, p nudgewire.Part) error {
	ids, err := encodeIDs(p.MessageIDs)
	if err != nil {
		return fmt.Errorf("finish part %d of run %d: %w", p.Number, p.RunID, err)
	}
	moved := false
	err = s.write(ctx, laneWork, func(t *tx) error {
		old, err := t.part(p.RunID, p.Number)
		if err != nil {
			return err
		}
		if moved = old.Attempt != p.Attempt || !old.State.May(p.State) || old.State == nudgewire.PartBuilt; moved {
			return nil
		}
		_, err = t.exec(stFinishPart, int64(p.RunID), int64(p.Number), int64(p.Attempt), string(p.State), p.Reason, micro(p.RetryAt),
			p.CampaignID, ids, cut(p.Answer, maxAnswer), int64(p.HTTPStatus), micro(p.UpdatedAt))
		if err != nil || p.State != nudgewire.PartBuilt {
			return err
		}
		r, err := t.run(p.RunID)
		if err == nil && r.State == nudgewire.RunCancelled {
			_, err = t.exec(stCancelParts, int64(p.RunID), r.Reason, t.at)
		}
		return err
	})
	if err == nil && moved {
		err = ErrMoved
	}
	if err != nil {
		return fmt.Errorf("finish part %d of run %d: %w", p.Number, p.RunID, err)
	}
	return nil
}

// scanPart reads partColumns.
func scanPart(r *row) (p nudgewire.Part, err error) {
	p.RunID = nudgewire.RunID(r.int())
	p.Number = int(r.int())
	p.File = r.text()
	p.Rows = r.int()
	p.First = r.int()
	p.Bytes = r.int()
	p.SHA256 = r.text()
	p.State = nudgewire.PartState(r.text())
	p.Reason = r.text()
	p.Attempt = int(r.int())
	p.RetryAt = r.time()
	p.CampaignID = r.text()
	ids := r.text()
	p.Answer = r.text()
	p.HTTPStatus = int(r.int())
	p.UpdatedAt = r.time()
	if r.err != nil {
		return p, r.err
	}
	if ids != "" {
		if err := json.NewDecoder(strings.NewReader(ids)).Decode(&p.MessageIDs); err != nil {
			return p, fmt.Errorf("part %d of run %d: message ids: %w", p.Number, p.RunID, err)
		}
	}
	return p, nil
}
