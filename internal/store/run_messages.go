package store

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// runMessages counts what became of a run's messages in indexes alone: a row of a run has a message,
// and then stands in messages_final once that came to its end, or one of the states in between. What is left
// of the rows waits or is on its way, and only then are the messages themselves looked at. A list of
// runs may ask for fifty runs of half a million rows each; to look at every row of them would take ten
// seconds.
//
// next_poll_at + 0 keeps SQLite from walking all that is asked about, of every run, for each range of this
// one's rows.
//
// Which statuses there are is found by leaps from one to the next. It is one statement, so that
// all counts are of the same moment.
const runMessages = `
	WITH RECURSIVE words (word) AS (
		SELECT min(status) FROM messages WHERE state = 'accepted' AND next_poll_at = 0
		UNION ALL
		SELECT (SELECT min(status) FROM messages WHERE state = 'accepted' AND next_poll_at = 0 AND status > word) FROM words WHERE word IS NOT NULL
	), queued (first, past) AS (
		SELECT message, message + row_count FROM run_rows WHERE run_id = ?1
	), told (first, past) AS (
		SELECT first, past FROM queued
		UNION ALL
		SELECT message, message + id_count FROM run_messages WHERE run_id = ?1
	), counted (what, word, n) AS (
		SELECT 'ended', word, (SELECT coalesce(sum((SELECT count(*) FROM messages WHERE state = 'accepted' AND next_poll_at = 0 AND status = word AND id >= first AND id < past)), 0) FROM told)
			FROM words WHERE word IS NOT NULL
		UNION ALL SELECT 'followed', '', coalesce(sum(id_count - gone), 0) FROM run_messages WHERE run_id = ?1
		UNION ALL SELECT 'rows', '', coalesce(sum(past - first), 0) - (SELECT coalesce(sum(gone), 0) FROM run_rows WHERE run_id = ?1) FROM queued
		UNION ALL SELECT 'row', 'rejected', coalesce(sum((SELECT count(*) FROM messages WHERE state = 'rejected' AND id >= first AND id < past)), 0) FROM queued
		UNION ALL SELECT 'row', 'cancelled', coalesce(sum((SELECT count(*) FROM messages WHERE state = 'cancelled' AND id >= first AND id < past)), 0) FROM queued
		UNION ALL SELECT 'row', 'dropped', coalesce(sum((SELECT count(*) FROM messages WHERE state = 'dropped' AND id >= first AND id < past)), 0) FROM queued
		UNION ALL SELECT 'row', 'in_doubt', coalesce(sum((SELECT count(*) FROM messages WHERE state = 'in_doubt' AND id >= first AND id < past)), 0) FROM queued
		UNION ALL SELECT 'row', 'sending', (SELECT count(*) FROM messages WHERE state = 'sending'
			AND EXISTS (SELECT 1 FROM queued WHERE id >= first AND id < past))
	), alive (n) AS (
		SELECT coalesce(sum(CASE WHEN what = 'rows' OR what = 'followed' THEN n ELSE -n END), 0) FROM counted
	)
	SELECT what, word, CAST(n AS BIGINT) FROM counted
	UNION ALL SELECT 'on its way', status, count(*) FROM told JOIN messages ON id >= first AND id < past
		WHERE state = 'accepted' AND next_poll_at + 0 > 0 AND (SELECT n FROM alive) > 0 GROUP BY status`

// RunMessages counts the messages of a run by the service's status where it took them, and by
// our state where it did not. Of a run that uploads files it counts those that the answers
// named.
func (s *Store) RunMessages(ctx context.Context, run messaging.RunID) (map[string]int64, error) {
	by := map[string]int64{}
	var waiting int64
	err := s.Rows(ctx, runMessages, []any{int64(run)}, func(r *engine.Row) error {
		what, word, n := r.Text(), r.Text(), r.Int()
		switch what {
		case "rows", "followed":
			waiting += n
			return nil
		default:
			waiting -= n
		}
		if n > 0 {
			by[word] += n
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("messages of run %d: %w", run, err)
	}
	if waiting > 0 {
		by[string(messaging.StateWaiting)] += waiting
	}
	return by, nil
}
