package app

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A diskGuard watches the space on the data's disk. From server.least_free on, marketing waits and webhooks of connectors that
// verify nothing are turned away, so that what was proven and what somebody waits for has the rest. It goes back by itself
// once there is a quarter more than that: a space that moves about the mark would switch it on and off.
type diskGuard struct {
	folder string
	ask    func(path string) (free, all uint64, err error)
	now    func() time.Time
	least  atomic.Uint64 // bytes; of the present config

	mu     sync.Mutex
	looked time.Time
	known  bool // the system says how much there is
	view   server.DiskView
}

// lookAtDisk is how often the space that is left is asked for.
const lookAtDisk = 5 * time.Second

func newDiskGuard(folder string, ask func(string) (uint64, uint64, error)) *diskGuard {
	if ask == nil {
		ask = disk.Space
	}
	return &diskGuard{folder: folder, ask: ask, now: time.Now}
}

// space is the space as it was within the last seconds; nil where the system does not say.
func (g *diskGuard) space() *server.DiskView {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, least := g.now(), g.least.Load()
	if now.Sub(g.looked) >= lookAtDisk || least != g.view.Least {
		free, all, err := g.ask(g.folder)
		g.looked, g.known = now, err == nil
		since := g.view.Since
		held := g.known && (free < least || !since.IsZero() && free < least+least/4)
		switch {
		case !held:
			since = time.Time{}
		case since.IsZero():
			since = now.UTC()
		}
		g.view = server.DiskView{Folder: g.folder, Free: free, All: all, Least: least, Held: held, Since: since}
	}
	if !g.known {
		return nil
	}
	v := g.view
	return &v
}

// short reports whether space is kept for what matters more.
func (g *diskGuard) short() bool {
	v := g.space()
	return v != nil && v.Held
}

// holds is until when marketing waits at the least; zero while it need not.
func (g *diskGuard) holds() (until time.Time) {
	if !g.short() {
		return time.Time{}
	}
	return g.now().Add(lookAtDisk)
}

// logShortage writes a line when it begins and when it ends; told is what was told last.
func (g *diskGuard) logShortage(log *zap.Logger, told bool) bool {
	v := g.space()
	if v == nil || v.Held == told {
		return told
	}
	if v.Held {
		log.Error("the disk is short", zap.String("words", v.Words()), zap.String("hint", server.DiskHint))
	} else {
		log.Info("the disk has room again; marketing goes on, and all webhooks are taken", zap.String("words", v.Words()))
	}
	return v.Held
}
