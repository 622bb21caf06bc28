package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// keptConfigs are the earlier configs that something open was planned by and whose names today's does not have. Each is read
// from the data when it is asked for first; the next reload asks anew, because files that a config names may have changed.
type keptConfigs struct {
	app    *App
	folder string // where relative paths of the config start

	mu      sync.Mutex
	all     map[string]*config.Kept // by version; nil for one that the data does not have
	renames []store.Rename          // that were known when they were read: what another node renames stands in them, too
}

// readKept is how long a read of a kept config may take: claims wait for it.
const readKept = 10 * time.Second

// of is an earlier config; nil for one that is not known, or cannot be read at present.
func (k *keptConfigs) of(version string) *config.Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.app.store.Renames(); !slices.EqualFunc(now, k.renames, store.Rename.Same) {
		k.renames, k.all = now, nil
	}
	if found, known := k.all[version]; known {
		return found
	}
	ctx, stop := context.WithTimeout(context.Background(), readKept)
	defer stop()
	text, err := k.app.configText(ctx, version)
	if err != nil && !errors.Is(err, messaging.ErrNotFound) {
		k.app.log.Warn("read an earlier config", zap.String("config", version), zap.Error(err))
		return nil
	}
	if k.all == nil {
		k.all = map[string]*config.Kept{}
	}
	if k.all[version] = nil; err == nil {
		k.all[version] = config.Keep(version, text, k.app.opt.Env, k.folder)
	} else {
		k.app.log.Error("a config that planned something open is not kept: nothing that it planned is sent", zap.String("config", version))
	}
	return k.all[version]
}
