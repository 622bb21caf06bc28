package report

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// An ErrorText is what the service said about messages that it did not send.
type ErrorText struct {
	Text     string // numbers and identifiers are #
	Sample   string // the newest as it came
	Rejected int64  // attempts
	Failed   int64  // messages that it took and failed later
	First    time.Time
	Last     time.Time
	Message  messaging.MessageID // whose the newest was
}

// ErrorTexts lists what the service said since a time, the newest first, at most limit of them (0: 50).
func (s Records) ErrorTexts(ctx context.Context, since time.Time, limit int) ([]ErrorText, error) {
	if limit <= 0 {
		limit = 50
	}
	var q engine.Select
	q.And("last_at >= ?", engine.Micro(since))
	out, err := store.List(ctx, s.Store, q.SQL("text, sample, rejected, failed, first_at, last_at, message", "error_texts", "last_at DESC, text", limit), q.Args,
		func(r *engine.Row) (ErrorText, error) {
			return ErrorText{r.Text(), r.Text(), r.Int(), r.Int(), r.Time(), r.Time(), messaging.MessageID(r.Int())}, nil
		})
	return out, store.Wrap(err, "list what the service said")
}
