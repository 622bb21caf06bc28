package store

import (
	"context"
	"io/fs"
)

// Files of runs lie in rows of pieces, where the config keeps them in the database. Their commits go in a lane of their own, of
// which each batch takes one, so that a long list holds up nobody's message. What is removed is out of sight at once, and its
// pieces go some at a time.

// changeFiles hands over one change of files.
func (s *Store) changeFiles(ctx context.Context, run op) error { return s.write(ctx, laneFiles, run) }

var (
	beginFileSQL = statementOf(`INSERT INTO run_files (id, folder, name, bytes) VALUES (?1, ?2, ?3, 0)`)
	hideFileSQL  = statementOf(`UPDATE run_files SET folder = '', name = CAST(id AS TEXT) WHERE folder = ?1 AND name = ?2`)
)

// BeginFile makes an empty file, in the place of one of that name. id is a number that no other file has.
func (s *Store) BeginFile(ctx context.Context, id int64, folder, name string) error {
	err := s.changeFiles(ctx, func(t *tx) error {
		if err := t.put(hideFileSQL, folder, name); err != nil {
			return err
		}
		return t.put(beginFileSQL, id, folder, name)
	})
	return wrap(err, "begin the file %s", name)
}

var (
	growFileSQL = statementOf(`UPDATE run_files SET bytes = bytes + ?2 WHERE id = ?1 AND folder <> ''`)
	addPieceSQL = statementOf(`INSERT INTO run_file_pieces (file_id, number, content) VALUES (?1, ?2, ?3)`)
)

// GrowFile adds a piece to a file, with the number from 0. Errors: fs.ErrNotExist where the file was removed.
func (s *Store) GrowFile(ctx context.Context, id, number int64, piece []byte) error {
	err := s.changeFiles(ctx, func(t *tx) error {
		n, err := t.exec(growFileSQL, id, int64(len(piece)))
		if err == nil && n == 0 {
			err = unchanged{fs.ErrNotExist}
		}
		if err == nil {
			err = t.put(addPieceSQL, id, number, piece)
		}
		return err
	})
	return wrap(err, "write a file")
}

var (
	hideNamedSQL = statementOf(`UPDATE run_files SET folder = '', name = CAST(id AS TEXT) WHERE folder = (SELECT folder FROM run_files WHERE id = ?1) AND folder <> '' AND name = ?2`)
	nameFileSQL  = statementOf(`UPDATE run_files SET name = ?2 WHERE id = ?1 AND folder <> ''`)
)

// NameFile gives a file another name in its folder, in the place of what is called so. Errors: fs.ErrNotExist where it was
// removed.
func (s *Store) NameFile(ctx context.Context, id int64, name string) error {
	var took bool
	err := s.changeFiles(ctx, func(t *tx) error {
		took = false
		n, err := t.exec(hideNamedSQL, id, name)
		if err != nil {
			return err
		}
		took = n > 0
		if n, err = t.exec(nameFileSQL, id, name); err == nil && n == 0 {
			err = unchanged{fs.ErrNotExist}
		}
		return err
	})
	if err == nil && took {
		err = s.dropFiles(ctx)
	}
	return wrap(err, "keep the file %s", name)
}

// File finds a file and says how many bytes it has. Errors: fs.ErrNotExist.
func (s *Store) File(ctx context.Context, folder, name string) (id, size int64, err error) {
	err = fs.ErrNotExist
	failed := s.rows(ctx, `SELECT id, bytes FROM run_files WHERE folder = ?1 AND folder <> '' AND name = ?2`, []any{folder, name}, func(r *row) error {
		id, size, err = r.int(), r.int(), nil
		return r.err
	})
	if failed != nil {
		err = failed
	}
	return id, size, wrap(err, "open %s", name)
}

// FilePiece is a piece of a file. Errors: fs.ErrNotExist.
func (s *Store) FilePiece(ctx context.Context, id, number int64) (piece []byte, err error) {
	err = fs.ErrNotExist
	failed := s.rows(ctx, `SELECT content FROM run_file_pieces WHERE file_id = ?1 AND number = ?2`, []any{id, number}, func(r *row) error {
		piece, err = r.blob(), nil
		return r.err
	})
	if failed != nil {
		err = failed
	}
	return piece, wrap(err, "read a file")
}

// FilesIn names the files of a folder. For "" it names all, after it has removed what a crash left of those that were removed.
func (s *Store) FilesIn(ctx context.Context, folder string, each func(folder, name string)) error {
	query, args := `SELECT folder, name FROM run_files WHERE folder = ?1 ORDER BY name`, []any{folder}
	if folder == "" {
		if err := s.dropFiles(ctx); err != nil {
			return err
		}
		query, args = `SELECT folder, name FROM run_files WHERE folder > '' ORDER BY folder, name`, nil
	}
	err := s.rows(ctx, query, args, func(r *row) error {
		each(r.text(), r.text())
		return r.err
	})
	return wrap(err, "list files")
}

// RemoveFile removes a file; one that is not there is none.
func (s *Store) RemoveFile(ctx context.Context, folder, name string) error {
	err := s.changeFiles(ctx, func(t *tx) error {
		return t.put(hideFileSQL, folder, name)
	})
	if err == nil {
		err = s.dropFiles(ctx)
	}
	return wrap(err, "remove the file %s", name)
}

var hideFilesSQL = statementOf(`UPDATE run_files SET folder = '', name = CAST(id AS TEXT) WHERE folder = ?1`)

// RemoveFiles removes the files of a folder.
func (s *Store) RemoveFiles(ctx context.Context, folder string) error {
	err := s.changeFiles(ctx, func(t *tx) error {
		return t.put(hideFilesSQL, folder)
	})
	if err == nil {
		err = s.dropFiles(ctx)
	}
	return wrap(err, "remove the files of %s", folder)
}

var (
	dropPiecesSQL = statementOf(`DELETE FROM run_file_pieces WHERE file_id = ?1
		AND number IN (SELECT number FROM run_file_pieces WHERE file_id = ?1 ORDER BY number LIMIT 8)`)
	dropFileSQL = statementOf(`DELETE FROM run_files WHERE id = ?1 AND folder = ''`)
)

// dropFiles removes the pieces of files that are out of sight, 2 MB a commit.
func (s *Store) dropFiles(ctx context.Context) error {
	ids, err := list(ctx, s, `SELECT id FROM run_files WHERE folder = ''`, nil, number[int64])
	for _, id := range ids {
		for left := true; left && err == nil; {
			err = s.changeFiles(ctx, func(t *tx) error {
				n, err := t.exec(dropPiecesSQL, id)
				if left = n > 0; err == nil && !left {
					err = t.put(dropFileSQL, id)
				}
				return err
			})
		}
	}
	return err
}
