package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
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

// A ReloadRequest asks for the config files to be taken up.
type ReloadRequest struct {
	Version string `json:"version,omitempty"` // that they have to be; "" is whatever they are
}

// A NotPlannedError says that config files are not the config that was planned.
type NotPlannedError struct{ Planned, Is string }

func (e *NotPlannedError) Error() string {
	return "the config files were changed since: they are config " + e.Is + ", and config " + e.Planned + " was planned"
}

// maxPrinted bounds a config as it is printed, which may be of several files.
const maxPrinted = 64 << 20

// A PlanRequest asks what taking up a config would change; without any of them, the daemon's files as they are now.
type PlanRequest struct {
	Config  string `json:"config,omitempty"`  // one, as it is printed
	Version string `json:"version,omitempty"` // one that was used before
}

// A ConfigPlan is what taking up a config would change.
type ConfigPlan struct {
	Running string               `json:"running" kind:"ours"`           // version in use
	Version string               `json:"version,omitempty" kind:"ours"` // version planned; "" of one that was given as it is printed
	Edits   []ConfigEdit         `json:"edits"`
	Waiting []preview.RuleChange `json:"waiting"` // what becomes of what waits
}

// A ConfigEdit is one value that two configs do not have alike.
type ConfigEdit struct {
	Path  string `json:"path" kind:"ours"`            // "triggers.cart.wait"; of an entry that only one has, that of the entry
	Was   string `json:"was,omitempty" kind:"text"`   // as YAML in one line; "" where it was not there
	Is    string `json:"is,omitempty" kind:"text"`    // "" where it is not there any more
	Means string `json:"means,omitempty" kind:"text"` // of a trigger, what it is now in a sentence
}

// longestValue bounds a value in Words, in characters.
const longestValue = 100

// Words are the edit for people: "triggers.cart.wait: 2h, was 45m".
func (e ConfigEdit) Words() string {
	short := func(text string) string { return plain.Crop(text, longestValue) }
	switch {
	case e.Was == "":
		return e.Path + ": new, " + short(e.Is)
	case e.Is == "":
		return e.Path + ": gone, was " + short(e.Was)
	}
	return e.Path + ": " + short(e.Is) + ", was " + short(e.Was)
}

func (a admin) plan(ctx context.Context, in PlanRequest) (ConfigPlan, error) {
	if in.Config != "" && in.Version != "" {
		return ConfigPlan{}, refusal.Fieldf("version", "name one of them", "both config and version say what is planned")
	}
	p, err := a.Daemon.Plan(ctx, in)
	if no := versionRefusal(err, in.Version); no != nil {
		return p, no
	}
	if err != nil {
		return p, refusal.Newf(http.StatusUnprocessableEntity, "a reload would change nothing", "%v", err)
	}
	if p.Edits == nil {
		p.Edits = []ConfigEdit{}
	}
	if p.Waiting == nil {
		p.Waiting = []preview.RuleChange{}
	}
	return p, nil
}

// A RollbackRequest asks for an earlier config.
type RollbackRequest struct {
	Version string `json:"version" validate:"required"`
}

// A RollbackView is the daemon after a rollback, and the files that were changed.
type RollbackView struct {
	Daemon  DaemonView `json:"daemon"`
	Wrote   []string   `json:"wrote" kind:"ours"`
	Removed []string   `json:"removed,omitempty" kind:"ours"` // that the earlier config did not have
	Kept    []string   `json:"kept" kind:"ours"`              // what the files were before, beside them
}

// A RollbackError says why an earlier config cannot be had again; nothing was changed.
type RollbackError struct{ Words, Next string }

func (e *RollbackError) Error() string { return e.Words }

func (a admin) rollBack(ctx context.Context, in RollbackRequest) (RollbackView, error) {
	v, changes, err := a.Daemon.Rollback(ctx, in.Version)
	if no := versionRefusal(err, in.Version); no != nil {
		return RollbackView{}, no
	}
	if err != nil {
		return RollbackView{}, refusal.Newf(http.StatusUnprocessableEntity, "nothing was changed", "%v", err)
	}
	v.Daemon, err = a.reloaded(ctx, changes)
	return v, err
}

// versionRefusal is an error of an earlier version for who asks; nil for any other.
func versionRefusal(err error, version string) error {
	if errors.Is(err, messaging.ErrNotFound) {
		return refusal.Newf(http.StatusNotFound, `"nudgewire config history" lists those that are`, "no files of a config %s are kept", version)
	}
	if no, is := errors.AsType[*RollbackError](err); is {
		return refusal.Newf(http.StatusUnprocessableEntity, no.Next, "%s", no.Words)
	}
	return nil
}

// A ConfigVersionView is a config that was used, as it was written.
type ConfigVersionView struct {
	Version string           `json:"version" kind:"ours"`
	Files   []ConfigFileView `json:"files"` // the config's own first; <secret-…> stands for a secret
}

func (a admin) configVersion(ctx context.Context, version string) (ConfigVersionView, error) {
	files, err := history.Records{Store: a.Store}.ConfigFiles(ctx, version)
	if no := versionRefusal(err, version); no != nil {
		return ConfigVersionView{}, no
	}
	v := ConfigVersionView{Version: version, Files: []ConfigFileView{}}
	for _, f := range files {
		v.Files = append(v.Files, ConfigFileView{f.Name, strings.Split(f.Text, "\n")})
	}
	return v, err
}

// A ConfigTakenView is a config that was taken up.
type ConfigTakenView struct {
	ID      int64        `json:"id"` // of its entry in the audit
	At      time.Time    `json:"at"`
	Version string       `json:"version" kind:"ours"`
	How     string       `json:"how" kind:"ours"` // start, reload or rollback
	Who     string       `json:"who" kind:"text"`
	Via     string       `json:"via" kind:"ours"`
	Detail  string       `json:"detail,omitempty" kind:"text"`
	Edits   []ConfigEdit `json:"edits,omitempty"` // against the one that was taken up before
}

func (a admin) configVersions(ctx context.Context, q AuditQuery) ([]ConfigTakenView, error) {
	list, _, err := a.listOf(ListQuery{Before: q.Before, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	// One more says what the oldest of them changed.
	all, err := audit.Records{Store: a.Store}.Entries(ctx, audit.Search{Before: list.Before, Limit: list.Limit + 1, Taken: true})
	texts, out := map[string]string{}, make([]ConfigTakenView, 0, len(all))
	for i := range all {
		e := &all[i]
		one := ConfigTakenView{ID: e.ID, At: e.At.UTC(), Version: strings.TrimPrefix(e.Subject, "config "), How: e.Action, Who: e.Who, Via: e.Via, Detail: e.Detail}
		if _, read := texts[one.Version]; !read && err == nil {
			if texts[one.Version], err = (history.Records{Store: a.Store}).Config(ctx, one.Version); errors.Is(err, messaging.ErrNotFound) {
				err = nil
			}
		}
		out = append(out, one)
	}
	for i := range out[:max(len(out)-1, 0)] {
		before := out[i+1].Version
		if before != out[i].Version && a.Edits != nil && texts[before] != "" && texts[out[i].Version] != "" {
			out[i].Edits = a.Edits(texts[before], texts[out[i].Version])
		}
	}
	return out[:min(len(out), list.Limit)], err
}
