package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A Config is a config that decided, without its secrets.
type Config struct {
	Version string // that decisions and messages name
	Text    string // as it is printed, with all defaults
	Files   []ConfigFile
}

// A ConfigFile is one file of a config as it was written, with marks in place of secrets.
type ConfigFile struct {
	Name string // from the folder of the config, with /; the first one is the config itself
	Text string
}

var (
	saveConfigSQL = engine.SQL(`INSERT INTO configs (version, text, at) VALUES (?1, ?2, ?3)
		ON CONFLICT (version) DO UPDATE SET text = excluded.text, at = excluded.at`)
	saveConfigFileSQL = engine.SQL(`INSERT INTO config_files (version, number, name, text) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (version, number) DO UPDATE SET name = excluded.name, text = excluded.text`)
)

// SaveConfig keeps a config. Saving a version again renews its time.
func (s Records) SaveConfig(ctx context.Context, c *Config, at time.Time) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		err := t.Put(saveConfigSQL, c.Version, c.Text, engine.Micro(at))
		for i, f := range c.Files {
			if err == nil {
				err = t.Put(saveConfigFileSQL, c.Version, int64(i), f.Name, f.Text)
			}
		}
		return err
	})
	return store.Wrap(err, "save config %s", c.Version)
}

// Config is a config that was used, as it was printed; ErrNotFound where none of that version is kept.
func (s Records) Config(ctx context.Context, version string) (text string, err error) {
	err = messaging.ErrNotFound
	read := s.Rows(ctx, `SELECT text FROM configs WHERE version = ?1`, []any{version}, func(r *engine.Row) error { text, err = r.Text(), nil; return r.Err })
	if read != nil {
		err = read
	}
	return text, store.Wrap(err, "config %s", version)
}

// ConfigFiles are the files of a config that was used; ErrNotFound where none of that version is kept.
func (s Records) ConfigFiles(ctx context.Context, version string) ([]ConfigFile, error) {
	all, err := store.List(ctx, s.Store, `SELECT name, text FROM config_files WHERE version = ?1 ORDER BY number`, []any{version},
		func(r *engine.Row) (ConfigFile, error) { return ConfigFile{r.Text(), r.Text()}, r.Err })
	if err == nil && len(all) == 0 {
		err = messaging.ErrNotFound
	}
	return all, store.Wrap(err, "files of config %s", version)
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// Configs calls each with the configs that were ever used, the newest first, until it says that
// it has enough.
func (s Records) Configs(ctx context.Context, each func(version, text string) (enough bool)) error {
	err := s.Rows(ctx, `SELECT version, text FROM configs ORDER BY at DESC`, nil, func(r *engine.Row) error {
		if each(r.Text(), r.Text()) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read earlier configs: %w", err)
	}
	return nil
}
