package app

import (
	"path/filepath"

	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/store"
)

// FilesOf are the files of runs over the data that a store has open: new ones where the config says, and those of old runs
// wherever they lie. cfg is nil where there is none. Its Bucket, if there is one, is closed at the end.
func FilesOf(cfg *config.Config, dsn string, st *store.Store) (*files.Places, error) {
	path := store.Path(dsn)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	beside := filepath.Join(filepath.Dir(path), "runs")
	folder, database := files.InFolder(beside), files.InDatabase(st)
	p := &files.Places{Store: folder, Folder: folder, Database: database}
	switch {
	case cfg == nil:
	case cfg.Files.S3 != nil:
		bucket, err := files.InBucket(cfg.Files.S3)
		if err != nil {
			return nil, err
		}
		p.Bucket, p.Store = bucket, bucket
	case cfg.Files.In == config.InDatabase:
		p.Store = database
	case cfg.Files.In != "":
		folder = files.InFolder(cfg.Files.In, beside)
		p.Store, p.Folder = folder, folder
	}
	return p, nil
}
