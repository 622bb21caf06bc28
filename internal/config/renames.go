package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// checkRenames checks the keys "was" of triggers and jobs. An old name belongs to one only, and to none that is there.
func (c *Config) checkRenames(k *checker) {
	section := func(section, about, what string, names []string, was func(i int) string) {
		taken, there := map[string]string{}, map[string]bool{}
		for _, name := range names {
			there[name] = true
		}
		for i, name := range names {
			old, at := was(i), yamlpos.Join(section, name)+".was"
			switch {
			case old == "":
				continue
			case old == name:
				k.found(yamlpos.Problem{Path: at, Msg: fmt.Sprintf("%q is its own name", old), Hint: "write the name that it had before, or take the key away"}, 0)
			case there[old]:
				k.found(yamlpos.Problem{
					Path: at, Msg: fmt.Sprintf("%s %q is in the config, so %q cannot have been it", what, old, name),
					Hint: "take the key away, or give one of the two another name",
				}, 0)
			case taken[old] != "":
				k.found(yamlpos.Problem{
					Path: at, Msg: fmt.Sprintf("%q says that it was %q, too", taken[old], old), Hint: "what is remembered goes to one of them: take the key from the other",
				}, 0)
			default:
				taken[old] = name
				c.Renames = append(c.Renames, store.Rename{About: about, Was: old, Name: name})
			}
		}
	}
	var triggers, jobs []string
	for i := range c.in.Triggers {
		triggers = append(triggers, c.in.Triggers[i].Key)
	}
	for i := range c.in.Jobs {
		jobs = append(jobs, c.in.Jobs[i].Key)
	}
	section("triggers", store.RenamedTrigger, "the trigger", triggers, func(i int) string { return c.in.Triggers[i].Value.Was })
	section("jobs", store.RenamedJob, "the job", jobs, func(i int) string { return c.in.Jobs[i].Value.Was })
}

// Renames are the keys "was" of a config as Redacted printed it.
func Renames(text string) (all []store.Rename) {
	type entry struct {
		Was string `yaml:"was"`
	}
	var in struct {
		Triggers map[string]entry `yaml:"triggers"`
		Jobs     map[string]entry `yaml:"jobs"`
	}
	if yaml.Unmarshal([]byte(text), &in) != nil {
		return nil // it was printed by this program, so it can be read
	}
	for name, e := range in.Triggers {
		if e.Was != "" {
			all = append(all, store.Rename{About: store.RenamedTrigger, Was: e.Was, Name: name})
		}
	}
	for name, e := range in.Jobs {
		if e.Was != "" {
			all = append(all, store.Rename{About: store.RenamedJob, Was: e.Was, Name: name})
		}
	}
	return all
}

// WithRenames is a printed config whose triggers and jobs say what they were called, by these renames, too.
func WithRenames(text string, all []store.Rename) string {
	var doc yaml.Node
	if len(all) == 0 || yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 {
		return text
	}
	for _, r := range all {
		section := valueOf(doc.Content[0], r.About+"s")
		if section == nil {
			continue
		}
		if one := valueOf(section, r.Name); one != nil && one.Kind == yaml.MappingNode && valueOf(one, "was") == nil {
			one.Content = append(one.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "was"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: r.Was})
		}
	}
	out, err := yaml.Marshal(&doc)
	if err != nil {
		return text
	}
	return string(out)
}

// UnderNewNames is a printed config in which what was renamed since stands under its new name, too.
func UnderNewNames(text string, all []store.Rename) string {
	var doc yaml.Node
	if len(all) == 0 || yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 {
		return text
	}
	for range all { // one may follow another
		for _, r := range all {
			if section := valueOf(doc.Content[0], r.About+"s"); section != nil && valueOf(section, r.Name) == nil {
				if old := valueOf(section, r.Was); old != nil {
					section.Content = append(section.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: r.Name}, old)
				}
			}
		}
	}
	out, err := yaml.Marshal(&doc)
	if err != nil {
		return text
	}
	return string(out)
}

// valueOf is the value of a key in a mapping; nil where it is not there.
func valueOf(m *yaml.Node, key string) *yaml.Node {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}
