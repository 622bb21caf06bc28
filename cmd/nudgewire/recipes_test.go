package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/examples"
	"github.com/nudgewire/nudgewire/internal/preview"
)

var (
	namedVariable = regexp.MustCompile(`\$\{(\w+)\}`)
	// recipeTry is a line of a recipe's head: a command, and behind # what comes of it.
	recipeTry = regexp.MustCompile(`(?m)^#   nudgewire (try [^#]+)# ([\w-]+): (.+)$`)
)

// Each recipe is good as it is written, and its payloads lead to what its head says.
func TestRecipes(t *testing.T) {
	all, err := examples.Recipes()
	if err != nil || len(all) < 7 {
		t.Fatal(len(all), err)
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			said(t, "init", "--recipe", r.Name)
			text, err := os.ReadFile("config.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range namedVariable.FindAllStringSubmatch(string(text), -1) {
				t.Setenv(name[1], "a-secret-that-is-long-enough")
			}
			_, warnings := said(t, "check")
			for line := range strings.Lines(warnings) {
				if strings.Contains(line, "warning:") && !strings.Contains(line, "-Topic is not signed") {
					t.Errorf("check: %s", line)
				}
			}
			tries := recipeTry.FindAllStringSubmatch(string(text), -1)
			if len(tries) == 0 && strings.Contains(string(text), "\ntriggers:") {
				t.Error("its head has no command to try it")
			}
			for _, try := range tries {
				if got := outcomes(t, strings.Fields(try[1]), try[2]); got != try[3] {
					t.Errorf("%s: trigger %s says %q, the head promises %q", try[1], try[2], got, try[3])
				}
			}
		})
	}
}

// outcomes are what a trigger says to each event of a try.
func outcomes(t *testing.T, args []string, trigger string) string {
	t.Helper()
	out, _ := said(t, append(args, "--json")...)
	var words []string
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var e preview.TriedEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		for _, d := range e.Decisions {
			if d.Trigger == trigger {
				words = append(words, string(d.Outcome))
			}
		}
	}
	return strings.Join(words, " ")
}

// said runs a command that must go well.
func said(t *testing.T, args ...string) (out, words string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), terminal.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, args); code != 0 {
		t.Fatalf("nudgewire %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}
