package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
)

// RestoreOptions of a restoration.
type RestoreOptions struct {
	DSN      string // where the data goes
	Replace  bool   // data that is there already is moved aside
	Progress func(doing string, done, all int64)

	step func(name string) error // for tests: what a kill would leave
}

// A Restored says what was put where.
type Restored struct {
	Report
	Data  string `json:"data"`            // the database
	Aside string `json:"aside,omitempty"` // the folder where what was there before lies now; "" for nothing
}

// belongings are what lies beside a database and belongs to it. Its lock and its socket belong to a process.
var belongings = []string{"", "-wal", "-shm", ".instance", ".calls", ".calls.new", ".tokens", ".forgotten-key", ".damaged", ".restored", ".backup", ".moved", ".copying"}

// ofProcesses is what else lies there.
var ofProcesses = []string{".lock", ".sock", ".restoring", ".restore-cut-off"}

// Restore puts a backup in the place of the data behind o.DSN, where no daemon has it. The backup is unpacked beside it and
// checked whole before anything there changes; then what was there is moved aside. Where that is cut off, no daemon starts
// over the half of it, and another Restore begins anew. The daemon's next start finds the data restored and sends nothing until a person has
// reviewed it. Errors: a *store.LockedError, an *ExistsError, a *FileError.
func Restore(ctx context.Context, path string, o RestoreOptions) (r Restored, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	if o.step == nil {
		o.step = func(string) error { return nil }
	}
	data := engine.Path(o.DSN)
	folder := filepath.Dir(data)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return r, fmt.Errorf("storage folder: %w", err)
	}
	release, err := store.Hold(o.DSN)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, release()) }()
	cutOff := place.CutOff(engine.Path(o.DSN))
	if _, err := os.Stat(data); err == nil && !o.Replace && cutOff == nil {
		return r, &ExistsError{data, "add --yes: what is there is moved aside, and nothing of it is deleted"}
	}
	work := data + ".restoring"
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	all := Options{Progress: o.Progress}
	m, err := read(ctx, path, func(name string, _ int64, from io.Reader) error {
		to := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return unpack(to, from)
	}, all.counter("unpacking", info.Size()))
	if err != nil {
		return r, err
	}
	if err := holds(ctx, path, filepath.Join(work, entryDatabase), m); err != nil {
		return r, err
	}
	r.Report, r.Data = Report{Path: path, Bytes: info.Size(), Manifest: m, Checked: time.Now().UTC()}, data
	if err := o.step("unpacked"); err != nil {
		return r, err
	}
	// From here on a kill leaves a mark that no daemon starts over.
	if err := place.MarkRestore(o.DSN, path); err != nil {
		return r, err
	}
	if r.Aside, err = moveAside(data, o.step); err != nil {
		return r, err
	}
	if err := putInPlace(work, data, o.step); err != nil {
		return r, err
	}
	if err := place.WriteRestoredNote(o.DSN, place.RestoredNote{From: path, At: m.At}); err != nil {
		return r, err
	}
	if err := o.step("noted"); err != nil {
		return r, err
	}
	return r, place.UnmarkRestore(o.DSN)
}

// moveAside moves what belongs to the data into a folder beside it, and names that; "" where there was nothing.
func moveAside(data string, step func(string) error) (aside string, err error) {
	folder := filepath.Dir(data)
	var there []string
	for _, end := range belongings {
		there = append(there, filepath.Base(data)+end)
	}
	there = append(there, entryRequests)
	for _, name := range there {
		from := filepath.Join(folder, name)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if aside == "" {
			if aside, err = asideOf(data, time.Now()); err != nil {
				return "", err
			}
		}
		if err := os.Rename(from, filepath.Join(aside, name)); err != nil {
			return aside, fmt.Errorf("move aside: %w", err)
		}
		if err := step("aside " + name); err != nil {
			return aside, err
		}
	}
	if aside == "" {
		return "", nil
	}
	return aside, errors.Join(disk.SyncFolder(aside), disk.SyncFolder(folder))
}

// beforeMark stands between the name of the data and the time when it was moved aside.
const beforeMark = ".before-"

// An Aside is a folder into which a restoration moved what was there before.
type Aside struct {
	Path  string
	At    time.Time
	Bytes int64
}

// Asides are what restorations moved aside and nobody has removed since, the oldest first.
func Asides(dsn string) (all []Aside, err error) {
	data := engine.Path(dsn)
	there, err := os.ReadDir(filepath.Dir(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, one := range there {
		when, ours := strings.CutPrefix(one.Name(), filepath.Base(data)+beforeMark)
		if !ours || !one.IsDir() {
			continue
		}
		when, _, _ = strings.Cut(when, "-") // the second of one second has a number
		at, _ := time.Parse(asideTime, when)
		a := Aside{Path: filepath.Join(filepath.Dir(data), one.Name()), At: at}
		walked := filepath.WalkDir(a.Path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				a.Bytes += info.Size()
			}
			return err
		})
		if walked != nil && !errors.Is(walked, fs.ErrNotExist) { // somebody removes it just now
			err = errors.Join(err, walked)
		}
		all = append(all, a)
	}
	return all, err
}

const asideTime = "20060102T150405Z"

// asideOf makes the folder for what was there before.
func asideOf(data string, now time.Time) (path string, err error) {
	for n := 1; ; n++ {
		path = data + beforeMark + now.UTC().Format(asideTime)
		if n > 1 {
			path += fmt.Sprintf("-%d", n)
		}
		if err := os.Mkdir(path, 0o700); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// putInPlace moves what was unpacked to where it belongs. The database comes last: a start that finds one finds all of it.
func putInPlace(work, data string, step func(string) error) error {
	folder := filepath.Dir(data)
	for _, one := range []struct{ from, to string }{
		{entryRequests, filepath.Join(folder, entryRequests)},
		{entryKey, data + ".forgotten-key"},
		{entryDatabase, data},
	} {
		err := os.Rename(filepath.Join(work, one.from), one.to)
		if errors.Is(err, fs.ErrNotExist) && one.from != entryDatabase {
			continue
		}
		if err != nil {
			return fmt.Errorf("put in place: %w", err)
		}
		if err := step("placed " + one.from); err != nil {
			return err
		}
	}
	return disk.SyncFolder(folder)
}
