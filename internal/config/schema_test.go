package config_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/config"
)

// A word is a key as the editor of a page has it.
type word struct {
	Means  string          `json:"d"`
	Values []string        `json:"v"`
	Keys   map[string]word `json:"k"`
}

// What an editor completes is what the config takes: each key of a rule at its place, with what it means and the values it has.
func TestTheWordsOfRulesAreThoseOfTheSchema(t *testing.T) {
	var all word
	if err := json.Unmarshal(config.RuleWords(), &all); err != nil {
		t.Fatal(err)
	}
	rule := all.Keys["triggers"].Keys["*"]
	for path, values := range map[string][]string{
		"on": nil, "if": nil, "wait": nil, "send.template": nil, "steps.send.template": nil, "mode": {"live", "shadow", "off"}, "category": {"marketing", "utility", "authentication"}, "on_change": {"pin", "migrate", "cancel"},
	} {
		at := rule
		for key := range strings.SplitSeq(path, ".") {
			at = at.Keys[key]
		}
		if at.Means == "" {
			t.Errorf("%s means nothing: %+v", path, at)
		}
		for _, v := range values {
			if !slices.Contains(at.Values, v) {
				t.Errorf("%s may be %q, and has %q", path, v, at.Values)
			}
		}
	}
	if len(config.RuleWords()) > 64<<10 {
		t.Errorf("the words are %d bytes: too many for a page", len(config.RuleWords()))
	}
}

func TestNamesOfTemplatesAreDeclaredOrSent(t *testing.T) {
	cfg, problems := config.Parse("config.yaml", []byte(strings.Replace(config.Starter(), "triggers:\n", "templates: {spring_news: {languages: {en: Hello}}}\n\ntriggers:\n", 1)), func(string) (string, bool) { return "a-secret-of-32-characters-and-more", true })
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if got := cfg.TemplateNames(); !slices.Equal(got, []string{"cart_reminder", "spring_news"}) {
		t.Errorf("names: %q", got)
	}
}
