package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Options of a backup.
type Options struct {
	DSN     string // of the data
	Version string // of the program
	Replace bool   // a file that is there already gives way

	// Progress is told how far it is, some times a second: what is done, and bytes of how many. nil is nobody.
	Progress func(doing string, done, all int64)
}

// A Report is what a backup holds.
type Report struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Manifest Manifest  `json:"manifest"`
	Checked  time.Time `json:"checked"` // when all of it was read back and found whole
}

// An ExistsError says that something is there already.
type ExistsError struct{ Path, Next string }

func (e *ExistsError) Error() string { return e.Path + " exists already" }

// Hint is the next step.
func (e *ExistsError) Hint() string { return e.Next }

// Make writes a backup to path, beside a running daemon or without one. It has that name only once it is whole, on disk, and was
// read back. Errors: an *ExistsError, a *store.LockedError where another one writes to path, and those of store.CopyTo.
func Make(ctx context.Context, path string, o Options) (r Report, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	if ownFile(o.DSN, path) {
		return r, &ExistsError{path, "the data itself keeps its files there: choose another name, best on another disk"}
	}
	if info, err := os.Stat(path); err == nil && (!o.Replace || !info.Mode().IsRegular()) {
		hint := "choose another name, or add --yes to have it replaced"
		switch {
		case info.IsDir():
			hint = "it is a folder: name a file in it"
		case !info.Mode().IsRegular():
			hint = "it is no ordinary file, and would be replaced by one: choose another name"
		}
		return r, &ExistsError{path, hint}
	}
	at, err := enter(path + unfinished)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, at.leave()) }()
	work := at.path
	if r, err = o.write(ctx, work); err != nil {
		return r, err
	}
	packed := filepath.Join(work, "archive")
	if r.Manifest, err = read(ctx, packed, nil, o.counter("checking", r.Bytes)); err != nil {
		return r, fmt.Errorf("read the backup back: %w", err)
	}
	r.Path, r.Checked = path, time.Now().UTC()
	if err := os.Rename(packed, path); err != nil {
		return r, fmt.Errorf("name the backup: %w", err)
	}
	return r, disk.SyncFolder(filepath.Dir(path))
}

// ownFile reports whether path is where the data behind dsn keeps a file of its own, be it there now or not, by whichever name the folder is
// called. A backup there would take the place of the data that it is of, or be part of the next one.
func ownFile(dsn, path string) bool {
	data := engine.Path(dsn)
	same := func(a, b string) bool {
		x, err := os.Stat(a)
		y, bad := os.Stat(b)
		return err == nil && bad == nil && os.SameFile(x, y)
	}
	home := filepath.Dir(data)
	if end, ok := strings.CutPrefix(filepath.Base(path), filepath.Base(data)); ok && same(filepath.Dir(path), home) &&
		(slices.Contains(belongings, end) || slices.Contains(ofProcesses, end)) {
		return true
	}
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if same(at, filepath.Join(home, entryRequests)) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// write makes the archive in the folder.
func (o *Options) write(ctx context.Context, work string) (r Report, err error) {
	copied := filepath.Join(work, entryDatabase)
	if err := disk.Remove(copied); err != nil {
		return r, err
	}
	m := Manifest{Format: format, At: time.Now().UTC(), Version: o.Version}
	if err := o.copyDatabase(ctx, copied); err != nil {
		return r, err
	}
	if m.Data, err = inspect(ctx, copied); err != nil {
		return r, err
	}
	list, all := o.list(copied)
	f, err := os.OpenFile(filepath.Join(work, "archive"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := newWriter(f, o.counter("packing", all))
	if err != nil {
		return r, err
	}
	for _, one := range list {
		err := o.pack(ctx, w, one)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && one.name != entryDatabase) {
			return r, fmt.Errorf("pack %s: %w", one.name, err)
		}
	}
	if err := errors.Join(w.close(m), f.Sync()); err != nil {
		return r, err
	}
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	r.Bytes = info.Size()
	return r, nil
}

// copyDatabase copies the database and tells how far it is by the size of the copy.
func (o *Options) copyDatabase(ctx context.Context, to string) error {
	if o.Progress == nil {
		return store.CopyTo(ctx, o.DSN, to)
	}
	all := int64(0)
	if info, err := os.Stat(engine.Path(o.DSN)); err == nil {
		all = info.Size()
	}
	done := make(chan error, 1)
	go func() { done <- store.CopyTo(ctx, o.DSN, to) }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if info, err := os.Stat(to); err == nil {
				o.Progress("copying", min(info.Size(), all), all)
			}
		}
	}
}

// counter adds up what it is told, for Progress.
func (o *Options) counter(doing string, all int64) func(int64) {
	if o.Progress == nil {
		return nil
	}
	var done int64
	var told time.Time
	return func(n int64) {
		done += n
		if now := time.Now(); now.Sub(told) >= 200*time.Millisecond {
			told = now
			o.Progress(doing, min(done, all), all)
		}
	}
}

// A source is a file that goes into an archive.
type source struct{ name, path string }

// list is what goes into the archive, and about how many bytes that is. A file that comes or goes from now on belongs to a later backup.
func (o *Options) list(copied string) (list []source, all int64) {
	data := engine.Path(o.DSN)
	list = append(list, source{entryDatabase, copied}, source{entryKey, data + ".forgotten-key"})
	list = append(list, below(entryRequests, filepath.Join(filepath.Dir(data), entryRequests))...)
	for _, one := range list {
		if info, err := os.Stat(one.path); err == nil {
			all += info.Size()
		}
	}
	return list, all
}

// below lists the files of a folder; there are no folders in those.
func below(name, folder string) (files []source) {
	all, err := os.ReadDir(folder)
	if err != nil {
		return nil // gone meanwhile, or never there
	}
	for _, one := range all {
		if one.Type().IsRegular() && !strings.HasSuffix(one.Name(), ".new") {
			files = append(files, source{name + "/" + one.Name(), filepath.Join(folder, one.Name())})
		}
	}
	return files
}

func (o *Options) pack(ctx context.Context, w *writer, one source) (err error) {
	f, err := os.Open(one.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return w.add(ctx, one.name, f, info.Size(), info.ModTime())
}
