package config

import (
	"strings"
	"testing"
)

// An old name belongs to one trigger or job that has it no more; one that nothing is known of is fine.
func TestAnOldNameBelongsToOne(t *testing.T) {
	t.Parallel()
	const head = "connectors:\n  shop: {preset: generic, verify: {kind: none}}\n"
	for _, c := range []struct{ name, triggers, says string }{
		{"nothing is known of it", "a: {was: z, %}", ""},
		{"it is there", "a: {was: b, %}, b: {%}", `triggers.a.was: the trigger "b" is in the config, so "a" cannot have been it`},
		{"its own", "a: {was: a, %}", `triggers.a.was: "a" is its own name`},
		{"two had it", "a: {was: z, %}, b: {was: z, %}", `triggers.b.was: "a" says that it was "z", too`},
		{"a chain", "a: {was: b, %}, b: {was: z, %}", `triggers.a.was: the trigger "b" is in the config`},
	} {
		text := head + "triggers: {" + strings.ReplaceAll(c.triggers, "%", "on: shop.order.created, send: {template: t}") + "}\n"
		cfg, problems := Parse("config.yaml", []byte(text), nil)
		var said []string
		for _, p := range problems {
			if strings.Contains(p.Path, ".was") {
				said = append(said, p.Error())
			}
		}
		if got := strings.Join(said, "\n"); !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.says == "" && (len(cfg.Renames) != 1 || cfg.Renames[0].Was != "z" || cfg.Renames[0].Name != "a") {
			t.Errorf("%s: %+v", c.name, cfg.Renames)
		}
	}
}
