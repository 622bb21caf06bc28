package report

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A Backlog is what of an account waits, and what of it is behind.
type Backlog struct {
	Urgent, Marketing int64 // messages that wait of authentication and utility, and of marketing, due or not, held back or not
	PollsOverdue      int64 // messages that should have been asked about by now
}

// Backlogs is what waits, by account; accounts of which nothing waits are left out. It is counted in the indexes of
// what waits, without a look at the rows.
func (s Records) Backlogs(ctx context.Context, now time.Time) (map[string]Backlog, error) {
	out := map[string]Backlog{}
	err := s.Rows(ctx, `SELECT account, category, count(*) FROM messages WHERE state = 'waiting' GROUP BY account, category`, nil, func(r *engine.Row) error {
		name, lane, n := r.Text(), messaging.Category(r.Text()), r.Int()
		one := out[name]
		if lane.Urgent() {
			one.Urgent += n
		} else {
			one.Marketing = n
		}
		out[name] = one
		return nil
	})
	if err != nil {
		return nil, store.Wrap(err, "count what waits")
	}
	err = s.Rows(ctx, `SELECT account, count(*) FROM messages WHERE next_poll_at > 0 AND next_poll_at <= ?1 GROUP BY account`, []any{engine.Micro(now)}, func(r *engine.Row) error {
		name := r.Text()
		one := out[name]
		one.PollsOverdue = r.Int()
		out[name] = one
		return nil
	})
	return out, store.Wrap(err, "count questions that are late")
}

// RunsOpen is how many runs that have not ended stand in each state.
func (s Records) RunsOpen(ctx context.Context) (map[messaging.RunState]int64, error) {
	out := map[messaging.RunState]int64{}
	err := s.Rows(ctx, `SELECT state, count(*) FROM runs WHERE ended_at = 0 GROUP BY state`, nil, func(r *engine.Row) error {
		state := messaging.RunState(r.Text())
		out[state] = r.Int()
		return nil
	})
	return out, store.Wrap(err, "count runs")
}
