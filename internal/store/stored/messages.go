package stored

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Columns in the order in which they are read here.
const (
	MessageColumns  = `id, event_id, run_id, part, trigger_name, correlation_key, phone, category, send, state, reason, due_at, expires_at, created_at, updated_at, attempt, restarts, owner, lease_ends, config, zone, step, account, test, sent_as, tries`
	ServiceColumns  = `message_id, status, error, error_class, accepted_at, status_at, told_at, next_poll_at, polls, sent_at, delivered_at, read_at, failed_at`
	FollowedColumns = `id, phone, category, account, ` + ServiceColumns
)

// ColumnsOf are columns of a table by the name that it has in a statement.
func ColumnsOf(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// EndSend is what every statement does to what was to be sent when nobody will send it any more.
const EndSend = `send = CASE WHEN ended_send = '' THEN send ELSE ended_send END`

// ScanMessage reads MessageColumns. What to send is left encoded but for whether it is kept, and its name:
// inside a commit nobody looks at it, and outside DecodeSend does.
func ScanMessage(r *engine.Row) (d messaging.Message, send string) {
	d = messaging.Message{
		ID: messaging.MessageID(r.Int()), EventID: messaging.EventID(r.Int()), Run: messaging.RunID(r.Int()), Part: int(r.Int()),
		Trigger: r.Text(), Key: r.Text(), Phone: r.Phone(), Category: messaging.Category(r.Text()),
	}
	send = r.Text()
	d.State, d.Reason = messaging.State(r.Text()), r.Text()
	d.DueAt, d.ExpiresAt, d.CreatedAt, d.UpdatedAt = r.Time(), r.Time(), r.Time(), r.Time()
	d.Attempt, d.Restarts, d.Owner, d.LeaseEnds, d.Config = int(r.Int()), int(r.Int()), r.Text(), r.Time(), r.Text()
	d.Zone, d.Step, d.Account, d.Test, d.SentAs, d.Tries = r.Text(), int(r.Int()), r.Text(), r.Text(), r.Text(), int(r.Int())
	d.Send.Forget = forgets(send)
	d.Send.Template, d.Send.Campaign = SendsWhat(send)
	if d.State != messaging.StateSending {
		d.Owner = "" // kept only to know a late answer by
	}
	return d, send
}

// DecodeSend fills in what to send. It runs for every claim, so the usual send is read without
// reflection; encoding/json reads all others, and says what is wrong with those nobody can read.
func DecodeSend(d *messaging.Message, send string) error {
	if plainSend(&d.Send, send) {
		return nil
	}
	d.Send = messaging.Send{}
	if err := json.Unmarshal([]byte(send), &d.Send); err != nil {
		return fmt.Errorf("message %d: what to send: %w", d.ID, err)
	}
	return nil
}

// plainSend reads texts and lists of texts as AppendSend writes them; false when there is more.
func plainSend(s *messaging.Send, text string) (plain bool) {
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

// ScanFollowed reads FollowedColumns. Its status is "" where the service has not taken it.
func ScanFollowed(r *engine.Row) (m messaging.Message, err error) {
	m = messaging.Message{ID: messaging.MessageID(r.Int()), Phone: r.Phone(), Category: messaging.Category(r.Text()), Account: r.Text()}
	ScanService(r, &m)
	return m, r.Err
}

// ScanService reads ServiceColumns. The status is "" where the service has not taken the message.
func ScanService(r *engine.Row, m *messaging.Message) {
	m.ServiceID, m.Status, m.Error, m.ErrorClass = messaging.ServiceID(r.Text()), messaging.Status(r.Text()), r.Text(), messaging.ErrorClass(r.Text())
	m.AcceptedAt, m.StatusAt, m.ToldAt, m.NextPollAt, m.Polls = r.Time(), r.Time(), r.Time(), r.Time(), int(r.Int())
	m.SentAt, m.DeliveredAt, m.ReadAt, m.FailedAt = r.Time(), r.Time(), r.Time(), r.Time()
	m.Final = m.Status != "" && m.NextPollAt.IsZero()
}

// IsMasked is the condition on a column that a phone is gone or masked.
func IsMasked(phone string) string { return `(` + phone + ` = '' OR ` + phone + ` LIKE '%*%')` }
