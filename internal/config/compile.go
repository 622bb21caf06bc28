package config

import (
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// compile makes receivers and rules of the file's connectors and triggers, and puts the
// problems that the rooms find where they stand in the file.
func (c *Config) compile(k *checker) {
	c.Receivers = map[string]*connectors.Connector{}
	k.known = slices.DeleteFunc(k.doc.Problems().Faults(), func(p yamlpos.Problem) bool {
		return p.Code == yamlpos.DuplicateKey // what stands there first was read whole
	})
	c.compileAccounts(k)
	infos := map[string]triggers.ConnectorInfo{}
	for i := range c.in.Connectors {
		e := &c.in.Connectors[i]
		at := yamlpos.Join("connectors", e.Key)
		k.name(at, "a connector", e.Key)
		c.accountOf(k, at+".account", e.Value.Account)
		r, problems := connectors.Compile(e.Key, e.Value, connectors.Options{
			PublicURL: c.Server.PublicURL, Country: c.Defaults.Country, Language: c.Defaults.Language,
			Timezone: c.Defaults.Timezone, MaxBody: c.Server.MaxBody.Bytes(),
		})
		for _, p := range problems {
			k.found(yamlpos.Problem{Path: below(at, p.Path), Msg: p.Msg, Hint: p.Hint, Warning: p.Warning, Code: p.Code}, p.Offset)
		}
		// One that did not compile is there all the same: triggers that listen to it are not
		// at fault.
		account := messaging.AccountKey(e.Value.Account)
		infos[e.Key] = triggers.ConnectorInfo{Account: account}
		if r != nil {
			c.Receivers[e.Key] = r
			info := triggers.ConnectorInfo{Topics: r.Topics(), Meant: r.Meant, Account: account}
			if !r.Open() {
				info.Kinds = r.Kinds()
			}
			infos[e.Key] = info
		}
	}
	c.compileTriggers(k, infos)
	c.testNumbers(k)
	c.declareTemplates(k)
	c.compileJobs(k, infos)
	c.holdToTemplates(k)
	c.checkRenames(k)
	c.compileDue(k)
	c.compileAlerts(k)
	c.compileOutgoing(k)
}

func (c *Config) compileTriggers(k *checker, infos map[string]triggers.ConnectorInfo) {
	rules := make([]triggers.Rule, len(c.in.Triggers))
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		at := yamlpos.Join("triggers", e.Key)
		k.name(at, "a trigger", e.Key)
		c.accountOf(k, at+".account", e.Value.Account)
		e.Value.Name = e.Key
		c.Defaults.fill(&e.Value, func(key string) bool { return k.doc.Node(yamlpos.Join(at, key)) != nil })
		rules[i] = e.Value
		if (len(c.in.Connectors) == 0 || k.doc.Node("include") != nil) && k.topLevelFault() {
			// The section is there under a name that was not understood, or in a file that was not read.
			for _, ref := range slices.Concat(e.Value.On, triggers.Events(e.Value.CancelOn), triggers.Events(e.Value.StopOn)) {
				connector, _, _ := strings.Cut(ref, ".")
				infos[connector] = triggers.ConnectorInfo{}
			}
		}
	}
	set, problems := triggers.Compile(rules, triggers.Env{
		Version: c.Version, Connectors: infos, Language: c.Defaults.Language, Timezone: c.Defaults.Timezone,
		Category: c.Defaults.Category, TextAllowed: c.API.TextPath != "", Texts: c.have(func(a API) bool { return a.TextPath != "" }),
	})
	for _, p := range problems {
		at := p.Path
		if p.Trigger != "" {
			at = below(yamlpos.Join("triggers", p.Trigger), p.Path)
		}
		k.found(yamlpos.Problem{Path: at, Msg: p.Msg, Hint: p.Hint, Warning: p.Warning}, p.Offset)
	}
	c.Triggers = set
}

// fill gives a rule what it does not say itself; written reports whether it says a key.
func (d *Defaults) fill(r *triggers.Rule, written func(key string) bool) {
	if !written("category") {
		r.Category = d.Category
	}
	if !written("on_repeat") {
		r.OnRepeat = d.OnRepeat
	}
	if !written("cooldown") {
		r.Cooldown = d.Cooldown
	}
	// A login code must not be late because reminders may be.
	if !written("expires") && !r.Category.ResendsInDoubt() {
		r.Expires = d.Expires
	}
	if !written("max_age") {
		r.MaxAge = d.MaxAge
	}
	if !written("remember_cancel") {
		r.RememberCancel = d.RememberCancel
	}
	if !written("mode") {
		r.Mode = d.Mode
	}
	if !written("on_change") {
		r.OnChange = d.OnChange
	}
	d.fillKeys(&r.Keys, written)
}

// below is the path of something within at.
func below(at, path string) string {
	if path == "" || strings.HasPrefix(path, "[") {
		return at + path
	}
	return at + "." + path
}

// found passes on what a room says about the value at path, unless something is known to be
// wrong with that value, with a part of it or with what it is in: then the room saw only the
// half that could be read, and what it says about it would lead astray.
func (k *checker) found(p yamlpos.Problem, offset int) {
	own := entry(p.Path)
	for _, known := range k.known {
		if within(p.Path, known.Path) || within(known.Path, p.Path) {
			return
		}
		// Advice about a connector or trigger waits until all of it could be read.
		if p.Warning && own != "" && within(known.Path, own) {
			return
		}
		// A secret that stands deeper in the entry, and could not be read, is not missing.
		if own != "" && p.Path == own+".secret" && within(known.Path, own) && strings.Contains(known.Path, ".secret") {
			return
		}
	}
	if n := k.doc.Node(p.Path); n != nil && !n.Usable() {
		return
	}
	k.doc.Add(p, offset)
}

// within reports whether path is at or below outer.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// entry is the connector, trigger or job that path is in: "triggers.remind" for
// "triggers.remind.if[0]"; "" for a path outside of them.
func entry(path string) string {
	section := strings.IndexAny(path, ".[")
	if section < 0 || (path[:section] != "triggers" && path[:section] != "connectors" && path[:section] != "jobs") {
		return ""
	}
	rest := path[section+1:]
	if path[section] == '[' { // a name that needed quotes
		if end := strings.Index(rest, `"]`); end >= 0 {
			return path[:section+1+end+2]
		}
		return path
	}
	if end := strings.IndexAny(rest, ".["); end >= 0 {
		return path[:section+1+end]
	}
	return path
}

// topLevelFault reports whether a section or an included file as a whole could not be read.
func (k *checker) topLevelFault() bool {
	for _, p := range k.known {
		if !strings.ContainsAny(p.Path, ".[") || within(p.Path, "include") {
			return true
		}
	}
	return false
}
