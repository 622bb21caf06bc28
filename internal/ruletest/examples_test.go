package ruletest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/examples"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/ruletest"
	"github.com/nudgewire/nudgewire/internal/simulation"
)

// An edited rule differs from the one in the example in one operator, number, unit, wait or name of a template.
type edited struct {
	line     int
	was, now string
	text     string // of the whole config
}

// A flip finds what may be edited in a line, and says what it becomes.
type flip struct {
	found *regexp.Regexp
	to    func(was string) string
}

var swapped = map[string]string{">=": "<", "<=": ">", "==": "!=", "!=": "==", " or ": " and ", " and ": " or ", " contains ": " not in "}

var nextUnit = map[string]string{"m": "h", "h": "m", "d": "h", "per day": "per week", "per week": "per day"}

var flips = []flip{
	{regexp.MustCompile(`>=|<=|==|!=| or | and `), func(was string) string { return swapped[was] }},
	// A number: of a window of hours it is an hour later, else twice as many.
	{regexp.MustCompile(`\b\d{2}:00`), func(was string) string {
		return map[string]string{"20:00": "21:00", "21:00": "22:00", "09:00": "10:00", "10:00": "11:00"}[was]
	}},
	{regexp.MustCompile(`\b\d+\b`), twice},
	{regexp.MustCompile(`\b\d+[mhd]\b`), func(was string) string { return twice(was[:len(was)-1]) + was[len(was)-1:] }},
	{regexp.MustCompile(`\b\d+[mhd]\b`), func(was string) string { return was[:len(was)-1] + nextUnit[was[len(was)-1:]] }},
	{regexp.MustCompile(`per (day|week)`), func(was string) string { return nextUnit[was] }},
	{regexp.MustCompile(`template: [a-z_]+`), func(was string) string { return was + "_x" }},
}

func twice(number string) string {
	n := 0
	_, _ = fmt.Sscan(number, &n)
	return fmt.Sprint(2 * n)
}

var comment = regexp.MustCompile(`\s#.*$`)

// editsOf are all ways to edit the rules and the defaults of a config in one place.
func editsOf(text string) (all []edited) {
	lines := strings.Split(text, "\n")
	section := ""
	for i, line := range lines {
		if line != "" && !strings.ContainsAny(line[:1], " #") {
			section = line
		}
		if !strings.HasPrefix(section, "triggers:") && !strings.HasPrefix(section, "defaults:") || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		rule := comment.ReplaceAllString(line, "")
		for _, f := range flips {
			for _, at := range f.found.FindAllStringIndex(rule, -1) {
				was := rule[at[0]:at[1]]
				now := f.to(was)
				inside := strings.Count(rule[:at[0]], "'")%2 == 1 && !strings.Contains(was, "=") // of a text to fill in
				if now == "" || now == was || inside || strings.HasSuffix(rule[:at[0]], ":") || strings.HasPrefix(rule[at[1]:], ":") || strings.HasSuffix(rule[:at[0]], "[") {
					continue
				}
				edit := slices.Clone(lines)
				edit[i] = rule[:at[0]] + now + rule[at[1]:]
				all = append(all, edited{i + 1, strings.TrimSpace(rule), strings.TrimSpace(edit[i]), strings.Join(edit, "\n")})
			}
		}
	}
	return all
}

// unseen are edits that no webhook can show, and why.
var unseen = map[string]string{
	"one-time-code: expires: 10m":    inTrouble,
	"one-time-code: expires: 5h":     inTrouble,
	"cash-on-delivery: expires: 12h": inTrouble,
	"cash-on-delivery: expires: 6m":  inTrouble,

	"vip: limit: [1 per day, 6 per 7d]":  onceAMonth,
	"vip: limit: [1 per day, 3 per 14d]": onceAMonth,
	"vip: limit: [1 per day, 3 per 7h]":  onceAMonth,
	"vip: limit: [1 per week, 3 per 7d]": onceAMonth,

	`vip: - order.total >= 250 or deal.amount < 1000 or customer.tags contains "vip"`:  lookedUp,
	`vip: - order.total >= 250 or deal.amount >= 2000 or customer.tags contains "vip"`: lookedUp,
}

const (
	inTrouble  = "nothing puts it off, so it is late only where the service is in trouble, which is not played"
	onceAMonth = "a person is thanked once in 30 days, which is less than the limit"
	lookedUp   = "HubSpot's webhooks name a deal and leave its amount to a look-up, which is not played"
)

// holds reports whether all tests in a folder hold under a config; one that cannot be used holds nothing.
func holds(t *testing.T, sim *simulation.Simulator, folder, text string) bool {
	t.Helper()
	cfg, problems := config.ParseWithoutSecrets(filepath.Join(folder, "config.yaml"), []byte(text), func(string) (string, bool) { return "", false })
	if cfg == nil || problems.Errors() > 0 {
		return false
	}
	env := envOf(t, text)
	env.Rules = app.SimulationOf(cfg)
	files, err := filepath.Glob(filepath.Join(folder, "tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no tests: ", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests, problems := ruletest.Read(file, src, env)
		if problems.Errors() > 0 {
			t.Fatal(problems)
		}
		for i := range tests {
			r, err := ruletest.Play(t.Context(), sim, env, &tests[i])
			if err != nil {
				t.Fatal(err)
			}
			if !r.OK() {
				return false
			}
		}
	}
	return true
}

// The tests of each recipe, and of the config that init writes, hold; and whatever operator, number, unit, wait or template of its rules is
// edited, one of them notices. The score is printed.
func TestTestsOfExamplesNoticeEdits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	configs := map[string]string{"init": config.Starter()}
	if err := os.MkdirAll(filepath.Join(folder, "init", "tests"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "init", "tests", "cart.yaml"), []byte(config.StarterTests()), 0o600); err != nil {
		t.Fatal(err)
	}
	recipes, err := examples.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		text, err := fs.ReadFile(r.Files, "config.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\ntriggers:") { // lists are no matter of tests
			configs[r.Name] = string(text)
		}
	}
	sim, err := simulation.NewSimulator("")
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	for name, text := range configs {
		at := filepath.Join(folder, name)
		if !holds(t, sim, at, text) {
			t.Errorf("%s: its tests do not hold", name)
			continue
		}
		edits := editsOf(text)
		noticed, excused := 0, 0
		for _, e := range edits {
			switch {
			case !holds(t, sim, at, e.text):
				noticed++
			case unseen[name+": "+e.now] != "":
				excused++
			default:
				t.Errorf("%s:%d: no test notices %q in the place of %q", name, e.line, e.now, e.was)
			}
		}
		t.Logf("%s: %d of %d edits are noticed, %d cannot be", name, noticed, len(edits), excused)
		if len(edits) < 3 {
			t.Errorf("%s: only %d edits were found", name, len(edits))
		}
	}
}
