package store

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// perBulk is how many messages of an order about many share one commit, so that others get
// their turn between.
const perBulk = 200

// A Tally is how many messages have something in common.
type Tally struct {
	Words string
	N     int64
}

// TallyByTrigger counts the messages that match by their trigger or job, most first.
func (s *Store) TallyByTrigger(ctx context.Context, f MessageFilter) ([]Tally, error) {
	return s.tally(ctx, f, "trigger_name")
}

// TallyByReason counts the messages that match by why they are in their state, most first.
func (s *Store) TallyByReason(ctx context.Context, f MessageFilter) ([]Tally, error) {
	return s.tally(ctx, f, "reason")
}

func (s *Store) tally(ctx context.Context, f MessageFilter, by string) (out []Tally, err error) {
	q, err := s.where(ctx, f)
	if err == nil {
		out, err = list(ctx, s, q.sql(by+", count(*)", "messages", "", 0)+" GROUP BY 1 ORDER BY 2 DESC, 1", q.args,
			func(r *row) (Tally, error) { return Tally{r.text(), r.int()}, nil })
	}
	return out, wrap(err, "count messages")
}

// CancelAll ends what waits and matches, by a person's order, and says how many there were.
func (s *Store) CancelAll(ctx context.Context, f MessageFilter, reason string) (int64, error) {
	f.State = messaging.StateWaiting
	n, err := s.changeAll(ctx, f, func(t *tx, d *messaging.Message) (bool, error) { return true, t.cancelOne(d, reason) })
	return n, wrap(err, "cancel messages")
}

// changeAll carries out a person's order about every message that matches and is still in the
// state that the order needs when its turn comes, and says how many do reports. What was changed
// before an error stays changed: doing it again does no harm.
func (s *Store) changeAll(ctx context.Context, f MessageFilter, do func(*tx, *messaging.Message) (bool, error)) (n int64, err error) {
	q, err := s.where(ctx, f)
	if err != nil {
		return 0, err
	}
	var after int64
	for {
		page := select_{where: q.where, args: q.args}
		page.and("id > ?", after)
		ids, err := list(ctx, s, page.sql("id", "messages", "id", perBulk), page.args, number[int64])
		if err != nil || len(ids) == 0 {
			return n, err
		}
		after = ids[len(ids)-1]
		var changed int64
		err = s.write(ctx, laneWork, func(t *tx) error {
			changed = 0 // a batch that is undone runs again
			for _, id := range ids {
				var d messaging.Message
				err := t.query(messageSQL, func(r *row) error { d, _ = scanMessage(r); return r.err }, id)
				if err == nil && d.ID != 0 && (f.State == "" || d.State == f.State) {
					var done bool
					if done, err = do(t, &d); done {
						changed++
					}
				}
				if err != nil {
					return fmt.Errorf("message %d: %w", id, err)
				}
			}
			return nil
		})
		if n += changed; err != nil {
			return n, err
		}
	}
}
