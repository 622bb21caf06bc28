package store

// The statements of what a person does after a run: rows that go again, and a word on a part in
// doubt.
func init() {
	for s, q := range map[stmt]struct {
		columns int
		sql     string
	}{
		stInsertRetry: {0, `INSERT INTO retries (dispatch_id, again_id) VALUES (?1, ?2)`},
		stEnqueueRetry: {0, `INSERT INTO dispatches (id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, lane, send, state, reason,
				due_at, expires_at, created_at, updated_at, claimed_at, attempt, restarts, owner, lease_ends, config, ended_send)
			SELECT ?2, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, lane, send, 'waiting', '',
				?3, ?4, ?3, ?3, 0, 0, 0, '', 0, config, ended_send FROM dispatches WHERE id = ?1`},
		stResolution: {0, `INSERT INTO resolutions (dispatch_id, at, resolved, reason) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (dispatch_id, at) DO UPDATE SET resolved = excluded.resolved, reason = excluded.reason`},
		stEventAt: {1, `SELECT event_at FROM dispatches WHERE id = ?1`},
		stRetried: {1, `SELECT again_id FROM retries WHERE dispatch_id = ?1`},
		stDoubts:  {1, `SELECT number FROM attempts WHERE dispatch_id = ?1 AND state = 'in_doubt'`},

		stResolvePart: {0, `UPDATE parts SET state = ?3, reason = ?4, resolved = ?5, retry_at = 0, updated_at = ?6
			WHERE run_id = ?1 AND number = ?2 AND state = 'in_doubt'`},
		// The ways back from an end: from partial by a word on a part, and from wherever messages may
		// still wait by a pause.
		stReopenRun: {0, `UPDATE runs SET state = 'uploading', reason = ?2, owner = '', lease_ends = 0, ended_at = 0 WHERE id = ?1 AND state = 'partial'`},
		stPauseSent: {0, `UPDATE runs SET state = 'paused', before = 'uploading', reason = ?2, stopped = 'person', stopped_by = ?3, owner = '', lease_ends = 0, ended_at = 0
			WHERE id = ?1 AND (state = 'done' OR state = 'partial' OR state = 'failed')`},
		stEndAnew: {0, `UPDATE runs SET state = ?2, reason = ?3 WHERE id = ?1 AND state = 'partial'`},
	} {
		statements[s], columnsOf[s] = q.sql, q.columns
	}
}
