package app

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
)

// lookAtDisk is how often the space that is left is asked for.
const lookAtDisk = 5 * time.Second

// diskShort reports whether the disk of a folder is nearly full. Where that is not known it is not.
func diskShort(folder string) func() bool {
	var mu sync.Mutex
	var looked time.Time
	short := false
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(looked) >= lookAtDisk {
			v := spaceAt(folder)
			looked, short = now, v != nil && v.Short()
		}
		return short
	}
}

// spaceAt is the space on the disk of a folder, nil where the system does not say.
func spaceAt(folder string) *server.DiskView {
	free, all, err := disk.Space(folder)
	if err != nil {
		return nil
	}
	return &server.DiskView{Folder: folder, Free: free, All: all}
}

// space is that of the data, for status. a.mu is held.
func (a *App) space() *server.DiskView {
	v := spaceAt(filepath.Dir(store.Path(a.began.Storage)))
	switch {
	case v == nil || !v.Short():
		a.shortSince = time.Time{}
	case a.shortSince.IsZero():
		a.shortSince = time.Now()
	}
	if v != nil && !a.shortSince.IsZero() {
		v.Since = a.shortSince.UTC()
	}
	return v
}
