package store

// The statements of messages that have no dispatch of their own: those that an upload's answer
// named. And of the files of runs, which are cleared away after a while.
func init() {
	for s, q := range map[stmt]struct {
		columns int
		sql     string
	}{
		stFollowed: {2, `SELECT CAST(coalesce(sum(id_count), 0) AS BIGINT), CAST(coalesce(sum(CASE WHEN part = ?2 THEN id_count ELSE 0 END), 0) AS BIGINT)
			FROM run_messages WHERE run_id = ?1`},
		stInsertFollowed: {0, `INSERT INTO run_messages (run_id, part, first_id, id_count, dispatch_id) VALUES (?1, ?2, ?3, ?4, ?5)`},
		stAllFollowed:    {0, `UPDATE parts SET message_ids = '' WHERE run_id = ?1 AND number = ?2`},
		stFilesRemoved:   {0, `UPDATE runs SET files_removed_at = ?2 WHERE folder = ?1 AND folder <> '' AND files_removed_at = 0 AND ended_at > 0`},
	} {
		statements[s], columnsOf[s] = q.sql, q.columns
	}
}
