package files

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// A Table keeps files in pieces. *store.Store is one. Whatever changes something is one commit, durable when it returns.
type Table interface {
	// BeginFile makes an empty file, in the place of one of that name.
	BeginFile(ctx context.Context, id int64, folder, name string) error
	// GrowFile adds a piece to a file, with the number from 0. Errors: fs.ErrNotExist where the file is gone.
	GrowFile(ctx context.Context, id, number int64, piece []byte) error
	// NameFile gives a file another name in its folder, in the place of what is called so. Errors: fs.ErrNotExist.
	NameFile(ctx context.Context, id int64, name string) error
	// File finds a file and says how many bytes it has. Errors: fs.ErrNotExist.
	File(ctx context.Context, folder, name string) (id, size int64, err error)
	// FilePiece is a piece of a file. Errors: fs.ErrNotExist.
	FilePiece(ctx context.Context, id, number int64) ([]byte, error)
	// FilesIn names the files of a folder, or of all for "", as each gets them: folder and name.
	FilesIn(ctx context.Context, folder string, each func(folder, name string)) error
	// RemoveFile and RemoveFiles remove one file, and all of a folder.
	RemoveFile(ctx context.Context, folder, name string) error
	RemoveFiles(ctx context.Context, folder string) error
}

// inDatabase begins the folders of files in the database.
const inDatabase = "database" + schemeEnd

// pieceBytes is how much of a file lies in one row: few enough that a commit with it is short.
const pieceBytes = 256 << 10

// A Database keeps files in tables.
type Database struct{ table Table }

// InDatabase makes a Database.
func InDatabase(t Table) *Database { return &Database{t} }

// Root implements Store.
func (*Database) Root() string { return inDatabase }

// Create implements Store.
func (d *Database) Create(ctx context.Context, path string) (Writer, error) {
	folder, name := Split(path)
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	id := int64(binary.LittleEndian.Uint64(random[:]) >> 1)
	if err := d.table.BeginFile(ctx, id, folder, name+ofUnfinished); err != nil {
		return nil, err
	}
	return &pieceWriter{ctx: ctx, table: d.table, id: id, folder: folder, name: name, piece: make([]byte, 0, pieceBytes)}, nil
}

type pieceWriter struct {
	ctx          context.Context //nolint:containedctx // of one file being written, as Store.Create says
	table        Table
	id, number   int64
	folder, name string
	piece        []byte
	ended        bool
}

func (w *pieceWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		took := min(len(p), cap(w.piece)-len(w.piece))
		w.piece, p, n = append(w.piece, p[:took]...), p[took:], n+took
		if len(w.piece) == cap(w.piece) {
			if err := w.Sync(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (w *pieceWriter) Sync() error {
	if len(w.piece) == 0 {
		return nil
	}
	if err := w.table.GrowFile(w.ctx, w.id, w.number, w.piece); err != nil {
		return w.gone(err)
	}
	w.number, w.piece = w.number+1, w.piece[:0]
	return nil
}

// gone says that somebody else began the file anew: this writer is not the one any more.
func (w *pieceWriter) gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was begun anew by somebody else: %w", w.name, err)
	}
	return err
}

func (w *pieceWriter) Commit() error {
	err := w.Sync()
	if err == nil {
		err = w.gone(w.table.NameFile(w.ctx, w.id, w.name))
	}
	if err != nil {
		return errors.Join(err, w.Abandon())
	}
	w.ended = true
	return nil
}

func (w *pieceWriter) Abandon() error {
	if w.ended {
		return nil
	}
	w.ended = true
	ctx := context.WithoutCancel(w.ctx)
	if id, _, err := w.table.File(ctx, w.folder, w.name+ofUnfinished); err != nil || id != w.id {
		return ignoreGone(err) // it is somebody else's by now
	}
	return w.table.RemoveFile(ctx, w.folder, w.name+ofUnfinished)
}

// Open implements Store.
func (d *Database) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	folder, name := Split(path)
	id, size, err := d.table.File(ctx, folder, name)
	if err != nil {
		return nil, d.away(err)
	}
	return &pieceReader{ctx: ctx, of: d, id: id, left: size}, nil
}

// away tells what is not there from what cannot be read at present.
func (*Database) away(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &AwayError{"the database", err}
}

type pieceReader struct {
	ctx              context.Context //nolint:containedctx // of one file being read, as Store.Open says
	of               *Database
	id, number, left int64
	piece            []byte
}

func (r *pieceReader) Read(p []byte) (n int, err error) {
	if len(r.piece) == 0 {
		if r.left <= 0 {
			return 0, io.EOF
		}
		if r.piece, err = r.of.table.FilePiece(r.ctx, r.id, r.number); err != nil {
			return 0, r.of.away(err)
		}
		r.number, r.left = r.number+1, r.left-int64(len(r.piece))
	}
	n = copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

func (*pieceReader) Close() error { return nil }

// List implements Store.
func (d *Database) List(ctx context.Context, folder string) (paths []string, err error) {
	err = d.table.FilesIn(ctx, folder, func(folder, name string) { paths = append(paths, Join(folder, name)) })
	return paths, err
}

// Remove implements Store.
func (d *Database) Remove(ctx context.Context, paths ...string) (err error) {
	for _, path := range paths {
		folder, name := Split(path)
		err = errors.Join(err, d.table.RemoveFile(ctx, folder, name))
	}
	return err
}

// RemoveFolder implements Store.
func (d *Database) RemoveFolder(ctx context.Context, folder string) error {
	return d.table.RemoveFiles(ctx, folder)
}

func (*Database) has(folder string) bool { return strings.HasPrefix(folder, inDatabase) }
