package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every code that this room says is in the table, and every one of the table is said; the page has the same.
func TestCodesAreInTheirTableAndOnTheirPage(t *testing.T) {
	var table, said, page []string
	for _, c := range Codes() {
		if table = append(table, string(c.Code)); c.Says == "" {
			t.Errorf("%s says nothing", c.Code)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:\.lint\(|\.lintKey\(|\.warn\(|Code: )"([a-z-]+)"`).FindAllStringSubmatch(string(src), -1) {
			said = append(said, m[1])
		}
	}
	for _, c := range Codes()[:11] { // of yamlpos, and of what has no word of its own
		said = append(said, string(c.Code))
	}
	said = append(said, "weak-secret", "connector-doubtful", "trigger-doubtful", "job-doubtful", "setting-doubtful")
	text, err := os.ReadFile("../../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		page = append(page, m[1])
	}
	for _, list := range []*[]string{&table, &said, &page} {
		slices.Sort(*list)
	}
	if diff := cmp.Diff(table, page); diff != "" {
		t.Errorf("the page (-table +page):\n%s", diff)
	}
	if diff := cmp.Diff(table, slices.Compact(said)); diff != "" {
		t.Errorf("what is said (-table +said):\n%s", diff)
	}
}

// Every problem has one of the codes: of configs with faults of all sorts.
func TestEveryProblemHasACode(t *testing.T) {
	known := map[string]bool{}
	for _, c := range Codes() {
		known[string(c.Code)] = true
	}
	sources := []string{"", "a: [", "x: 1", base + "jobs: {a: {}}\n", "api: 5\n", base + "storage: what\naccounts: {api: {key: a}}\n", base + "templates: {a: {languages: {en: '{{x}}'}}}\n"}
	for _, tt := range plantings {
		sources = append(sources, tt.now, base+tt.now)
	}
	fifteen, err := os.ReadFile("testdata/fifteen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, string(fifteen))
	seen := 0
	for _, src := range sources {
		_, ps := Parse("config.yaml", []byte(src), environ)
		for _, p := range ps {
			if seen++; !known[string(p.Code)] {
				t.Errorf("%q is the code of %v", p.Code, p)
			}
		}
	}
	if _, ps := Load("missing.yaml", environ); len(ps) != 1 || ps[0].Code != "file-unreadable" {
		t.Errorf("a file that is not there: %+v", ps)
	}
	if seen < 100 {
		t.Errorf("only %d problems were looked at", seen)
	}
}
