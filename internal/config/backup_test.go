package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestBackupsThatTheDaemonMakes(t *testing.T) {
	tests := map[string]struct{ text, to, fault string }{
		"none":              {"", "", ""},
		"defaults":          {"backup: {to: /backups}", "/backups", ""},
		"a relative folder": {"backup: {to: made, every: 6h, keep: 28}", filepath.Join("FOLDER", "made"), ""},
		"nowhere":           {"backup: {every: 6h}", "", "backup.every: says nothing without backup.to"},
		"nowhere to keep":   {"backup: {keep: 3}", "", "backup.keep: says nothing without backup.to"},
		"too often":         {"backup: {to: /b, every: 1m}", "/b", "backup.every"},
		"none kept":         {"backup: {to: /b, keep: 0}", "/b", "backup.keep"},
		"unknown":           {"backup: {too: /b}", "", `did you mean "to"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			c, problems := Parse(filepath.Join(folder, "config.yaml"), []byte("api: {base_url: \"https://api.example.com/api/v1\", key: \"${KEY}\"}\n"+tt.text+"\n"), func(string) (string, bool) { return "k", true })
			var words []string
			for _, p := range problems.Faults() {
				words = append(words, p.Error()+" "+p.Hint)
			}
			got := strings.Join(words, "\n")
			if tt.fault == "" && got != "" || !strings.Contains(got, tt.fault) {
				t.Fatalf("faults: %s", got)
			}
			if tt.fault != "" {
				return
			}
			if want := strings.Replace(tt.to, "FOLDER", folder, 1); c.Backup.To != want {
				t.Errorf("to %q, want %q", c.Backup.To, want)
			}
			if p := c.Backup.Plan(); name == "defaults" && (p.Every.Hours() != 24 || p.Keep != 7) {
				t.Errorf("%+v", p)
			}
		})
	}
}
