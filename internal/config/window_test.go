package config

import (
	"strings"
	"testing"
)

func TestADedupeWindowHasBounds(t *testing.T) {
	for window, want := range map[string]string{"30s": "1m", "31d": "30d", "1m": "", "30d": ""} {
		_, problems := Parse("config.yaml", []byte(`api: {base_url: "http://127.0.0.1:1/api/v1", key: a-key}
defaults: {country: GB}
connectors: {shopify: {secret: a-long-enough-secret, dedupe: {window: `+window+`}}}
`), nil)
		faults := problems.Faults()
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Path, "dedupe.window") || !strings.Contains(faults[0].Error(), want)) {
			t.Errorf("window %s: %v", window, faults)
		}
	}
}
