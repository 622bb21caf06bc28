package store

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire"
)

// scanDispatch reads dispatchColumns. What to send is left encoded but for whether it is kept:
// inside a commit nobody looks at it, and outside decodeSend does.
func scanDispatch(r *row) (d nudgewire.Dispatch, send string) {
	d.ID = nudgewire.DispatchID(r.int())
	d.EventID = nudgewire.EventID(r.int())
	d.Trigger = r.text()
	d.Key = r.text()
	d.Phone = nudgewire.Phone(r.text())
	d.Category = nudgewire.Category(r.text())
	send = r.text()
	d.State = nudgewire.State(r.text())
	d.Reason = r.text()
	d.DueAt = r.time()
	d.ExpiresAt = r.time()
	d.CreatedAt = r.time()
	d.UpdatedAt = r.time()
	d.Attempt = int(r.int())
	d.Restarts = int(r.int())
	d.Owner = r.text()
	d.LeaseEnds = r.time()
	d.Config = r.text()
	d.Send.Forget = forgets(send)
	if d.State != nudgewire.StateSending {
		d.Owner = "" // kept only to know a late answer by
	}
	return d, send
}

// decodeSend fills in what to send. It runs for every claim, so the usual send is read without
// reflection; encoding/json reads all others, and says what is wrong with those nobody can read.
func decodeSend(d *nudgewire.Dispatch, send string) error {
	if plainSend(&d.Send, send) {
		return nil
	}
	d.Send = nudgewire.Send{}
	if err := json.Unmarshal([]byte(send), &d.Send); err != nil {
		return fmt.Errorf("dispatch %d: what to send: %w", d.ID, err)
	}
	return nil
}

// plainSend reads texts and lists of texts as appendSend writes them; false when there is more.
func plainSend(s *nudgewire.Send, text string) (plain bool) {
	if !gjson.Valid(text) {
		return false
	}
	all := gjson.Parse(text)
	plain = all.IsObject()
	all.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "template":
			s.Template = value.Str
		case "language":
			s.Language = value.Str
		case "campaign":
			s.Campaign = value.Str
		case "text":
			s.Text = value.Str
		case "variables":
			plain, s.Variables = value.IsArray(), make([]string, 0, 4)
			value.ForEach(func(_, one gjson.Result) bool {
				plain = plain && one.Type == gjson.String
				s.Variables = append(s.Variables, one.Str)
				return plain
			})
			return plain
		case "forget":
			s.Forget, plain = value.Bool(), value.IsBool()
			return plain
		default:
			plain = false
		}
		plain = plain && value.Type == gjson.String
		return plain
	})
	return plain
}

// scanMessage reads messageColumns.
func scanMessage(r *row) (m nudgewire.Message, err error) {
	m.DispatchID = nudgewire.DispatchID(r.int())
	m.ID = nudgewire.MessageID(r.text())
	m.Phone = nudgewire.Phone(r.text())
	m.Category = nudgewire.Category(r.text())
	m.Status = nudgewire.Status(r.text())
	m.Error = r.text()
	m.AcceptedAt = r.time()
	m.StatusAt = r.time()
	m.ToldAt = r.time()
	m.NextPollAt = r.time()
	m.Polls = int(r.int())
	m.Final = r.int() != 0
	m.SentAt = r.time()
	m.DeliveredAt = r.time()
	m.ReadAt = r.time()
	m.FailedAt = r.time()
	return m, r.err
}
