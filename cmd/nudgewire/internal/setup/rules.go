package setup

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/examples"
)

// An offer is a rule to begin with.
type offer struct {
	Name, About string
	Rules       string // the section triggers
}

// starterOffer is the name of the small rule that each sender has.
const starterOffer = "small"

// offersFor are the small rule of a sender, and the recipes that its events can carry: those of this sender, and those of another whose
// rules ask for nothing but what both send.
func offersFor(info *connectors.Info) ([]offer, error) {
	var out []offer
	if rules := info.Starter(); rules != "" {
		out = append(out, offer{starterOffer, "A small rule for what " + info.Title + " sends", rules})
	}
	recipes, err := examples.Recipes()
	if err != nil {
		return nil, err
	}
	for _, r := range recipes {
		text, err := fs.ReadFile(r.Files, "config.yaml")
		if err != nil {
			return nil, err
		}
		if rules := fitted(string(text), info); rules != "" {
			out = append(out, offer{r.Name, r.About, rules})
		}
	}
	return out, nil
}

// fitted are the rules of a recipe for another sender; "" where they do not fit it.
func fitted(text string, info *connectors.Info) string {
	var has struct {
		Connectors map[string]any `yaml:"connectors"`
	}
	if yaml.Unmarshal([]byte(text), &has) != nil || len(has.Connectors) != 1 {
		return ""
	}
	rules := section(text, "triggers")
	for theirs := range has.Connectors {
		if _, known := connectors.PresetInfo(theirs); !known {
			return "" // its entry says how to read a sender of one's own
		}
		if theirs == info.Name {
			return rules
		}
		if strings.Contains(rules, "raw.") {
			return "" // what only that sender has
		}
		events := regexp.MustCompile(`\b` + regexp.QuoteMeta(theirs) + `\.([a-z_]+\.[a-z_]+)`)
		for _, m := range events.FindAllStringSubmatch(rules, -1) {
			if !slices.Contains(info.Kinds, m[1]) {
				return ""
			}
		}
		return events.ReplaceAllString(rules, info.Name+".$1")
	}
	return ""
}

// section is a top-level key of a config with all that belongs to it; "" for none.
func section(text, key string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if line[0] != ' ' && line[0] != '#' && line[0] != '\n' {
			inside = strings.HasPrefix(line, key+":")
		}
		if inside {
			b.WriteString(line)
		}
	}
	return b.String()
}
