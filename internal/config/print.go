package config

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Print writes the config as the daemon understands it, as YAML: defaults filled in, secrets
// as [secret], and ${NAME} where a value came from a reference.
func (c *Config) Print(w io.Writer) error {
	out, err := c.effective()
	if err != nil {
		return err
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("print the config: %w", err)
	}
	return nil
}

// Values is what Print writes, as maps, lists and plain values by the keys of the YAML.
func (c *Config) Values() (values map[string]any, err error) {
	out, err := c.effective()
	if err == nil {
		err = yaml.Unmarshal(out, &values)
	}
	if err != nil {
		return nil, fmt.Errorf("print the config: %w", err)
	}
	return values, nil
}

// Redacted is what Print writes, to be kept with the decisions that were made under it.
func (c *Config) Redacted() string {
	out, err := c.effective()
	if err != nil {
		return "# " + err.Error() + "\n"
	}
	return string(out)
}

func (c *Config) effective() ([]byte, error) {
	out, err := c.doc.Effective(&c.in, c.takenFrom)
	if err != nil {
		return nil, fmt.Errorf("print the config: %w", err)
	}
	head := []byte("# version " + c.Version + "\n")
	for _, name := range c.included {
		head = append(head, "# with "+plain.Text(name)+"\n"...)
	}
	return append(head, hideURLs(out)...), nil
}

// Connector is the entry of that name under connectors: as it is written, with ${NAME} for each
// secret; "" when there is none.
func (c *Config) Connector(name string) string {
	if c.doc == nil {
		return ""
	}
	for i := range c.in.Connectors {
		e := &c.in.Connectors[i]
		if e.Key != name {
			continue
		}
		out, err := c.doc.EffectiveEntry("connectors", name, &e.Value)
		if err != nil {
			return ""
		}
		return strings.NewReplacer("'[secret]'", "${"+connectors.Variable(name)+"_SECRET}", `"[secret]"`, "${"+connectors.Variable(name)+"_SECRET}").Replace(string(out))
	}
	return ""
}

// hideURLs stars out the secrets in addresses. Triggers keep theirs: Rules reads them again, and they
// are addresses for customers.
func hideURLs(text []byte) []byte {
	section := ""
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		if key, _, ok := strings.Cut(line, ":"); ok && key != "" && !strings.ContainsAny(key[:1], " -#") {
			section = key
		}
		if section != "triggers" {
			lines[i] = yamlpos.HideURLs(line)
		}
	}
	return []byte(strings.Join(lines, ""))
}

// takenFrom is where a trigger or a job takes a key from that it does not say itself.
func (c *Config) takenFrom(path string) string {
	section, rest, ok := strings.Cut(path, ".")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 0 || strings.ContainsRune(rest[:i], '.') {
		return ""
	}
	name, key := rest[:i], rest[i+1:]
	switch {
	case key == "quiet_hours" && c.exempt(section, name):
		return ""
	case section == "triggers", section == "jobs" && (key == "quiet_hours" || key == "limit"):
		return "defaults." + key
	}
	return ""
}

// Rules are the triggers of a config as Redacted keeps it, by name, with what they take from its defaults, as far as they
// can be read: an earlier version of the program may have written it. env is as for Load.
func Rules(text string, env secret.Lookup) map[string]triggers.Rule {
	var in struct {
		Defaults Defaults                       `yaml:"defaults"`
		Triggers yamlpos.Ordered[triggers.Rule] `yaml:"triggers"`
	}
	doc, _ := yamlpos.Options{
		Expand: func(text string) (string, error) { return secret.Expand(text, env, "") },
		Large:  true,
	}.Decode("", []byte(text), &in)
	return in.Defaults.rules(doc, in.Triggers)
}

// rules are the triggers of a document with what they take from the defaults, by name.
func (d *Defaults) rules(doc *yamlpos.Doc, written yamlpos.Ordered[triggers.Rule]) map[string]triggers.Rule {
	rules := map[string]triggers.Rule{}
	for _, e := range written {
		e.Value.Name = e.Key
		at := yamlpos.Join("triggers", e.Key)
		d.fill(&e.Value, func(key string) bool { return doc.Node(yamlpos.Join(at, key)) != nil })
		if e.Value.Send.Template != "" && e.Value.Send.Language == "" {
			e.Value.Send.Language = d.Language
		}
		rules[e.Key] = e.Value
	}
	return rules
}

// Accounts are the names under accounts of a printed config, "" for the section api.
func Accounts(text string, env secret.Lookup) []string {
	var in struct {
		Accounts yamlpos.Ordered[any] `yaml:"accounts"`
	}
	_, _ = yamlpos.Options{Expand: func(text string) (string, error) { return secret.Expand(text, env, "") }, Large: true}.Decode("", []byte(text), &in)
	names := []string{""}
	for _, e := range in.Accounts {
		names = append(names, e.Key)
	}
	return names
}

// SameRule reports whether two rules, as Rules gives them, plan the same. Whether a trigger sends, what an edit does, and
// what is decided at the due moment or in doubt, by the rules of then, are no part of that.
func SameRule(a, b triggers.Rule) bool {
	b.Mode, b.OnChange, b.OnDoubt, b.Rate, b.Keys, b.Was = a.Mode, a.OnChange, a.OnDoubt, a.Rate, a.Keys, a.Was
	return reflect.DeepEqual(a, b)
}

// SourceAt is the first of some paths that the config has, with secrets starred out; none where it has none of them.
func (c *Config) SourceAt(paths ...string) yamlpos.Source {
	for _, path := range paths {
		if c.doc.Node(path) != nil {
			return c.doc.Source(path)
		}
	}
	return yamlpos.Source{}
}

// Source is where a trigger stands in its file, with secrets starred out.
func (c *Config) Source(trigger string) yamlpos.Source {
	return c.doc.Source(yamlpos.Join("triggers", trigger))
}
