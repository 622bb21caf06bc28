package config

import (
	"os"
	"path/filepath"
	"testing"
)

// A relative path means the same wherever a command is called: it starts where the config lies, as it was named.
func TestRelativePathsStartAtTheFolderOfTheConfig(t *testing.T) {
	folder := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("key.txt", "a-key-from-a-file\n")
	put("config.yaml", `api: {base_url: "http://127.0.0.1:1/api/v1", key: "${file:key.txt}"}
defaults: {country: GB}
jobs: {weekly: {source: {csv: lists/*.csv}, campaign: {template_id: 1}}}
`)
	t.Chdir(t.TempDir())
	file := filepath.Join(folder, "config.yaml")
	fromHere, err := filepath.Rel(mustGetwd(t), file)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	for name, way := range map[string]string{"absolute": file, "relative": fromHere} {
		cfg, problems := Load(way, nil)
		if problems.Errors() != 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if want := "sqlite:" + filepath.Join(folder, "data", "nudgewire.db"); cfg.Storage != want {
			t.Errorf("%s: storage is %q, want %q", name, cfg.Storage, want)
		}
		if got := cfg.API.Key.Reveal(); got != "a-key-from-a-file" {
			t.Errorf("%s: the key is %q", name, got)
		}
	}
	if _, problems := Load(link, nil); problems.Errors() != 1 {
		t.Errorf("a link was followed, and found the files beside its target: %v", problems)
	}

	for dsn, want := range map[string]string{
		"sqlite:n.db": "sqlite:" + filepath.Join(folder, "n.db"), "sqlite://n.db": "sqlite:" + filepath.Join(folder, "n.db"),
		"sqlite:../n.db": "sqlite:" + filepath.Join(filepath.Dir(folder), "n.db"),
		"sqlite:/n.db":   "sqlite:/n.db", "sqlite:///n.db": "sqlite:/n.db",
	} {
		put("config.yaml", "storage: \""+dsn+"\"\n")
		if cfg, _ := Load(file, nil); cfg.Storage != want {
			t.Errorf("storage %q is %q, want %q", dsn, cfg.Storage, want)
		}
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}
