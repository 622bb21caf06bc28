package config

import (
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// compileOutgoing makes the plan of the section webhooks_out.
func (c *Config) compileOutgoing(k *checker) {
	plan, problems := outbox.Compile(c.in.Outgoing)
	for _, p := range problems {
		if c.StandIns() > 0 && k.standInWithin(p.Path) {
			continue
		}
		k.found(yamlpos.Problem{Path: p.Path, Msg: p.Msg, Hint: p.Hint, Warning: p.Warning}, 0)
	}
	c.Outgoing = plan
}

// standInWithin reports whether the value at path, or the url of the entry there, is not the real one.
func (k *checker) standInWithin(path string) bool {
	return k.standIn(path) || k.standIn(yamlpos.Join(path, "url")) && k.doc.Node(yamlpos.Join(path, "name")) == nil
}
