package connectors

// To add a preset, write presets/NAME.yaml after the example of a system that signs alike, with samples
// of your own in the sender's real shape. Then "make generate" writes its page, and the tests of presets
// say what is missing: TestEveryPresetIsWhole here, and TestEveryPresetHasItsFlow in internal/app, which plays its samples through the daemon.

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// presets are the embedded presets by name. Each is decoded when it is first asked for: most
// runs of the program need one or two of them, and all together take longer than the rest of
// a start.
var presets = sync.OnceValue(func() map[string]func() Config {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	out := make(map[string]func() Config, len(files))
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".yaml")
		if ok {
			out[name] = sync.OnceValue(func() Config { return decodePreset("presets/" + file.Name()) })
		}
	}
	return out
})

func decodePreset(file string) Config {
	source, err := presetFiles.ReadFile(file)
	if err != nil {
		panic(err) // its name came from the same files
	}
	var c Config
	if _, problems := yamlpos.Decode(file, source, &c); problems.Err() != nil {
		panic(fmt.Sprintf("connectors: an embedded preset is broken: %s", problems.Err()))
	}
	if c.Preset == "" {
		return c
	}
	base := decodePreset("presets/" + c.Preset + ".yaml")
	c.Preset = ""
	lay(&base, &c)
	return base
}

// Preset is the preset of that name.
func Preset(name string) (Config, bool) {
	decode, ok := presets()[name]
	if !ok {
		return Config{}, false
	}
	return decode(), true
}

// Presets lists what there is to say of every preset, by name. It reads all of them.
func Presets() []Info {
	names := PresetNames()
	out := make([]Info, len(names))
	for i, name := range names {
		c, _ := Preset(name)
		out[i] = infoOf(name, &c)
	}
	return out
}

// PresetInfo is what there is to say of one preset.
func PresetInfo(name string) (Info, bool) {
	c, ok := Preset(name)
	if !ok {
		return Info{}, false
	}
	return infoOf(name, &c), true
}

// PresetNames lists the presets' names, sorted, without reading the presets.
func PresetNames() []string { return slices.Sorted(maps.Keys(presets())) }

// kindsOf are the kinds a config can make, as far as it says: those it lists, and those its
// rules and aliases name.
func kindsOf(c *Config) []string {
	out := appendNew(nil, c.Kinds...)
	for _, a := range c.Event.Aliases {
		out = appendNew(out, a.Value)
	}
	for _, r := range c.Event.Kinds {
		out = appendNew(out, r.Kind)
	}
	return appendNew(out, c.Event.Kind)
}

// appendNew appends the words that are not empty and not in the list yet.
func appendNew(list []string, words ...string) []string {
	for _, word := range words {
		if word != "" && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}
