package report

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A ReviewGroup is the messages of one trigger or job, and one category, that a review is about.
type ReviewGroup struct {
	Trigger   string
	Category  messaging.Category
	N         int64
	New       int64 // came after the copy was found
	Past      int64 // were due by the time that was asked about
	FirstDue  time.Time
	LatestDue time.Time
}

const reviewGroups = `SELECT trigger_name, category, count(*), CAST(sum(CASE WHEN id > ?1 THEN 1 ELSE 0 END) AS BIGINT),
		CAST(sum(CASE WHEN due_at <= ?2 THEN 1 ELSE 0 END) AS BIGINT), min(due_at), max(due_at)
	FROM messages WHERE state = `

// ReviewDoubts are the messages that waited in the copy and are in doubt because of r; Past counts those due by then.
func (s Records) ReviewDoubts(ctx context.Context, r *store.Restoration, by time.Time) ([]ReviewGroup, error) {
	return s.reviewGroups(ctx, `'in_doubt' AND owner = ?3`, int64(r.LastMessage), engine.Micro(by), r.DoubtedOwner())
}

// ReviewWaiting are the messages that wait; Past counts those due by then.
func (s Records) ReviewWaiting(ctx context.Context, r *store.Restoration, by time.Time) ([]ReviewGroup, error) {
	return s.reviewGroups(ctx, `'waiting'`, int64(r.LastMessage), engine.Micro(by))
}

func (s Records) reviewGroups(ctx context.Context, where string, args ...any) ([]ReviewGroup, error) {
	out, err := store.List(ctx, s.Store, reviewGroups+where+` GROUP BY trigger_name, category ORDER BY count(*) DESC, trigger_name, category`, args, func(r *engine.Row) (ReviewGroup, error) {
		return ReviewGroup{r.Text(), messaging.Category(r.Text()), r.Int(), r.Int(), r.Int(), r.Time(), r.Time()}, r.Err
	})
	return out, store.Wrap(err, "what a review is about")
}
