package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A Kept is a config as Redacted keeps it with what it planned: the rules of its triggers and jobs, without what calls
// the outside. It is never changed.
type Kept struct {
	Version  string
	Rules    map[string]triggers.Rule // with what they take from the defaults, as far as they can be read
	Jobs     map[string]*scheduler.Compiled
	Due      *duerules.Rules
	Accounts []string // "" is that of the section api
}

// brakeKeys are the keys of an entry that hold back what it planned. An entry of which one of them cannot be read is left
// out of Due and Jobs: a rule that cannot be read is no permission.
var brakeKeys = []string{"quiet_hours", "limit", "consent", "rate", "category", "timezone", "canary", "exclude", "guard", "expires", "max_size", "at"}

// Keep reads a config as Redacted printed it. env is as for Load, and folder is where its relative paths start.
func Keep(version, text string, env secret.Lookup, folder string) *Kept {
	var in struct {
		Defaults Defaults `yaml:"defaults"`
		part     `yaml:",inline"`
		Accounts yamlpos.Ordered[any] `yaml:"accounts"`
	}
	doc, _ := yamlpos.Options{
		Expand: func(text string) (string, error) { return secret.Expand(text, env, folder) },
		Large:  true,
	}.Decode("", []byte(text), &in)
	faults := doc.Problems().Faults()
	whole := func(at string) bool {
		return !slices.ContainsFunc(faults, func(p yamlpos.Problem) bool {
			return p.Path == at || slices.ContainsFunc(brakeKeys, func(key string) bool { return within(p.Path, yamlpos.Join(at, key)) })
		})
	}
	zone, err := time.LoadLocation(in.Defaults.Timezone)
	if err != nil {
		zone = time.UTC
	}
	k := &Kept{Version: version, Rules: in.Defaults.rules(doc, in.Triggers), Jobs: map[string]*scheduler.Compiled{}, Due: duerules.New(zone, duerules.Account{}), Accounts: []string{""}}
	for _, e := range in.Accounts {
		k.Accounts = append(k.Accounts, e.Key)
	}
	for name, rule := range k.Rules {
		if days, read := holidaysAt(folder, rule.QuietHours.Holidays); read && whole(yamlpos.Join("triggers", name)) {
			k.Due.Trigger(name, rule.Keys, days)
			k.Due.Rate(name, rule.Rate)
		}
	}
	for _, e := range in.Jobs {
		e.Value.Name = e.Key
		at := yamlpos.Join("jobs", e.Key)
		in.Defaults.fillKeys(&e.Value.Keys, func(key string) bool { return doc.Node(yamlpos.Join(at, key)) != nil })
		days, read := holidaysAt(folder, e.Value.QuietHours.Holidays)
		if !read || !whole(at) {
			continue
		}
		k.Due.Job(e.Key, e.Value.Keys, days)
		unread := ""
		if i := slices.IndexFunc(faults, func(p yamlpos.Problem) bool { return within(p.Path, at) }); i >= 0 {
			unread = faults[i].Path + ": " + faults[i].Msg
		} else if n := doc.Node(at + ".source"); n != nil && starred(n) {
			unread = "a secret is written in source of " + e.Key + ", and such are not kept"
		}
		k.Jobs[e.Key] = scheduler.Kept(e.Value, scheduler.Env{
			Version: version, Folder: folder, Timezone: in.Defaults.Timezone, Country: in.Defaults.Country, Language: in.Defaults.Language,
			Category: in.Defaults.Category, Priced: true, TextAllowed: true, ReadKnown: true,
		}, unread)
	}
	return k
}

// starred reports whether something in a printed value was starred out.
func starred(n *yamlpos.Node) bool {
	if n.Kind() == yamlpos.Scalar {
		return strings.Contains(n.Text(), "[secret]") || strings.Contains(n.Text(), "***")
	}
	for _, f := range n.Fields() {
		if starred(f.Value) {
			return true
		}
	}
	return slices.ContainsFunc(n.Items(), starred)
}

// holidaysAt are the days of a file, which are not kept with a config. read is false where it cannot be read as it is now.
func holidaysAt(folder, path string) (days hours.Holidays, read bool) {
	if path == "" {
		return days, true
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	ctx, done := regular.Bounded()
	defer done()
	f, err := regular.Open(ctx, path)
	if err != nil {
		return days, false
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost by a bad close
	days, faults := hours.ReadHolidays(f)
	return days, len(faults) == 0
}
