package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// The entries of an archive. Those of the folder keep their names below it.
const (
	entryDatabase = "nudgewire.db"
	entryKey      = "forgotten-key"
	entryRequests = "data-requests"
	entryManifest = "manifest.json"
)

// format is the version of the archive. What is added to it may be ignored by an older program; what may not gets a new number.
const format = 1

// A Manifest says what is in a backup.
type Manifest struct {
	Format  int       `json:"format"`
	At      time.Time `json:"at"`      // the moment that the copy shows, or shortly before
	Version string    `json:"version"` // of the program that made it
	Data    Copied    `json:"data"`
	Files   []Entry   `json:"files"`
}

// An Entry is a file of an archive.
type Entry struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// A FileError says that a file is no backup that can be used.
type FileError struct {
	Path string
	Why  string // "is cut off", as a predicate
	Next string
}

func (e *FileError) Error() string { return e.Path + " " + e.Why }

// Hint is the next step.
func (e *FileError) Hint() string { return e.Next }

const anotherHint = "take another backup; this one cannot be trusted"

// A writer writes an archive.
type writer struct {
	tar *tar.Writer
	zip *zstd.Encoder
	all []Entry
	did func(bytes int64) // called after each piece
}

func newWriter(to io.Writer, did func(int64)) (*writer, error) {
	// One goroutine and little memory: a backup beside a busy daemon is in no hurry.
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return &writer{tar: tar.NewWriter(z), zip: z, did: did}, nil
}

// add writes size bytes of an open file as an entry.
func (w *writer) add(ctx context.Context, name string, f io.Reader, size int64, at time.Time) error {
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: at.Truncate(time.Second), Format: tar.FormatPAX}); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, sum), &reporting{ctx, f, w.did}, size); err != nil {
		return err
	}
	w.all = append(w.all, Entry{name, size, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// close writes the manifest and ends the archive.
func (w *writer) close(m Manifest) error {
	m.Files = w.all
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: entryManifest, Size: int64(len(text)), Mode: 0o600, ModTime: m.At.Truncate(time.Second), Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = w.tar.Write(text)
	}
	return errors.Join(err, w.tar.Close(), w.zip.Close())
}

// reporting tells how much was read, and ends when ctx does.
type reporting struct {
	ctx context.Context
	r   io.Reader
	did func(int64)
}

func (r *reporting) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if r.did != nil {
		r.did(int64(n))
	}
	return n, err
}

// maxManifest bounds the manifest in memory.
const maxManifest = 64 << 20

// read goes through the archive at path, and holds every entry against the manifest. take gets each of the others, and need not read
// it whole. did is told of the archive's own bytes. Errors: a *FileError.
func read(ctx context.Context, path string, take func(name string, size int64, r io.Reader) error, did func(int64)) (m Manifest, err error) {
	f, err := regular.Open(ctx, path)
	if errors.Is(err, regular.ErrNoFile) || errors.Is(err, regular.ErrFolder) {
		err = &FileError{path, err.Error(), "name the file of a backup"}
	}
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := zstd.NewReader(&reporting{ctx, f, did}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return m, fmt.Errorf("decompress: %w", err)
	}
	defer z.Close()
	archive := tar.NewReader(z)
	var found []Entry
	var manifest []byte
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, unreadable(ctx, path, err)
		}
		if manifest != nil || head.Typeflag != tar.TypeReg || !known(head.Name) {
			return m, &FileError{path, fmt.Sprintf("is no backup of nudgewire: it holds %q", head.Name), "name a file that \"nudgewire backup\" made"}
		}
		if head.Name == entryManifest {
			if manifest, err = io.ReadAll(io.LimitReader(archive, maxManifest)); err != nil {
				return m, unreadable(ctx, path, err)
			}
			continue
		}
		sum := sha256.New()
		body := &noting{r: io.TeeReader(archive, sum)}
		if take != nil {
			err = take(head.Name, head.Size, body)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, body)
		}
		if body.err != nil {
			return m, unreadable(ctx, path, body.err)
		}
		if err != nil {
			return m, err
		}
		found = append(found, Entry{head.Name, head.Size, hex.EncodeToString(sum.Sum(nil))})
	}
	// What follows the archive's end is read, too, so that the compression's own checksum is.
	if _, err := io.Copy(io.Discard, z); err != nil {
		return m, unreadable(ctx, path, err)
	}
	if manifest == nil {
		return m, &FileError{path, "has no manifest.json at its end: it is cut off, or no backup of nudgewire", anotherHint}
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, &FileError{path, "has a manifest.json that cannot be read: " + err.Error(), anotherHint}
	}
	if m.Format > format {
		return m, &FileError{path, fmt.Sprintf("was made by a newer nudgewire (%s)", m.Version), "use that version, or a newer one"}
	}
	if words := differ(m.Files, found); words != "" {
		return m, &FileError{path, "is damaged: " + words, anotherHint}
	}
	return m, nil
}

// noting keeps the error of a reader apart from that of whoever it is copied to.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	c, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return c, err
}

// unreadable puts our words to why an archive cannot be read.
func unreadable(ctx context.Context, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sqlite.DiskTrouble(err) != "":
		return fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, zstd.ErrMagicMismatch):
		return &FileError{path, "is no backup of nudgewire", `name a file that "nudgewire backup" made; a database that was copied by hand is put in its place by hand (docs/backup.md)`}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FileError{path, "is cut off", anotherHint}
	case errors.Is(err, fs.ErrInvalid):
		return err
	default:
		return &FileError{path, "is damaged: " + err.Error(), anotherHint}
	}
}

// known reports whether an archive may hold an entry of that name.
func known(name string) bool {
	switch name {
	case entryDatabase, entryKey, entryManifest:
		return true
	}
	folder, rest, below := strings.Cut(name, "/")
	return below && folder == entryRequests && rest != "" && filepath.IsLocal(filepath.FromSlash(rest)) && !strings.Contains(name, "\\")
}

// differ says how what was found differs from what should be there; "" where it does not.
func differ(want, found []Entry) string {
	if len(want) != len(found) {
		return fmt.Sprintf("it should hold %d files and holds %d", len(want), len(found))
	}
	database := false
	for i := range want {
		if want[i] != found[i] {
			return fmt.Sprintf("%s is not what was written", want[i].Name)
		}
		database = database || want[i].Name == entryDatabase
	}
	if !database {
		return "there is no database in it"
	}
	return ""
}
