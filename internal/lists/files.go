package lists

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A finder knows where files are: on this machine, in a bucket, on a server.
type finder interface {
	// find opens the place and lists the files that match, in the order of their names. done, where
	// it is not nil, closes the place, also after an error.
	find(ctx context.Context) (files []file, done func() error, err error)
}

// A file is one list. stamp tells one state of its content from another.
type file interface {
	name() string
	open(ctx context.Context) (io.ReadCloser, error)
	stamp(ctx context.Context) (string, error)
}

// A fileSource reads files one after the other as one list. What a file is, its first bytes
// say: gzip, a workbook, or text.
type fileSource struct {
	kind, where string
	finder      finder
	origin      Origin
}

// String names the source.
func (s *fileSource) String() string { return s.kind + " " + s.where }

// Open finds the files and begins with the first.
func (s *fileSource) Open(ctx context.Context) (Rows, error) {
	v := s.origin.vigil(ctx)
	files, done, err := s.finder.find(v.ctx)
	if err != nil {
		err = v.explain(err)
		if done != nil { // the place was opened, and its list cannot be had
			err = errors.Join(err, done())
		}
		v.close()
		return nil, within(s.String(), err)
	}
	r := &fileRows{vigil: v, source: s, files: files, done: done, several: len(files) > 1}
	if len(files) == 0 {
		return nil, errors.Join(within(s.String(), &noFileError{"no file has such a name"}), r.Close())
	}
	if err := r.begin(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.header = slices.Clone(r.at.Header())
	return r, nil
}

// MaxNotes bounds the notes about one list.
const MaxNotes = 20

type fileRows struct {
	vigil   *vigil
	source  *fileSource
	files   []file // the first is being read
	done    func() error
	several bool
	header  []string
	at      Rows
	before  string // stamp of the file that is being read
	name    string // of the file that is being read
	read    int64
	texts   textWays
	notes   []string
}

// Header are the columns of the first file; every other one has the same.
func (r *fileRows) Header() []string { return r.header }

// File is the file that the last row came from.
func (r *fileRows) File() string { return r.name }

// Notes are those of the files that were read to their end.
func (r *fileRows) Notes() []string { return r.notes }

// ReadAs says how the texts were read that were read to their end.
func (r *fileRows) ReadAs() string { return r.texts.String() }

// Next reads on, from file to file.
func (r *fileRows) Next() (Row, int64, error) {
	for {
		row, line, err := r.at.Next()
		if err == nil {
			return row, line, nil
		}
		if !errors.Is(err, io.EOF) {
			if _, ok := errors.AsType[*RowError](err); ok {
				return row, line, err
			}
			return nil, line, within(r.files[0].name(), r.changing(err))
		}
		if err := r.end(); err != nil {
			return nil, line, err
		}
		if len(r.files) == 0 {
			return nil, 0, io.EOF
		}
		if err := r.begin(); err != nil {
			return nil, 0, err
		}
		if !slices.Equal(r.header, r.at.Header()) {
			return nil, 1, within(r.files[0].name(), fmt.Errorf("has the columns %s, and the first file has %s: files of one list need the same", Names(r.at.Header()), Names(r.header)))
		}
	}
}

// begin opens the first of the files that are left.
func (r *fileRows) begin() error {
	f := r.files[0]
	stamp, err := r.stamp(f)
	if err != nil {
		return within(f.name(), err)
	}
	var body io.ReadCloser
	err = r.vigil.while(func() (err error) {
		body, err = f.open(r.vigil.ctx)
		return err
	})
	if err != nil {
		return within(f.name(), err)
	}
	body = watchedBody{body, r.vigil}
	r.before, r.name = stamp, f.name()
	r.at, err = readTable(r.vigil.ctx, body, r.source.origin, &r.read)
	if err != nil {
		r.at = nil
		return within(f.name(), errors.Join(r.changing(err), body.Close()))
	}
	return nil
}

func (r *fileRows) stamp(f file) (stamp string, err error) {
	err = r.vigil.while(func() (err error) {
		stamp, err = f.stamp(r.vigil.ctx)
		return err
	})
	return stamp, err
}

// changing is why a file cannot be read, and that somebody is writing to it, where that is so.
func (r *fileRows) changing(err error) error {
	if now, failed := r.stamp(r.files[0]); failed == nil && now != r.before && !errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// end closes the file that was read to its end, and makes sure that it is the one that was
// opened: a list to which somebody is still writing would be sent by half.
func (r *fileRows) end() error {
	f := r.files[0]
	r.texts.add(r.at)
	if one, ok := r.at.(noted); ok {
		for _, note := range one.Notes() {
			if r.several {
				note = f.name() + ": " + note
			}
			if len(r.notes) < MaxNotes {
				r.notes = append(r.notes, note)
			}
		}
	}
	if err := r.at.Close(); err != nil {
		return within(f.name(), err)
	}
	r.at = nil
	stamp, err := r.stamp(f)
	if err != nil {
		return within(f.name(), err)
	}
	if stamp != r.before {
		return within(f.name(), ErrChanged)
	}
	r.files = r.files[1:]
	return nil
}

// Close lets go of what is open.
func (r *fileRows) Close() error {
	var errs []error
	if r.at != nil {
		errs = append(errs, r.at.Close())
		r.at = nil
	}
	if r.done != nil {
		errs = append(errs, r.done())
		r.done = nil
	}
	if r.vigil.ctx.Err() != nil {
		errs = nil // what was cut off cannot be closed well, and the reading has said why
	}
	r.vigil.close()
	return errors.Join(errs...)
}

// readTable looks at the first bytes of a list and reads it as what it is. The rows own body.
func readTable(ctx context.Context, body io.ReadCloser, o Origin, read *int64) (Rows, error) {
	limit := &limited{r: body, left: o.MaxBytes.Bytes(), read: read}
	if limit.left <= 0 {
		limit.left = int64(4 * units.Size(1e9))
	}
	head := bufio.NewReaderSize(limit, sample)
	magic, err := head.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case len(magic) >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		unzip, err := gzip.NewReader(head)
		if err != nil {
			return nil, fmt.Errorf("is no gzip file: %w", err)
		}
		// What comes out counts too: a small file can hold a large one.
		inner := &limited{r: unzipped{unzip}, left: limit.left, read: new(int64)}
		text := bufio.NewReaderSize(inner, sample)
		if magic, err := text.Peek(4); err == nil && string(magic) == workbookMagic {
			return readWorkbook(ctx, text, body, o)
		}
		return readCSV(text, body, o)
	case string(magic) == workbookMagic:
		return readWorkbook(ctx, head, body, o)
	case string(magic) == "\xd0\xcf\x11\xe0":
		return nil, errors.New("is a workbook of the old .xls kind, or one with a password: save it as .xlsx without a password, or as CSV")
	default:
		return readCSV(head, body, o)
	}
}

// unzipped says in words what is wrong with a compressed file that breaks off, or that was changed.
type unzipped struct{ *gzip.Reader }

func (u unzipped) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the compressed file ends in the middle: copy it once more (%w)", err)
	case errors.Is(err, gzip.ErrChecksum):
		err = fmt.Errorf("the compressed file is damaged: copy it once more (%w)", err)
	}
	return n, err
}

// limited reads up to a limit and fails beyond it, where io.LimitReader would end the list
// as if it were whole.
type limited struct {
	r    io.Reader
	left int64
	read *int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	*l.read += int64(n)
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// localFiles are files on this machine, by a pattern; a relative one starts at folder. A pattern finds what lies in the folder that it
// begins with: links that lead out of that are refused, as whoever may put a file there may put a link, too. A name without a
// pattern is what whoever wrote the config means, wherever it leads.
type localFiles struct{ folder, pattern string }

func openCSV(o Origin, folder string) (Source, error) {
	return &fileSource{kind: "csv", where: o.CSV, finder: localFiles{folder, o.CSV}, origin: o}, nil
}

func openXLSX(o Origin, folder string) (Source, error) {
	return &fileSource{kind: "xlsx", where: o.XLSX, finder: localFiles{folder, o.XLSX}, origin: o}, nil
}

// NoFile is the key of a file of this machine that is not there now; "" where it is there, and for every other source.
func (o *Origin) NoFile(folder string) (key string) {
	key, name := "csv", o.CSV
	switch {
	case o.XLSX != "":
		key, name = "xlsx", o.XLSX
	case o.SQLite != "":
		key, name = "sqlite", o.SQLite
	}
	if name == "" {
		return ""
	}
	ctx, done := regular.Bounded()
	defer done()
	found, err := regular.Do(ctx, localFiles{folder, name}.look)
	if err != nil || len(found) > 0 {
		return "" // what cannot be looked at, the run tells in its own words
	}
	return key
}

func (l localFiles) find(ctx context.Context) ([]file, func() error, error) {
	found, err := regular.Do(ctx, l.look)
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 && l.relative() {
		return nil, nil, &noFileError{"no file in " + l.folder + " has such a name"}
	}
	files := make([]file, len(found))
	for i, one := range found {
		files[i] = one
	}
	return files, nil, nil
}

// look finds the files.
func (l localFiles) look() ([]localFile, error) {
	names, err := expand(inFolder(literal(l.folder), l.pattern), os.Stat, func(folder string) ([]string, error) { return namesOf(os.ReadDir(folder)) })
	if err != nil {
		return nil, err
	}
	root := ""
	if strings.ContainsAny(l.pattern, patternSigns) {
		root = inFolder(l.folder, plainFolder(l.pattern))
	}
	if len(names) == 0 { // a name may hold the characters of a pattern
		whole := inFolder(l.folder, l.pattern)
		if _, err := os.Stat(whole); err == nil {
			names, root = []string{whole}, ""
		}
	}
	var files []localFile
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		files = append(files, localFile{path: name, shown: l.shown(name), root: root})
	}
	return files, nil
}

// patternSigns are the characters that make a name a pattern.
const patternSigns = `*?[`

// plainFolder is the folder that a pattern begins with, up to the first part that is none.
func plainFolder(pattern string) string {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	i := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, patternSigns) })
	folder := strings.Join(parts[:max(0, i)], "/")
	switch {
	case folder == "" && strings.HasPrefix(pattern, "/"):
		return "/"
	case folder == "":
		return "."
	}
	return filepath.FromSlash(unescape.Replace(folder))
}

var unescape = strings.NewReplacer(`\\`, `\`, `\`, "")

func (l localFiles) relative() bool { return l.folder != "" && !filepath.IsAbs(l.pattern) }

// shown is a file's name as the config would write it.
func (l localFiles) shown(path string) string {
	if l.relative() {
		if short, err := filepath.Rel(l.folder, path); err == nil {
			return short
		}
	}
	return path
}

// A localFile is one of them. root is the folder that its links may not lead out of; "" for one that was named.
type localFile struct{ path, shown, root string }

func (f localFile) name() string { return f.shown }

func (f localFile) open(ctx context.Context) (io.ReadCloser, error) {
	body, err := f.opened(ctx)
	if err != nil {
		return nil, openError(err)
	}
	return body, nil
}

func (f localFile) opened(ctx context.Context) (*regular.File, error) {
	if f.root == "" {
		return regular.Open(ctx, f.path)
	}
	root, err := regular.Do(ctx, func() (*os.Root, error) { return os.OpenRoot(f.root) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was opened in it stays open
	name, err := filepath.Rel(f.root, f.path)
	if err != nil {
		return nil, err
	}
	return regular.OpenIn(ctx, root, name)
}

// openError is why a list cannot be opened, with the hint.
func openError(err error) error {
	switch {
	case errors.Is(err, regular.ErrFolder), errors.Is(err, regular.ErrNoFile):
		return &wordError{err.Error() + ": a list has to be a file that can be read from its beginning to its end", "name a file; what comes by a pipe is written into one first"}
	case errors.Is(err, regular.ErrLeadsOut):
		return &wordError{"is a link that leads out of the folder of the lists, and is not followed", "put the file itself there, or name it without a pattern"}
	}
	return err
}

func (f localFile) stamp(ctx context.Context) (string, error) {
	info, err := regular.Do(ctx, func() (os.FileInfo, error) { return os.Stat(f.path) })
	if err != nil {
		return "", err
	}
	return stampOf(info), nil
}

// stampOf tells a file's states apart by size and time of the last write.
func stampOf(info os.FileInfo) string {
	return fmt.Sprintf("%d %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}
