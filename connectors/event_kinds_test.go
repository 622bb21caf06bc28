package connectors_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

// Words of their own keep triggers from being moved from one sender to the next.
func TestPresetsTranslateIntoTheCommonVocabulary(t *testing.T) {
	known := map[string]bool{}
	for _, k := range connectors.CanonicalKinds() {
		if known[k.Kind] || k.Says == "" {
			t.Errorf("%q stands twice, or without a word about it", k.Kind)
		}
		known[k.Kind] = true
	}
	for _, p := range connectors.Presets() {
		for _, kind := range p.Kinds {
			if !known[kind] {
				t.Errorf("%s makes %q, which is not in the vocabulary", p.Name, kind)
			}
		}
	}
}
