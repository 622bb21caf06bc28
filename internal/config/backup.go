package config

import (
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Backup says which backups the daemon makes by itself.
type Backup struct {
	Every units.Duration `yaml:"every" validate:"min=15m,max=90d" default:"24h" doc:"From one backup to the next. One that was made by hand counts, too."`
	To    string         `yaml:"to" example:"/backups" doc:"The folder that backups are written to; the daemon makes it. Without it none are made. Put it on another disk than the data, and see docs/backup.md: they are not encrypted."`
	Keep  int            `yaml:"keep" validate:"min=1,max=10000" default:"7" doc:"How many of its own backups stay in the folder: the newest."`
}

// Plan is the section as package backup wants it.
func (b *Backup) Plan() backup.Plan {
	return backup.Plan{To: b.To, Every: b.Every.D(), Keep: b.Keep}
}

func (k *checker) backup(b *Backup, folder string, onServer bool) {
	key := ""
	switch { // what "config print" writes has the defaults
	case b.Every.D() != 24*time.Hour:
		key = "backup.every"
	case b.Keep != 7:
		key = "backup.keep"
	}
	if b.To == "" && k.doc.Node("backup.to") == nil && key != "" && k.written(key) {
		k.bad(key, "says nothing without backup.to", "name the folder that backups are written to")
	}
	if b.To != "" && onServer {
		k.bad("backup.to", "is for SQLite: a PostgreSQL database is backed up by its own tools", "remove it, and set up pg_basebackup or pg_dump as docs/cluster.md shows")
	}
	if b.To != "" && !filepath.IsAbs(b.To) {
		b.To = filepath.Join(folder, b.To)
	}
}
