package store

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Figures and whoever else goes through all scopes miss none of them.
func TestScopesListsEveryScope(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	scope := regexp.MustCompile(`\bHaltScope\s+= "(\w+)"`)
	var found []HaltScope
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range scope.FindAllSubmatch(text, -1) {
			found = append(found, HaltScope(m[1]))
		}
	}
	listed := slices.Sorted(slices.Values(Scopes))
	if slices.Sort(found); len(found) < 11 || !slices.Equal(found, listed) {
		t.Errorf("declared are %q, listed are %q", found, listed)
	}
}
