package store

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
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
	return s.tally(ctx, f, inWords)
}

func (s *Store) tally(ctx context.Context, f MessageFilter, by string) (out []Tally, err error) {
	q, err := s.where(ctx, f)
	if err == nil {
		out, err = List(ctx, s, q.SQL(by+", count(*)", "messages", "", 0)+" GROUP BY 1 ORDER BY 2 DESC, 1", q.Args,
			func(r *engine.Row) (Tally, error) { return Tally{r.Text(), r.Int()}, nil })
	}
	return out, Wrap(err, "count messages")
}

// CancelAll ends what waits and matches, by a person's order, and says how many there were.
func (s *Store) CancelAll(ctx context.Context, f MessageFilter, reason string) (int64, error) {
	f.State = messaging.StateWaiting
	n, err := s.changeAll(ctx, f, func(t *Tx, d *messaging.Message) (bool, error) {
		return true, t.cancelOne(d, reason, messaging.EndedByPerson)
	})
	return n, Wrap(err, "cancel messages")
}

// changeAll carries out a person's order about every message that matches and is still in the
// state that the order needs when its turn comes, and says how many do reports. What was changed
// before an error stays changed: doing it again does no harm.
func (s *Store) changeAll(ctx context.Context, f MessageFilter, do func(*Tx, *messaging.Message) (bool, error)) (n int64, err error) {
	q, err := s.where(ctx, f)
	if err != nil {
		return 0, err
	}
	return s.changeEach(ctx, q, f.State, do)
}

// changeEach is changeAll for what is selected; state "" is whichever.
func (s *Store) changeEach(ctx context.Context, q *engine.Select, state messaging.State, do func(*Tx, *messaging.Message) (bool, error)) (n int64, err error) {
	var after int64
	for {
		page := q.Copy()
		page.And("id > ?", after)
		ids, err := List(ctx, s, page.SQL("id", "messages", "id", perBulk), page.Args, engine.Number[int64])
		if err != nil || len(ids) == 0 {
			return n, err
		}
		after = ids[len(ids)-1]
		var changed int64
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			changed = 0 // a batch that is undone runs again
			for _, id := range ids {
				var d messaging.Message
				err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = stored.ScanMessage(r); return r.Err }, id)
				if err == nil && d.ID != 0 && (state == "" || d.State == state) {
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

// MessageSQL reads one, and keeps others from changing it.
var MessageSQL = engine.SQL(`SELECT ` + stored.MessageColumns + ` FROM messages WHERE id = ?1 {{for update}}`)
