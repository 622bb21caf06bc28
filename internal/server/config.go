package server

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A ConfigView is the config in use as it was written, and what became of its files since. Secrets are starred out.
type ConfigView struct {
	Version      string           `json:"version" kind:"ours"`
	LoadedAt     time.Time        `json:"loaded_at"`
	Program      string           `json:"program" kind:"ours"`         // its version
	Files        []ConfigFileView `json:"files"`                       // as they were read: the config's own first, then those that it includes
	Disk         *DiskConfigView  `json:"disk,omitempty"`              // the files as they are now; absent where they are what was read
	LoadError    string           `json:"error,omitempty" kind:"text"` // of the last reload, where it was rejected
	LoadErrorAt  time.Time        `json:"error_at,omitzero"`
	NeedsRestart []string         `json:"needs_restart,omitempty" kind:"ours"`
}

// A ConfigFileView is one file of a config.
type ConfigFileView struct {
	Name  string   `json:"name" kind:"ours"`
	Lines []string `json:"lines" kind:"text"`
}

// A DiskConfigView is what a reload would read.
type DiskConfigView struct {
	Version  string               `json:"version,omitempty" kind:"ours"` // "" where there is no file to read
	Files    []ConfigFileView     `json:"files"`
	Problems yamlpos.Problems     `json:"problems"`          // as check says them
	Usable   bool                 `json:"usable"`            // none of them is more than a warning
	Changes  []preview.RuleChange `json:"changes,omitempty"` // what a reload would do to what waits
}

// FilesOf are the files of a config for a view.
func FilesOf(sources []yamlpos.Source) []ConfigFileView {
	out := make([]ConfigFileView, 0, len(sources))
	for _, s := range sources {
		out = append(out, ConfigFileView{s.File, s.Lines})
	}
	return out
}

func (a admin) config(ctx context.Context, _ None) (ConfigView, error) { return a.Config(ctx) }
