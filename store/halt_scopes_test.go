package store

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire"
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

// What stops each message is a matter of the scope alone: a halt whose name was left out is none of everything.
func TestAHaltOfEverything(t *testing.T) {
	everything := map[HaltScope]bool{HaltAll: true, HaltDamage: true, HaltRestored: true}
	messages := []nudgewire.Dispatch{
		{EventID: 1, Trigger: "cart", Account: "north", Send: nudgewire.Send{Template: "offer"}},
		{Trigger: "news", Account: "north", Key: "4/1", Send: nudgewire.Send{Template: "offer"}},
	}
	for _, scope := range Scopes {
		if scope.OfEverything() != everything[scope] {
			t.Errorf("%s: of everything: %v", scope, scope.OfEverything())
		}
		for _, d := range messages {
			for _, name := range []string{"", "7"} {
				if stops := (Halt{Scope: scope, Name: name}).Stops(&d); stops != everything[scope] {
					t.Errorf("%s %q: stops %s: %v", scope, name, d.Trigger, stops)
				}
			}
		}
	}
}
