package messaging_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Figures and whoever else goes through all kinds and scopes miss none of them.
func TestHoldKindsListsEveryKindAndScope(t *testing.T) {
	text, err := os.ReadFile("hold.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := func(of string) (found []string) {
		for _, m := range regexp.MustCompile(`\b`+of+`\s+= "(\w+)"`).FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
		}
		return slices.Sorted(slices.Values(found))
	}
	var kinds, scopes []string
	for _, rule := range messaging.HoldKinds {
		kinds = append(kinds, string(rule.Kind))
		for _, scope := range rule.Scopes {
			scopes = append(scopes, string(scope))
		}
	}
	slices.Sort(kinds)
	slices.Sort(scopes)
	if want := declared("HoldKind"); len(want) < 8 || !slices.Equal(kinds, want) {
		t.Errorf("declared are %q, listed are %q", want, kinds)
	}
	if want := declared("HoldScope"); !slices.Equal(slices.Compact(scopes), want) {
		t.Errorf("declared are %q, listed are %q", want, scopes)
	}
}

// The page of states says of each kind what the list says.
func TestThePageOfStatesHasEveryHold(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/states.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range messaging.HoldKinds {
		var of []string
		for _, scope := range rule.Scopes {
			of = append(of, "`"+string(scope)+"`")
		}
		line := fmt.Sprintf("| `%s` | %s | %s | %s | ", rule.Kind, rule.State, strings.Join(of, ", "), rule.Why)
		if !strings.Contains(string(page), line) || !strings.Contains(strings.ReplaceAll(string(page), "`", ""), rule.Ends+" |") {
			t.Errorf("docs/internals/states.md has not: %s%s |", line, rule.Ends)
		}
	}
}

// What stops each message is a matter of the scope alone: a hold whose name was left out is none of everything.
func TestAHoldOfEverything(t *testing.T) {
	messages := []messaging.Message{
		{EventID: 1, Trigger: "cart", Account: "north", Send: messaging.Send{Template: "offer"}},
		{Trigger: "news", Account: "north", Key: "run 4 row 1", Send: messaging.Send{Template: "offer"}},
	}
	for _, rule := range messaging.HoldKinds {
		for _, scope := range rule.Scopes {
			for _, d := range messages {
				for _, name := range []string{"", "7"} {
					h := messaging.Hold{Scope: scope, Name: name, Kind: rule.Kind}
					if everything := scope == messaging.ScopeAll; h.OfEverything() != everything || h.Stops(&d) != everything {
						t.Errorf("%s %s %q: of everything %v, stops %s: %v", rule.Kind, scope, name, h.OfEverything(), d.Trigger, h.Stops(&d))
					}
				}
			}
			if (messaging.Hold{Scope: scope, Kind: rule.Kind}).State() == "" {
				t.Errorf("%s has no state", rule.Kind)
			}
		}
	}
}
