package app

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// configView is the config in use as it was read, and what a reload would read. The files are read without secrets first, so that whoever looks
// at a page has none fetched; only where they are another config it is checked whole, and that answer is kept while they stay as they are.
func (a *App) configView(ctx context.Context) (server.ConfigView, error) {
	a.mu.Lock()
	cfg, v := a.cfg, server.ConfigView{Program: a.opt.Version, LoadedAt: a.loadedAt.UTC(), LoadError: a.loadError, NeedsRestart: a.restart}
	if v.LoadError != "" {
		at := a.loadErrorAt.UTC()
		v.LoadErrorAt = at
	}
	a.mu.Unlock()
	v.Version, v.Files = cfg.Version, server.FilesOf(cfg.Sources())
	now, problems := config.LoadWithoutSecrets(a.opt.ConfigFile, func(string) (string, bool) { return "", false })
	if now != nil && now.Version == cfg.Version {
		return v, nil
	}
	disk := a.diskConfig(now, problems)
	if disk.Usable && disk.cfg != nil {
		changes, err := a.waitingChanges(ctx, "", disk.cfg.Redacted())
		if err != nil {
			return v, err
		}
		disk.Changes = changes
	}
	v.Disk = &disk.DiskConfigView
	return v, nil
}

// A diskConfig is a config as it was found in the files, and checked.
type diskConfig struct {
	server.DiskConfigView
	cfg *config.Config // nil where there is no file
	at  time.Time
}

// checkedFor is how long a check of the files is good: what they refer to may change, too.
const checkedFor = 15 * time.Second

// diskConfig checks the files. now is what they are without secrets; nil with its problems where there is no file to read.
func (a *App) diskConfig(now *config.Config, problems yamlpos.Problems) diskConfig {
	if now == nil {
		return diskConfig{DiskConfigView: server.DiskConfigView{Files: []server.ConfigFileView{}, Problems: problems}}
	}
	a.checking.Lock()
	defer a.checking.Unlock()
	if a.checked != nil && a.checked.Version == now.Version && time.Since(a.checked.at) < checkedFor {
		return *a.checked
	}
	cfg, problems := config.Load(a.opt.ConfigFile, a.opt.Env)
	if cfg == nil { // it went away meanwhile
		return diskConfig{DiskConfigView: server.DiskConfigView{Files: []server.ConfigFileView{}, Problems: problems}}
	}
	if problems == nil {
		problems = yamlpos.Problems{}
	}
	a.checked = &diskConfig{cfg: cfg, at: time.Now(), DiskConfigView: server.DiskConfigView{
		Version: cfg.Version, Files: server.FilesOf(cfg.Sources()), Problems: problems, Usable: problems.Errors() == 0,
	}}
	return *a.checked
}
