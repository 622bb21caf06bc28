package rules

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/ruletest"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// testFlags are what test takes.
type testFlags struct {
	junit  string
	github bool
	only   string
}

func (c commands) test() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use: "test [FILE|FOLDER ...]", Short: "Play the tests beside the config, and show where what happens is not what they expect",
		Long: `test plays tests in YAML: webhooks that come, and the messages that are to leave, under a clock of its own.
It decides by the rules of the config and by the code of the daemon; nothing is sent, and no daemon is asked.
Without names it plays tests/*.yaml beside the config file. Exit status 1: a test fails.`,
		Example: "  nudgewire test\n  nudgewire test tests/cart.yaml --only reminder\n  nudgewire test --junit report.xml --github",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.LoadToLook()
			if err != nil {
				return err
			}
			files, err := c.testFiles(args)
			if err != nil {
				return err
			}
			return c.playTests(cmd.Context(), cfg, files, &f)
		},
	}
	cmd.Flags().StringVar(&f.junit, "junit", "", "write a report for build servers to this file")
	cmd.Flags().BoolVar(&f.github, "github", false, "print failures as annotations of GitHub Actions, too")
	cmd.Flags().StringVar(&f.only, "only", "", "only tests with this in their names")
	return cmd
}

// testFiles are the files that are named, those in a folder that is named, or those beside the config.
func (c commands) testFiles(args []string) (files []string, err error) {
	named := args
	if len(args) == 0 {
		named = []string{filepath.Join(filepath.Dir(c.Config), ruletest.Folder)}
	}
	for _, name := range named {
		info, err := os.Stat(name)
		switch {
		case err != nil && len(args) > 0:
			return nil, exit.Fail(exit.Usage, "", "%w", err)
		case err == nil && !info.IsDir():
			files = append(files, name)
			continue
		}
		found, err := filepath.Glob(filepath.Join(name, "*.y*ml"))
		if err != nil {
			return nil, exit.Fail(exit.Usage, "", "%s: %w", name, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, exit.Fail(exit.Nothing, `"nudgewire events save-as-test ID" makes one of what happened; docs/testing.md says how to write one`, "no tests in %s", strings.Join(named, ", "))
	}
	return files, nil
}

func (c commands) playTests(ctx context.Context, cfg *config.Config, files []string, f *testFlags) error {
	env := ruletest.Env{Rules: app.SimulationOf(cfg), Home: terminal.ZoneOf(cfg.Defaults.Timezone)}
	var tests []ruletest.Test
	var problems yamlpos.Problems
	for _, file := range files {
		src, err := regular.Read(ctx, file, yamlpos.MaxBytes)
		if err != nil {
			return exit.Fail(exit.Usage, "", "%s: %w", file, err)
		}
		some, found := ruletest.Read(file, src, env)
		tests, problems = append(tests, some...), append(problems, found...)
	}
	if problems.Errors() > 0 {
		c.RenderProblems(problems)
		return exit.Silent(exit.Config)
	}
	tests = slices.DeleteFunc(tests, func(t ruletest.Test) bool { return !strings.Contains(t.Name, f.only) })
	if len(tests) == 0 {
		return exit.Fail(exit.Nothing, "", "no test has %q in its name", f.only)
	}
	sim, err := simulation.NewSimulator("")
	if err != nil {
		return fmt.Errorf("a folder for what is thrown away: %w", err)
	}
	defer sim.Close()
	report := testReport{CLI: c.CLI, cfg: cfg, flags: f}
	began := time.Now()
	for i := range tests {
		began := time.Now()
		r, err := ruletest.Play(ctx, sim, env, &tests[i])
		if err != nil {
			return fmt.Errorf("%s:%d: %w", tests[i].File, tests[i].Line, err)
		}
		if err := report.add(&r, time.Since(began)); err != nil {
			return err
		}
	}
	return report.end(time.Since(began))
}

// A testReport tells of tests as they are played.
type testReport struct {
	*terminal.CLI
	cfg         *config.Config
	flags       *testFlags
	cases       []junitCase
	failed, all int
}

// A testView is a test for programs.
type testView struct {
	Test     string        `json:"test"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	OK       bool          `json:"ok"`
	Broken   string        `json:"broken,omitempty"`
	Failures []failureView `json:"failures,omitempty"`
	Story    []string      `json:"story,omitempty"`
}

type failureView struct {
	Expected string `json:"expected"`
	Happened string `json:"happened"`
	Rule     string `json:"rule,omitempty"` // file:line of the config
}

func (t *testReport) add(r *ruletest.Result, took time.Duration) error {
	t.all++
	v := testView{Test: r.Test.Name, File: r.Test.File, Line: r.Test.Line, OK: r.OK(), Broken: mask.Text(r.Broken)}
	for _, f := range r.Failed {
		one := failureView{Expected: mask.Text(f.Expected), Happened: masked(f.Happened)}
		if at := t.cfg.SourceAt(f.Paths...); at.File != "" {
			one.Rule = fmt.Sprintf("%s:%d", at.File, at.First)
		}
		v.Failures = append(v.Failures, one)
	}
	if !v.OK {
		t.failed++
		v.Story = storyOf(r)
	}
	t.cases = append(t.cases, junitOf(&v, took))
	if t.flags.github && !v.OK {
		t.annotate(&v)
	}
	if t.JSON {
		return t.Print(v)
	}
	if !v.OK {
		t.addResult(&v, r)
	}
	return nil
}

// masked is mask.Text of each line.
func masked(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = mask.Text(lines[i])
	}
	return strings.Join(lines, "\n")
}

// storyOf is what happened, a line each.
func storyOf(r *ruletest.Result) (lines []string) {
	for i := range r.Story {
		lines = append(lines, mask.Text(r.Line(&r.Story[i])))
	}
	return lines
}

// addResult shows a test that fails: what was expected and what happened, side by side, the rule, and the story.
func (t *testReport) addResult(v *testView, r *ruletest.Result) {
	t.Say("%s %s:%d: %s\n", t.Paint(t.Out, "31", "FAIL"), v.File, v.Line, v.Test)
	if v.Broken != "" {
		t.Say("  it cannot be played to its end: %s\n", v.Broken)
	}
	for i, f := range v.Failures {
		if i == 0 {
			t.Say("  %-*s  %s\n", column, "expected", "happened")
		}
		left, right := wrapped(f.Expected, column), wrapped(f.Happened, 2*column)
		for j := range max(len(left), len(right)) {
			t.Say("  %s  %s\n", padded(lineAt(left, j), column), lineAt(right, j))
		}
		if f.Rule != "" {
			t.Say("  rule: %s  %s\n", f.Rule, t.ruleText(r, i))
		}
	}
	t.Say("  what happened:\n")
	for _, line := range v.Story {
		t.Say("    %s\n", line)
	}
	if len(v.Story) == 0 {
		t.Say("    nothing: no webhook came\n")
	}
	t.Say("\n")
}

// column is how wide what was expected is shown.
const column = 44

// ruleText is the first line of the rule that is responsible.
func (t *testReport) ruleText(r *ruletest.Result, i int) string {
	if at := t.cfg.SourceAt(r.Failed[i].Paths...); len(at.Lines) > 0 {
		return strings.TrimSpace(at.Lines[0])
	}
	return ""
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// wrapped is a text in lines of a width, broken between words where there are any.
func wrapped(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		now := ""
		for word := range strings.FieldsSeq(line) {
			if now != "" && utf8.RuneCountInString(now)+1+utf8.RuneCountInString(word) > width {
				lines, now = append(lines, now), "  "+word
				continue
			}
			now = strings.TrimPrefix(now+" "+word, " ")
		}
		lines = append(lines, now)
	}
	return lines
}

func (t *testReport) end(took time.Duration) error {
	if t.flags.junit != "" {
		if err := t.writeJUnit(took); err != nil {
			return exit.Fail(exit.Usage, "", "write %s: %w", t.flags.junit, err)
		}
	}
	if t.failed > 0 {
		if !t.JSON {
			t.Say("%s of %d failed\n", units.Count(t.failed, "test"), t.all)
		}
		return exit.Silent(exit.Failed)
	}
	if !t.JSON {
		t.Say("%s passed\n", units.Count(t.all, "test"))
	}
	return nil
}

// annotate prints a failure as GitHub Actions reads it, on the line of the test.
func (t *testReport) annotate(v *testView) {
	_, _ = io.WriteString(t.Err, annotation("error", v.File, fmt.Sprintf("line=%d", v.Line), v.Test, v.summary()))
}

// annotation is a line by which GitHub Actions marks a place in a file; place is line=4,col=5.
func annotation(kind, file, place, title, words string) string {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s file=%s,%s,title=%s::%s\n", kind, property.Replace(file), place, property.Replace(plain.Text(title)), escape.Replace(plain.Lines(words)))
}

// summary is what is wrong, in lines.
func (v *testView) summary() string {
	var out []string
	if v.Broken != "" {
		out = append(out, "it cannot be played to its end: "+v.Broken)
	}
	for _, f := range v.Failures {
		text := "expected: " + f.Expected + "\nhappened: " + f.Happened
		if f.Rule != "" {
			text += "\nrule: " + f.Rule
		}
		out = append(out, text)
	}
	return strings.Join(append(out, v.Story...), "\n")
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   junitSuite
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func junitOf(v *testView, took time.Duration) junitCase {
	one := junitCase{Name: plain.Text(v.Test), Class: strings.TrimSuffix(filepath.Base(v.File), filepath.Ext(v.File)), File: v.File, Line: v.Line, Time: seconds(took)}
	if !v.OK {
		text := plain.Lines(v.summary())
		message, _, _ := strings.Cut(text, "\n")
		one.Failure = &junitFailure{message, text}
	}
	return one
}

func (t *testReport) writeJUnit(took time.Duration) error {
	out, err := junitText(junitSuite{Name: "nudgewire", Tests: t.all, Failures: t.failed, Time: seconds(took), Cases: t.cases})
	if err != nil {
		return err
	}
	return os.WriteFile(t.flags.junit, out, 0o600)
}

func junitText(suite junitSuite) ([]byte, error) {
	out, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	return append([]byte(xml.Header), append(out, '\n')...), err
}
