package connectors

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// A PresetInfo is a preset as a list shows it.
type PresetInfo struct {
	Name     string
	Title    string
	Docs     string
	Setup    string
	Verified string
	Kinds    []string
	Proof    string // what the secret is, in words: "HMAC-SHA256 over the body"
	Sender   Sender
}

// presets are read on first use: most runs of the program need few or none of them.
var presets = sync.OnceValue(func() map[string]Config {
	out := map[string]Config{}
	files, err := fs.Glob(presetFiles, "presets/*.yaml")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		source, err := presetFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var c Config
		if _, problems := yamlpos.Decode(file, source, &c); problems.Err() != nil {
			panic(fmt.Sprintf("connectors: an embedded preset is broken: %s", problems.Err()))
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "presets/"), ".yaml")
		out[name] = c
	}
	return out
})

// Preset is the preset of that name.
func Preset(name string) (Config, bool) {
	c, ok := presets()[name]
	return c, ok
}

// Presets lists the presets by name.
func Presets() []PresetInfo {
	var out []PresetInfo
	for _, name := range presetNames() {
		c := presets()[name]
		out = append(out, PresetInfo{
			Name: name, Title: c.Title, Docs: c.Docs, Setup: c.Setup, Verified: c.Verified,
			Kinds: kindsOf(&c), Proof: c.Verify.words(), Sender: c.Sender,
		})
	}
	return out
}

func presetNames() []string {
	names := make([]string, 0, len(presets()))
	for name := range presets() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// kindsOf are the kinds a config can make, as far as it says: those it lists, and those its
// rules and aliases name.
func kindsOf(c *Config) []string {
	var out []string
	add := func(kind string) {
		if kind != "" && !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	for _, kind := range c.Kinds {
		add(kind)
	}
	for _, a := range c.Event.Aliases {
		add(a.Value)
	}
	for _, r := range c.Event.Kinds {
		add(r.Kind)
	}
	add(c.Event.Kind)
	return out
}

// words describes a proof for people.
func (v *Verify) words() string {
	if v == nil {
		return "nothing"
	}
	kind := v.Kind
	switch {
	case kind == "" && len(v.AnyOf) > 0:
		kind = "any_of"
	case kind == "" && len(v.AllOf) > 0:
		kind = "all_of"
	}
	join := func(list []*Verify, by string) string {
		parts := make([]string, len(list))
		for i, one := range list {
			parts[i] = one.words()
		}
		return strings.Join(parts, by)
	}
	switch kind {
	case "signed":
		return fmt.Sprintf("signature (%s over %s)", v.Algorithm, strings.Join(v.Parts, ", "))
	case "standard_webhooks":
		return "signature (Standard Webhooks)"
	case "token":
		switch v.From {
		case tokenHeader:
			return "a token in the header " + v.Field
		case tokenBearer:
			return "a bearer token"
		case tokenQuery:
			return "a token in the URL parameter " + v.Field
		case tokenPath:
			return "a token at the end of the URL"
		default:
			return "a token in the body's " + v.Field
		}
	case "basic":
		return "user and password (HTTP Basic)"
	case "jwt":
		return "a signed token (JWT)"
	case "any_of":
		return join(v.AnyOf, ", else ")
	case "all_of":
		return join(v.AllOf, " and ")
	default:
		return "nothing"
	}
}
