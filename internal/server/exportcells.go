package server

import (
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// RowHead names the columns of rows as CSV, in the order of RowView.Cells.
var RowHead = []string{
	"row", "file", "number", "part", "phone", "state", "reason", "at", "message", "message_id", "status", "error",
	"accepted_at", "sent_at", "delivered_at", "read_at", "failed_at", "retried_as", "retry_of",
}

// Cells are the row for a table that people open with a spreadsheet: times in UTC, "" for what is not known.
func (r *RowView) Cells() []string {
	cells := []string{
		orNothing(r.Row), r.File, orNothing(r.Number), orNothing(int64(r.Part)), r.Phone, r.State, r.Reason, stamp(r.At), orNothing(int64(r.Message)),
		string(r.ServiceID), string(r.Status), r.Error,
		stamp(r.AcceptedAt), stamp(r.SentAt), stamp(r.DeliveredAt), stamp(r.ReadAt), stamp(r.FailedAt),
		orNothing(int64(r.RetriedAs)), orNothing(int64(r.RetryOf)),
	}
	for i, cell := range cells {
		cells[i] = plain.Text(plain.Cell(cell))
	}
	return cells
}

func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
