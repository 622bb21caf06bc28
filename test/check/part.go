package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A part is one command of the check, and what was seen of it.
type part struct {
	name   string
	out    io.Writer
	log    io.Writer // nil for none
	noSkip bool
	now    func() time.Time

	began time.Time
	last  time.Time     // when something was said
	busy  time.Duration // processor time; known at the end

	running map[string]*tested // packages whose tests run
	builds  map[string][]string
	failed  []string // lines that are told at the end
	skipped []string
	broken  bool // a package failed
}

// A tested is a package whose tests run.
type tested struct {
	began   time.Time
	tests   map[string]time.Time // that run, and since when
	said    map[string][]string  // by those that have not ended; "" is the package's own
	passed  int
	reasons []string // of the package's failed tests
}

const (
	quiet       = 20 * time.Second // in which nothing was said, until it is said what runs
	mostSaid    = 100              // lines of a test that failed, the last ones
	mostRun     = 3                // tests and packages that a heartbeat names
	mostSkipped = 20               // tests that are named
)

// module is cut off the names of packages.
const module = "github.com/nudgewire/nudgewire/"

func newPart(name string, out io.Writer, now func() time.Time) *part {
	return &part{name: name, out: out, now: now, running: map[string]*tested{}, builds: map[string][]string{}}
}

func (p *part) say(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
	p.last = p.now()
}

func (p *part) begin() {
	p.began = p.now()
	p.say("== %s", p.name)
}

// took is how long it is since a time, in words.
func (p *part) took(since time.Time) string { return p.now().Sub(since).Round(time.Second).String() }

// beat says what runs, where nothing else was said for a while.
func (p *part) beat() {
	if p.now().Sub(p.last) < quiet {
		return
	}
	if len(p.running) == 0 {
		p.say("   %s of %s so far", p.took(p.began), p.name)
		return
	}
	var what []string
	for _, name := range longest(p.running, func(t *tested) time.Time { return t.began }) {
		t := p.running[name]
		words := []string{name + " " + p.took(t.began)}
		for _, test := range longest(t.innermost(), func(at time.Time) time.Time { return at }) {
			words = append(words, test+" "+p.took(t.tests[test]))
		}
		what = append(what, strings.Join(words, ", "))
	}
	p.say("   %s so far; running: %s", p.took(p.began), strings.Join(what, "; "))
}

// innermost are the tests that run and wait for no subtest.
func (t *tested) innermost() map[string]time.Time {
	out := maps.Clone(t.tests)
	for test := range t.tests {
		for i := strings.LastIndexByte(test, '/'); i > 0; i = strings.LastIndexByte(test[:i], '/') {
			delete(out, test[:i])
		}
	}
	return out
}

// longest are the names of those that began first.
func longest[T any](all map[string]T, began func(T) time.Time) []string {
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if c := began(all[a]).Compare(began(all[b])); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return names[:min(len(names), mostRun)]
}

// An event is a line of "go test -json".
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64 // seconds
}

// line takes a line that the command wrote.
func (p *part) line(text []byte) {
	var e event
	if !bytes.HasPrefix(text, []byte(`{"`)) || json.Unmarshal(text, &e) != nil || e.Action == "" {
		p.say("%s", strings.TrimRight(string(text), "\n"))
		return
	}
	if e.Action == "build-output" {
		p.builds[e.ImportPath] = append(p.builds[e.ImportPath], e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	name := strings.TrimPrefix(e.Package, module)
	t := p.running[name]
	if t == nil {
		t = &tested{began: p.now(), tests: map[string]time.Time{}, said: map[string][]string{}}
		p.running[name] = t
	}
	if e.Action == "output" && p.log != nil {
		fmt.Fprintf(p.log, "%s: %s", name, e.Output) // a file that cannot be written is an error when it is flushed
	}
	if e.Test == "" {
		p.ofPackage(name, t, e)
	} else {
		p.ofTest(name, t, e)
	}
}

// ofTest takes what is said of one test.
func (p *part) ofTest(name string, t *tested, e event) {
	switch e.Action {
	case "run", "cont":
		t.tests[e.Test] = p.now()
	case "pause":
		delete(t.tests, e.Test)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") { // which says no more than the action
			t.said[e.Test] = lastOf(append(t.said[e.Test], e.Output))
		}
	case "pass":
		t.passed++
	case "skip":
		p.skipped = append(p.skipped, fmt.Sprintf("%s %s: %s", name, e.Test, plainOf(t.said[e.Test])))
	case "fail":
		t.reasons = append(t.reasons, t.said[e.Test]...)
	}
	if e.Action == "pass" || e.Action == "skip" || e.Action == "fail" {
		delete(t.tests, e.Test)
		delete(t.said, e.Test)
	}
}

// ofPackage takes what is said of a whole package.
func (p *part) ofPackage(name string, t *tested, e event) {
	took := time.Duration(e.Elapsed * float64(time.Second)).Round(100 * time.Millisecond)
	switch e.Action {
	case "output":
		t.said[""] = lastOf(append(t.said[""], e.Output))
	case "pass":
		p.say("ok   %-24s %8s  %d tests", name, took, t.passed)
	case "fail":
		p.broken = true
		p.say("FAIL %-24s %8s", name, took)
		p.failed = append(p.failed, "-- "+name+"\n")
		p.failed = append(append(p.failed, p.builds[e.FailedBuild]...), t.reasons...)
		for _, test := range slices.Sorted(maps.Keys(t.said)) { // what a crash cut off, and the package's own words
			p.failed = append(p.failed, t.said[test]...)
		}
	}
	if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
		delete(p.running, name)
	}
}

// lastOf are the last lines of many.
func lastOf(lines []string) []string { return lines[max(0, len(lines)-mostSaid):] }

// plainOf is the reason in what a skipped test said.
func plainOf(lines []string) string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "---") {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// end says what came of the command, which ended with err, and whether all of it held.
func (p *part) end(err error) (good bool) {
	good = err == nil && !p.broken
	if len(p.failed) > 0 {
		p.say("\n%s: what failed said:", p.name)
		p.say("%s", strings.TrimRight(strings.Join(p.failed, ""), "\n"))
	}
	if len(p.skipped) > 0 {
		words := "these tests were skipped"
		if p.noSkip {
			words, good = words+", and must run here", false
		}
		named := p.skipped[:min(len(p.skipped), mostSkipped)]
		if more := len(p.skipped) - len(named); more > 0 {
			named = append(named, fmt.Sprintf("and %d more", more))
		}
		p.say("%s: %s:\n  %s", p.name, words, strings.Join(named, "\n  "))
	}
	word := "ok"
	if !good {
		word = "FAILED"
	}
	if err != nil {
		word += " (" + err.Error() + ")"
	}
	p.say("== %s: %s after %s, with %s of processors", p.name, word, p.took(p.began), p.busy.Round(time.Second))
	return good
}
