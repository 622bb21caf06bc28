package config

import (
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// compileAlerts makes the plan of the sections alerts and mail.
func (c *Config) compileAlerts(k *checker) {
	plan, problems := alerts.Compile(c.in.Alerts, c.in.Mail)
	for _, p := range problems {
		if c.StandIns() > 0 && (p.Warning || k.standIn(p.Path)) { // all addresses are the same then
			continue
		}
		k.found(yamlpos.Problem{Path: p.Path, Msg: p.Msg, Hint: p.Hint, Warning: p.Warning}, 0)
	}
	c.Alerts = plan
}

// standIn reports whether the value at path is not the real one.
func (k *checker) standIn(path string) bool {
	n := k.doc.Node(path)
	return n != nil && IsStandIn(n.Text())
}

// lintAlerts warns of conditions that never come.
func (c *Config) lintAlerts(k *checker) {
	silence := slices.ContainsFunc(c.in.Connectors, func(e yamlpos.Entry[connectors.Config]) bool { return e.Value.SilentAfter > 0 })
	for i, e := range c.in.Alerts {
		for j, w := range e.When {
			if w.Code == messaging.TroubleSilent && !silence {
				k.lint("alert-never-told", fmt.Sprintf("alerts[%d].when[%d]", i, j), "no connector has silent_after, so none is ever called silent", "write silent_after: 24h under a connector")
			}
		}
	}
}
