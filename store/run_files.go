package store

import (
	"context"
	"time"
)

// maxFolders is how many folders OldFolders names at a time.
const maxFolders = 100

// OldFolders names folders of runs that ended before the given time, some at a time. A folder
// stays where a run that uses it, which may be a retry of the one that built it, ended later,
// has not ended, or has a part of which it is not known what became of it.
func (s *Store) OldFolders(ctx context.Context, before time.Time) (folders []string, err error) {
	folders, err = list(ctx, s, `SELECT DISTINCT r.folder FROM runs r
		WHERE r.ended_at > 0 AND r.ended_at < ?1 AND r.files_removed_at = 0 AND r.folder <> ''
		AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.folder = r.folder AND o.folder <> '' AND (o.ended_at = 0 OR o.ended_at >= ?1
			OR EXISTS (SELECT 1 FROM parts p WHERE p.run_id = o.id AND (p.state = 'in_doubt' OR p.state = 'uploading' OR p.state = 'built'))))
		ORDER BY r.folder LIMIT ?2`, []any{micro(before), int64(maxFolders)}, text)
	return folders, wrap(err, "look for old folders of runs")
}

var eraseFilesSQL = statementOf(`UPDATE parts SET bytes = ?3, sha256 = ?4
			WHERE file = ?2 AND state <> 'uploading' AND run_id IN (SELECT id FROM runs WHERE folder = ?1 AND folder <> '')`)

// PartRewritten notes that a file of a run's folder was written anew without somebody who is forgotten, with
// the parts of all runs that send it but those that are being uploaded.
func (s *Store) PartRewritten(ctx context.Context, folder, file string, bytes int64, sha256 string) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		return t.put(eraseFilesSQL, folder, file, bytes, sha256)
	})
	return wrap(err, "note that %s was written anew", file)
}

var filesRemovedSQL = statementOf(`UPDATE runs SET files_removed_at = ?2 WHERE folder = ?1 AND folder <> '' AND files_removed_at = 0 AND ended_at > 0`)

// FolderRemoved notes with each run that used the folder that it is gone. All else that is
// known of the run stays.
func (s *Store) FolderRemoved(ctx context.Context, folder string, at time.Time) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		return t.put(filesRemovedSQL, folder, micro(at))
	})
	return wrap(err, "note that %s is gone", folder)
}
