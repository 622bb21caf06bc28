package config

import (
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// compileJobs makes scheduled campaigns of the file's jobs. They come after the triggers,
// whose names they must not share: a message says by one name what caused it.
func (c *Config) compileJobs(k *checker, connectors map[string]triggers.ConnectorInfo) {
	jobs := make([]scheduler.Job, len(c.in.Jobs))
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		at := yamlpos.Join("jobs", e.Key)
		k.name(at, "a job", e.Key)
		c.accountOf(k, at+".account", e.Value.Account)
		if _, twice := c.in.Triggers.Get(e.Key); twice {
			k.doc.ReportKey(at, fmt.Sprintf("%q is a trigger's name, too", e.Key), "give the job another name: messages say by it what caused them", false)
		}
		e.Value.Name = e.Key
		c.Defaults.fillKeys(&e.Value.Keys, func(key string) bool { return k.doc.Node(yamlpos.Join(at, key)) != nil })
		jobs[i] = e.Value
	}
	all, problems := scheduler.Compile(jobs, scheduler.Env{
		Version: c.Version, Folder: c.folder, Timezone: c.Defaults.Timezone, Country: c.Defaults.Country, Language: c.Defaults.Language,
		Category: c.Defaults.Category, Priced: c.API.Price != nil, TextAllowed: c.API.TextPath != "", ReadKnown: c.Tracking.FinalStatus == messaging.StatusRead,
		Connectors: connectors, Templates: c.Templates, Prices: c.have(func(a API) bool { return a.Price != nil }), Texts: c.have(func(a API) bool { return a.TextPath != "" }),
	})
	for _, p := range problems {
		if p.Path == "defaults.timezone" {
			continue // it was told where it stands
		}
		k.found(yamlpos.Problem{Path: below(yamlpos.Join("jobs", p.Job), p.Path), Msg: p.Msg, Hint: p.Hint, Warning: p.Warning}, p.Offset)
	}
	c.Jobs = all
}
