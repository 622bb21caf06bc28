package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// folderWith is a folder with these files, by name.
func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// saidIn is what problems say, with the files' names from the folder on.
func saidIn(folder string, ps yamlpos.Problems) (out []string) {
	for _, p := range ps {
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(p.Error(), folder+string(filepath.Separator), ""), `\`, "/"))
	}
	return out
}

const including = "include: [triggers/*.yaml, more/jobs.yaml]\n" + base

func TestIncludedFilesAreOneConfig(t *testing.T) {
	const reviews = `triggers:
  review: &one
    on: shopify.order.created
    wait: 7d
    send: {template: review}
    if: customer.accepts_marketing
  review-again:
    <<: *one
    wait: 30d
`
	folder := folderWith(t, map[string]string{
		"config.yaml":            including,
		"triggers/reviews.yaml":  reviews,
		"triggers/empty.yaml":    "# nothing yet\n",
		"triggers/.#editor.yaml": "no: config\n",
		"triggers/notes.txt":     "no config\n",
		"more/jobs.yaml":         "connectors:\n  shop-de: {preset: woocommerce, secret: \"${WOO_SECRET}\"}\njobs: {weekly: {source: {csv: lists/*.csv}, campaign: {template_id: 1}}}\n",
	})
	file := filepath.Join(folder, "config.yaml")
	c, problems := Load(file, environ)
	if problems.Errors() > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"remind", "review", "review-again"}, c.Triggers.Names()); diff != "" {
		t.Error(diff)
	}
	if len(c.Receivers) != 2 || len(c.Jobs) != 1 {
		t.Errorf("%d connectors, %d jobs", len(c.Receivers), len(c.Jobs))
	}
	var want []string
	for _, name := range []string{"triggers/empty.yaml", "triggers/reviews.yaml", "more/jobs.yaml"} {
		want = append(want, filepath.Join(folder, filepath.FromSlash(name)))
	}
	if diff := cmp.Diff(want, c.Included()); diff != "" {
		t.Error(diff)
	}
	// What is printed and kept is the whole of it, reads as one file, and names the files.
	kept := c.Redacted()
	for _, part := range []string{"review-again:", "weekly:", "shop-de:", "triggers/reviews.yaml"} {
		if !strings.Contains(filepath.ToSlash(kept), part) {
			t.Errorf("%q is not in\n%s", part, kept)
		}
	}
	if strings.Contains(kept, "include:") || strings.Contains(kept, "leaked-value") {
		t.Errorf("printed:\n%s", kept)
	}
	if again, problems := Parse("config.yaml", []byte(strings.ReplaceAll(kept, "'[secret]'", "a-secret-of-some-length")), environ); problems.Errors() > 0 || len(again.Triggers.Names()) != 3 {
		t.Errorf("what was printed is no config: %v", problems)
	}
	// The version is that of all files.
	was := c.Version
	if err := os.WriteFile(filepath.Join(folder, "triggers", "reviews.yaml"), []byte(strings.Replace(reviews, "7d", "8d", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _ = Load(file, environ); c.Version == was {
		t.Error("an included file changed and the version did not")
	}
	// The folder may be called from anywhere, as for every other path.
	t.Chdir(t.TempDir())
	if _, problems := Load(file, environ); problems.Errors() > 0 {
		t.Error(problems)
	}
}

func TestFaultsOfIncludedFilesHaveTheirPlace(t *testing.T) {
	tests := map[string]struct {
		include string
		files   map[string]string
		want    []string
	}{
		"a fault of each file": {
			"[a.yaml, b.yaml]",
			map[string]string{
				"a.yaml": "triggers:\n  one:\n    on: shopify.order.created\n    send: {templat: x}\n    if: customer.accepts_marketing\n",
				"b.yaml": "triggers:\n  two:\n    on: shopify.order.created\n    if: [customer.accepts_marketing, cart.totall > 5]\n    send: {template: x}\n",
			},
			[]string{
				`a.yaml:4:12: triggers.one.send.templat: unknown key; did you mean "template"?`,
				`b.yaml:4:43: triggers.two.if[1]: unknown name "totall" in cart; did you mean "total"?`,
			},
		},
		"a name that is written twice": {
			"[a.yaml, b.yaml]",
			map[string]string{
				"a.yaml": "triggers:\n  remind: {on: shopify.order.created, send: {template: x}}\n  both: {on: shopify.order.created, send: {template: x}, if: customer.accepts_marketing}\n",
				"b.yaml": "triggers:\n  both: {on: shopify.order.created, send: {template: x}, if: customer.accepts_marketing}\n",
			},
			[]string{
				"a.yaml:2:3: triggers.remind: duplicate key; it is also at config.yaml:9:3; remove one of the two, or give it another name",
				"b.yaml:2:3: triggers.both: duplicate key; it is also at a.yaml:3:3; remove one of the two, or give it another name",
			},
		},
		"a section that belongs into the config": {
			"a.yaml",
			map[string]string{"a.yaml": "defaults: {country: GB}\ninclude: [b.yaml]\n"},
			[]string{
				"a.yaml:1:1: defaults: may not stand in an included file; an included file holds connectors, triggers, templates and jobs: write one of these above it, or move it to config.yaml",
				"a.yaml:2:1: include: may not stand in an included file; an included file holds connectors, triggers, templates and jobs: write one of these above it, or move it to config.yaml",
			},
		},
		"a list": {
			"a.yaml",
			map[string]string{"a.yaml": "- remind\n"},
			[]string{`a.yaml:1:1: wants keys with values, has a list; write "key: value" lines, without "- "`},
		},
		"a section that is a list": {
			"a.yaml",
			map[string]string{"a.yaml": "triggers:\n  - remind\n"},
			[]string{`a.yaml:2:3: triggers: wants keys with values, has a list; write "key: value" lines, without "- "`},
		},
		"a file that does not parse": {
			"a.yaml",
			map[string]string{"a.yaml": "triggers:\n\tremind: x\n"},
			[]string{"a.yaml:2:1: a tab cannot indent YAML; use spaces"},
		},
		"a secret that is not set": {
			"a.yaml",
			map[string]string{"a.yaml": "connectors:\n  shop-de: {preset: woocommerce, secret: \"${NO_SECRET}\"}\n"},
			[]string{"a.yaml:2:43: connectors.shop-de.secret: the environment variable NO_SECRET is not set; set it for the daemon (export NO_SECRET=…), or write ${NO_SECRET:-otherwise} or ${file:/path}"},
		},
		"a pattern that matches nothing": {
			"[triggers/*.yaml, triggers/*.yml]",
			map[string]string{"triggers/a.yaml": ""},
			[]string{"config.yaml:1:28: include[1]: matches no file; write the name of a file in the folder of this one, or a pattern such as triggers/*.yaml; or remove the line"},
		},
		"a file that is not there": {
			"gone.yaml", nil,
			[]string{"config.yaml:1:10: include: there is no file gone.yaml; write the name of one, or remove the line"},
		},
		"connectors that could not be read are not unknown": {
			"connectors.yaml",
			map[string]string{"connectors.yaml": "connectors: {crm: {preset: hubspot}\n"},
			[]string{"connectors.yaml:1:13: a mapping in { } is not closed (begun on line 1); add the missing } or comma"},
		},
		"connectors that are not there are not unknown": {
			"[connectors/*.yaml]", nil,
			[]string{"config.yaml:1:11: include[0]: matches no file; write the name of a file in the folder of this one, or a pattern such as triggers/*.yaml; or remove the line"},
		},
		"itself": {
			"[config.yaml]", nil,
			[]string{"config.yaml:1:11: include[0]: means this file alone, and a file cannot include itself; write the name of another file, or remove the line"},
		},
		"itself by a pattern": {
			"con*.yaml", nil,
			[]string{"config.yaml:1:10: include: means this file alone, and a file cannot include itself; write the name of another file, or remove the line"},
		},
		"a folder": {
			"triggers",
			map[string]string{"triggers/a.yaml": ""},
			[]string{"config.yaml:1:10: include: triggers is a folder; write triggers/*.yaml for the files in it"},
		},
		"the folder above": {
			"[../a.yaml, /etc/passwd]", nil,
			[]string{
				"config.yaml:1:11: include[0]: leads out of the folder of this file; move the files there, or below it, and name them from there: triggers/*.yaml",
				"config.yaml:1:22: include[1]: leads out of the folder of this file; move the files there, or below it, and name them from there: triggers/*.yaml",
			},
		},
		"two stars": {
			"'**/*.yaml'", nil,
			[]string{"config.yaml:1:10: include: ** is not known here; name each folder: triggers/*.yaml, triggers/*/*.yaml"},
		},
		"no pattern": {
			"'[a.yaml'", nil,
			[]string{"config.yaml:1:10: include: is no pattern: a [ is not closed; write * for any part of a name and ? for one character"},
		},
		"folders as on another system": {
			`triggers\*.yaml`, nil,
			[]string{"config.yaml:1:10: include: a backslash does not part folders here; write /"},
		},
		"keys where a name belongs": {
			"{a: b}", nil,
			[]string{`config.yaml:1:10: include: wants a list, has keys with values; begin each item with "- ", or write [a, b]`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"config.yaml": "include: " + tt.include + "\n" + base}
			if strings.Contains(name, "connectors") {
				files["config.yaml"] += "  thanks: {on: crm.deal.changed, send: {template: x}, if: customer.accepts_marketing}\n"
			}
			for name, text := range tt.files {
				files[name] = text
			}
			folder := folderWith(t, files)
			_, problems := Load(filepath.Join(folder, "config.yaml"), environ)
			if diff := cmp.Diff(tt.want, saidIn(folder, problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			var shown bytes.Buffer
			if err := problems.Render(&shown, false); err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Source == "" || !strings.Contains(shown.String(), p.Source) {
					t.Errorf("the line of %v is not shown", p)
				}
			}
		})
	}
}

// A secret that stands in an included file is starred out in what is shown of its line.
func TestALineOfAnIncludedFileShowsNoSecret(t *testing.T) {
	folder := folderWith(t, map[string]string{
		"config.yaml": "include: a.yaml\n" + base,
		"a.yaml":      "connectors:\n  shop-de: {preset: woocommerc, secret: written-out-0123456789}\n",
	})
	_, problems := Load(filepath.Join(folder, "config.yaml"), environ)
	var shown bytes.Buffer
	if err := problems.Render(&shown, false); err != nil || problems.Errors() == 0 {
		t.Fatal(err, problems)
	}
	if strings.Contains(shown.String(), "written-out") {
		t.Errorf("shown:\n%s", &shown)
	}
}

// A link may lead to another place in the folder, as those of mounted configs do, and not out of it.
func TestLinksOfIncludedFilesStayInTheFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	outside := folderWith(t, map[string]string{"out.yaml": "triggers: {}\n"})
	folder := folderWith(t, map[string]string{
		"..v1/config.yaml": "include: [\"*.yaml\"]\n" + base,
		"..v1/a.yaml":      "triggers: {later: {on: shopify.order.created, send: {template: x}, if: customer.accepts_marketing}}\n",
	})
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..v1", "..data")
	link("..data/config.yaml", "config.yaml")
	link("..data/a.yaml", "a.yaml")
	file := filepath.Join(folder, "config.yaml")
	// The pattern matches the config itself, too, which is passed over.
	c, problems := Load(file, environ)
	if problems.Errors() > 0 || len(c.Triggers.Names()) != 2 {
		t.Fatal(problems)
	}
	link(filepath.Join(outside, "out.yaml"), "out.yaml")
	_, problems = Load(file, environ)
	if problems.Errors() != 1 || !strings.HasSuffix(problems[0].Error(), "out.yaml is a link that leads out of the folder of this file; move what it leads to into the folder of this file, or below it") {
		t.Errorf("a link out of the folder: %v", problems)
	}
}

func TestWhatIsIncludedHasABound(t *testing.T) {
	files := map[string]string{"config.yaml": "include: [\"t/*.yaml\", \"u/*.yaml\"]\n" + base, "u/a.yaml": ""}
	for i := range maxIncluded + 5 {
		files[fmt.Sprintf("t/%d.yaml", i)] = ""
	}
	folder := folderWith(t, files)
	_, problems := Load(filepath.Join(folder, "config.yaml"), environ)
	want := []string{`config.yaml:1:11: include[0]: means too much: at most 1000 files and 16 MB are included; write a pattern that means fewer files`}
	if diff := cmp.Diff(want, saidIn(folder, problems)); diff != "" {
		t.Error(diff)
	}
}

func TestIncludedFilesAreCheckedWithoutSecrets(t *testing.T) {
	folder := folderWith(t, map[string]string{
		"config.yaml": "include: a.yaml\n" + base,
		"a.yaml":      "connectors:\n  shop-de: {preset: woocommerce, secret: \"${NO_SECRET}\"}\n",
	})
	nothing := func(string) (string, bool) { return "", false }
	c, problems := LoadWithoutSecrets(filepath.Join(folder, "config.yaml"), nothing)
	if problems.Errors() > 0 || c.StandIns() != 3 {
		t.Errorf("%d stand-ins: %v", c.StandIns(), problems)
	}
}
