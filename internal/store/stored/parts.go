package stored

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// EncodeIDs keeps message ids as JSON, each with a space and its phone where that is known;
// none is "".
func EncodeIDs(p *messaging.Part) (string, error) {
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

// decodeIDs undoes EncodeIDs.
func decodeIDs(p *messaging.Part, text string) error {
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

// PartColumns are in the order in which ScanPart reads them.
const PartColumns = `run_id, number, list_id, row_count, bytes, sha256, state, reason, attempt, retry_at, campaign_id, message_ids, answer, http_status, updated_at, resolved, goes`

// ScanPart reads PartColumns: a part without its rows.
func ScanPart(r *engine.Row) (p messaging.Part, err error) {
	p = messaging.Part{RunID: messaging.RunID(r.Int()), Number: int(r.Int()), List: messaging.RunID(r.Int())}
	p.Rows, p.Bytes, p.SHA256, p.State, p.Reason = r.Int(), r.Int(), r.Text(), messaging.PartState(r.Text()), r.Text()
	p.Attempt, p.RetryAt, p.CampaignID = int(r.Int()), r.Time(), r.Text()
	ids := r.Text()
	p.Answer, p.HTTPStatus, p.UpdatedAt, p.Resolved = r.Text(), int(r.Int()), r.Time(), r.Text()
	p.Goes, err = DecodeList[messaging.PartShare](r.Text())
	if err = errors.Join(err, r.Err); err != nil {
		return p, err
	}
	if ids != "" {
		return p, decodeIDs(&p, ids)
	}
	return p, nil
}
