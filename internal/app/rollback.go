package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// rollback is what the audit calls a reload of older files.
const rollback = "rollback"

// today is the config of the files as they are now, without secrets; nil where there is none to read.
func (a *App) today() *config.Config {
	cfg, _ := config.LoadWithoutSecrets(a.opt.ConfigFile, a.opt.Env)
	return cfg
}

// earlier is a config that was used before with its files: their secrets are those of the config in use and of today's files, by their hashes.
// Errors: messaging.ErrNotFound, a *server.RollbackError, a *ConfigError.
func (a *App) earlier(ctx context.Context, version string, today *config.Config) ([]history.ConfigFile, *config.Config, error) {
	kept, err := history.Records{Store: a.store}.ConfigFiles(ctx, version)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what it is
	}
	known := a.config().Secrets(a.store.Marks.Secret)
	if today != nil {
		maps.Copy(known, today.Secrets(a.store.Marks.Secret))
	}
	files, missing := config.WithSecrets(kept, known)
	if len(missing) > 0 {
		return nil, nil, &server.RollbackError{
			Words: "config " + version + " had " + units.Count(len(missing), "secret") + " written into it that today's files do not have, and secrets are not kept: " + linesOf(missing),
			Next:  `fill them in by hand: "nudgewire config show ` + version + `" prints the files`,
		}
	}
	cfg, problems := config.ParseFiles(a.opt.ConfigFile, files, a.opt.Env)
	// A config with nines of its own is the same version; that of other holidays is another one, too.
	if blotted := config.Blotted(files); cfg.Version != version && len(blotted) > 0 {
		return nil, nil, &server.RollbackError{
			Words: "config " + version + " named contacts who were forgotten since, and nines stand in place of their phones: " + linesOf(blotted),
			Next:  `fill them in by hand, or leave them out: "nudgewire config show ` + version + `" prints the files`,
		}
	}
	if problems.Errors() > 0 {
		return nil, nil, &ConfigError{File: "config " + version, Problems: problems}
	}
	return files, cfg, nil
}

// linesOf names lines of which something is missing.
func linesOf(missing []config.MissingText) string {
	lines := make([]string, len(missing))
	for i := range missing {
		lines[i] = missing[i].String()
	}
	return strings.Join(lines, "; ")
}

// Rollback has an earlier config again; see server.Daemon.
func (d daemon) Rollback(ctx context.Context, version string) (done server.RollbackView, changes []preview.RuleChange, err error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	today := d.today()
	files, cfg, err := d.earlier(ctx, version, today)
	if err != nil {
		return done, nil, err
	}
	w := fileChange{config: d.opt.ConfigFile}
	if err := w.plan(files, d.configFiles(today), d.store.Now()); err != nil {
		return done, nil, notWritten(err, version)
	}
	if err := w.write(); err != nil {
		if left := w.undo(); left != nil {
			return done, nil, w.notPutBack(err, left)
		}
		return done, nil, notWritten(err, version)
	}
	changes, err = d.reload(ctx, rollback, cfg.Version)
	if err != nil {
		if left := w.undo(); left != nil {
			return done, nil, w.notPutBack(err, left)
		}
		return done, nil, err
	}
	if err := w.done(); err != nil {
		d.log.Warn("remove the note of a rollback that is done", zap.Error(err))
	}
	done.Wrote, done.Removed, done.Kept = w.told()
	return done, changes, nil
}

func notWritten(err error, version string) error {
	return &server.RollbackError{
		Words: "the config files cannot be written here, and nothing was changed: " + err.Error(),
		Next:  `put the files in their place yourself: "nudgewire config show ` + version + `" prints them; then "nudgewire reload"`,
	}
}

// notPutBack names what a person has to put back.
func (w *fileChange) notPutBack(err, left error) error {
	_, _, kept := w.told()
	return &server.RollbackError{
		Words: fmt.Sprintf("the rollback failed, and not all files could be put back; the config in use is the one before: %v; %v", err, left),
		Next:  "what the files were lies in " + strings.Join(kept, ", ") + "; the next start of the daemon puts it back, or do so yourself and remove " + w.note(),
	}
}

// configFiles are the files that the config is read from: those of the config in use, and those of today's.
func (a *App) configFiles(today *config.Config) []string {
	all := append([]string{a.opt.ConfigFile}, a.config().Included()...)
	if today != nil {
		all = append(all, today.Included()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A fileChange puts the files of a config in place of others, all or none of them. What it does is noted in a file beside the config before
// anything is changed: a start that finds the note puts back what was.
type fileChange struct {
	config string // the config's own file
	files  []changedFile
	put    func(path string, text []byte) error // writes all of a file or nothing; nil is disk.WriteFile
}

// A changedFile is one file of a change.
type changedFile struct {
	Path string      // with links followed
	Mode fs.FileMode // as it was
	Kept string      // the file that has what was there; "" where nothing was
	text *string     // that is to be there; nil for none
}

// rollbackNote is the name of the note, in the folder of the config.
const rollbackNote = ".nudgewire-rollback.json"

func (w *fileChange) note() string { return filepath.Join(filepath.Dir(w.config), rollbackNote) }

// plan says what is to be written: files in place of those of today. at names what is kept.
func (w *fileChange) plan(files []history.ConfigFile, today []string, at time.Time) error {
	if _, err := os.Lstat(w.note()); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there, so another node that reads the same files is at it, or a rollback before this one was cut off; the next start of a daemon that was cut off puts back what was", w.note())
	}
	texts := map[string]*string{}
	for _, name := range today {
		path, err := target(name)
		if err != nil {
			return err
		}
		texts[path] = nil
	}
	for i := range files {
		name := filepath.Join(filepath.Dir(w.config), filepath.FromSlash(files[i].Name))
		if i == 0 {
			name = w.config // it may have had another name
		}
		path, err := target(name)
		if err != nil {
			return err
		}
		texts[path] = &files[i].Text
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		one := changedFile{Path: path, Mode: 0o600, text: texts[path]}
		if info, err := os.Stat(path); err == nil {
			if now, err := regular.ReadSmall(path); err == nil && one.text != nil && string(now) == *one.text {
				continue // it is as it was
			}
			one.Mode = info.Mode().Perm()
			// A name that begins with a dot is meant by no pattern of include that does not say the dot.
			one.Kept = filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.until-%s", filepath.Base(path), at.UTC().Format("20060102T150405.000000")))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err //nolint:wrapcheck // it names the file
		}
		if one.Kept != "" || one.text != nil {
			w.files = append(w.files, one)
		}
	}
	return nil
}

// target is where a file really lies, whether it is there or not.
func target(name string) (string, error) {
	path, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Abs(name) //nolint:wrapcheck // it names the file
	} else if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return filepath.Abs(path) //nolint:wrapcheck // it names the file
}

// write keeps what is there, and writes what is to be there.
func (w *fileChange) write() error {
	for i := range w.files {
		f := &w.files[i]
		if f.Kept == "" {
			continue
		}
		text, err := regular.ReadSmall(f.Path)
		if err == nil {
			err = w.writeAs(f.Kept, text, f.Mode)
		}
		if err != nil {
			return err
		}
	}
	note, err := json.Marshal(w.files)
	if err == nil {
		err = w.writeAs(w.note(), note, 0o600)
	}
	for i := range w.files {
		f := &w.files[i]
		switch {
		case err != nil:
		case f.text == nil:
			err = disk.Remove(f.Path)
		default:
			if err = os.MkdirAll(filepath.Dir(f.Path), 0o700); err == nil {
				err = w.writeAs(f.Path, []byte(*f.text), f.Mode)
			}
		}
	}
	return err
}

func (w *fileChange) writeAs(path string, text []byte, mode fs.FileMode) error {
	put := w.put
	if put == nil {
		put = disk.WriteFile
	}
	if err := put(path, text); err != nil {
		return err
	}
	return os.Chmod(path, mode) //nolint:wrapcheck // it names the file
}

// undo puts back what was there, and forgets the change.
func (w *fileChange) undo() (err error) {
	if _, gone := os.Stat(w.note()); gone == nil { // else nothing was changed
		for i := range w.files {
			err = errors.Join(err, w.putBack(&w.files[i]))
		}
	}
	if err != nil {
		return err
	}
	// The note goes before what it names: a start that found it alone would have nothing to put back.
	err = w.done()
	for i := range w.files {
		if err == nil && w.files[i].Kept != "" {
			err = disk.Remove(w.files[i].Kept)
		}
	}
	return err
}

func (w *fileChange) putBack(f *changedFile) error {
	if f.Kept == "" {
		return disk.Remove(f.Path)
	}
	text, err := regular.ReadSmall(f.Kept)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	if now, err := regular.ReadSmall(f.Path); err == nil && bytes.Equal(now, text) {
		return os.Chmod(f.Path, f.Mode) //nolint:wrapcheck // it names the file
	}
	// The file that was kept takes the place: a full disk has no room for another one.
	again := f.Kept + ".again"
	err = disk.Remove(again)
	if err == nil {
		err = os.Link(f.Kept, again)
	}
	if err == nil {
		err = os.Rename(again, f.Path)
	}
	if err != nil { // a file system without links
		return w.writeAs(f.Path, text, f.Mode)
	}
	return disk.SyncFolder(filepath.Dir(f.Path))
}

// done forgets the change.
func (w *fileChange) done() error { return disk.Remove(w.note()) }

// told are the files that were written and removed, and those that have what was there.
func (w *fileChange) told() (wrote, removed, kept []string) {
	for i := range w.files {
		f := &w.files[i]
		if f.text == nil {
			removed = append(removed, f.Path)
		} else {
			wrote = append(wrote, f.Path)
		}
		if f.Kept != "" {
			kept = append(kept, f.Kept)
		}
	}
	return wrote, removed, kept
}

// endRollback puts back the files of a rollback that a crash cut off. Its note names them.
func endRollback(o Options) error {
	w := fileChange{config: o.ConfigFile}
	text, err := regular.ReadSmall(w.note())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w.files)
	}
	if err == nil {
		err = w.undo()
	}
	if err != nil {
		return fmt.Errorf("a rollback of the config was cut off, and %s says which files it changed; put back what they were, which lies beside them, and remove it: %w", w.note(), err)
	}
	o.Log.Warn("a rollback of the config was cut off; the files are what they were before it", zap.String("config", o.ConfigFile))
	return nil
}
