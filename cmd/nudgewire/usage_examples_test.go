package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

// Who asks a command for help sees a line to begin with, and it is one that the command takes.
func TestEachCommandHasAnExample(t *testing.T) {
	used := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return // the library's own: how to load each is in its help
		}
		path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "nudgewire"))
		used[path] = true
		if cmd.Runnable() && cmd.Example == "" {
			t.Errorf("nudgewire %s has no example", path)
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			if m := aCommand.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				if err := parseCommand(m[1], false); err != nil {
					t.Errorf("the example of nudgewire %s, %s: %v", path, line, err)
				}
			}
		}
	}
	walk(newRoot(&terminal.CLI{}))
	for path := range usageExamples {
		if !used[path] {
			t.Errorf("there is no command %q any more", path)
		}
	}
}
