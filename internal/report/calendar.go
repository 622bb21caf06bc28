package report

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// MostDue is where a count of what is due in a day ends.
const MostDue = 10_000

// A DueDay is how many messages wait to be sent in a day.
type DueDay struct {
	From, Until time.Time
	Messages    int64 // at most MostDue + 1, which means more than MostDue
}

// DueDays fills in how many messages wait for each of the days. What is halted counts, too. It looks at no more than MostDue rows of an
// index for a day, a category and an account.
func (r Records) DueDays(ctx context.Context, days []DueDay) error {
	names, err := r.AccountsWaiting(ctx)
	for i := range days {
		d := &days[i]
		for _, account := range names {
			for _, lane := range messaging.Lanes {
				if err != nil || d.Messages > MostDue {
					break
				}
				err = r.Rows(ctx, `SELECT count(*) FROM (SELECT 1 FROM messages WHERE state = 'waiting' AND account = ?1 AND category = ?2
					AND due_at >= ?3 AND due_at < ?4 ORDER BY due_at LIMIT ?5) AS counted`,
					[]any{account, string(lane), engine.Micro(d.From), engine.Micro(d.Until), MostDue + 1 - d.Messages}, func(row *engine.Row) error { d.Messages += row.Int(); return row.Err })
			}
		}
	}
	return store.Wrap(err, "what waits for each day")
}
