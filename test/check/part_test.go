package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// play has a part see what a command writes, each line a second after the one before, and gives what it says.
func play(p *part, out *strings.Builder, now *time.Time, end error, lines ...string) (good bool, said string) {
	p.begin()
	for _, line := range lines {
		*now = now.Add(time.Second)
		p.line([]byte(line + "\n"))
		p.beat()
	}
	good = p.end(end)
	return good, out.String()
}

func newTestPart(name string) (*part, *strings.Builder, *time.Time) {
	out, now := &strings.Builder{}, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	return newPart(name, out, func() time.Time { return now }), out, &now
}

func testLine(action, test, more string) string {
	return `{"Time":"2026-03-02T12:00:00Z","Action":"` + action + `","Package":"github.com/nudgewire/nudgewire/store","Test":"` + test + `"` + more + `}`
}

func packageLine(action, more string) string {
	return `{"Action":"` + action + `","Package":"github.com/nudgewire/nudgewire/store"` + more + `}`
}

func TestAPackageThatEndedHasALine(t *testing.T) {
	p, out, now := newTestPart("test")
	good, said := play(p, out, now, nil, packageLine("start", ""), testLine("run", "TestA", ""), testLine("output", "TestA", `,"Output":"a secret of success\n"`), testLine("pass", "TestA", ""), packageLine("pass", `,"Elapsed":12.34`))
	if !good || !strings.Contains(said, "ok   store                       12.3s  1 tests") || strings.Contains(said, "secret of success") {
		t.Errorf("%v: %s", good, said)
	}
	if !strings.HasPrefix(said, "== test\n") || !strings.HasSuffix(said, "== test: ok after 5s, with 0s of processors\n") {
		t.Errorf("%s", said)
	}
}

func TestWhatFailedIsToldAtTheEnd(t *testing.T) {
	p, out, now := newTestPart("test")
	good, said := play(p, out, now, errors.New("exit status 1"),
		testLine("run", "TestA", ""), testLine("output", "TestA", `,"Output":"=== RUN   TestA\n"`), testLine("output", "TestA", `,"Output":"a_test.go:3: it is 4\n"`), testLine("run", "TestB", ""), testLine("output", "TestB", `,"Output":"b is fine\n"`),
		testLine("pass", "TestB", ""), testLine("fail", "TestA", ""), testLine("run", "TestC", ""), testLine("output", "TestC", `,"Output":"panic: cut off\n"`),
		packageLine("output", `,"Output":"FAIL\n"`), packageLine("fail", `,"Elapsed":1`), "and more")
	if good || strings.Contains(said, "b is fine") {
		t.Errorf("%v: %s", good, said)
	}
	_, told, _ := strings.Cut(said, "what failed said:")
	if strings.Contains(told, "===") {
		t.Errorf("it says what says nothing: %s", told)
	}
	for _, want := range []string{"-- store", "a_test.go:3: it is 4", "panic: cut off", "== test: FAILED (exit status 1)"} {
		if !strings.Contains(told, want) {
			t.Errorf("the end does not say %q: %s", want, said)
		}
	}
}

func TestWhatIsNotBuiltIsToldAtTheEnd(t *testing.T) {
	p, out, now := newTestPart("test")
	build := `"ImportPath":"github.com/nudgewire/nudgewire/store [github.com/nudgewire/nudgewire/store.test]"`
	good, said := play(p, out, now, errors.New("exit status 1"), `{`+build+`,"Action":"build-output","Output":"store/a.go:1:1: undefined: b\n"}`, `{`+build+`,"Action":"build-fail"}`,
		packageLine("fail", `,"FailedBuild":"github.com/nudgewire/nudgewire/store [github.com/nudgewire/nudgewire/store.test]"`))
	if _, told, _ := strings.Cut(said, "what failed said:"); good || !strings.Contains(told, "undefined: b") {
		t.Errorf("%v: %s", good, said)
	}
}

func TestASkippedTestIsNamedAndMayFailThePart(t *testing.T) {
	for _, noSkip := range []bool{false, true} {
		p, out, now := newTestPart("test")
		p.noSkip = noSkip
		good, said := play(p, out, now, nil, testLine("run", "TestA", ""), testLine("output", "TestA", `,"Output":"=== RUN   TestA\n"`), testLine("output", "TestA", `,"Output":"    a_test.go:9: no browser\n"`),
			testLine("skip", "TestA", ""), packageLine("pass", ""))
		if good == noSkip || !strings.Contains(said, "store TestA: a_test.go:9: no browser") {
			t.Errorf("noskip %v: %v: %s", noSkip, good, said)
		}
	}
}

func TestOfManySkippedTestsSomeAreNamed(t *testing.T) {
	p, out, now := newTestPart("test")
	var lines []string
	for range mostSkipped + 5 {
		lines = append(lines, testLine("skip", "TestA", ""))
	}
	if _, said := play(p, out, now, nil, lines...); strings.Count(said, "store TestA") != mostSkipped || !strings.Contains(said, "and 5 more") {
		t.Error(said)
	}
}

func TestItIsNeverSilentForLong(t *testing.T) {
	p, out, now := newTestPart("test")
	p.begin()
	last := now.Add(0)
	for i := range 100 {
		*now = now.Add(time.Second)
		if i == 30 {
			p.line([]byte(testLine("run", "TestSlow", "")))
			p.line([]byte(testLine("run", "TestSlow/sub", "")))
			p.line([]byte(testLine("run", "TestWaits", "")))
			p.line([]byte(testLine("pause", "TestWaits", "")))
		}
		before := out.Len()
		p.beat()
		if out.Len() > before {
			last = *now
		}
		if now.Sub(last) >= 30*time.Second {
			t.Fatalf("silent for %s: %s", now.Sub(last), out)
		}
	}
	if said := out.String(); !strings.Contains(said, "20s of test so far") || !strings.Contains(said, "running: store 29s, TestSlow/sub 29s\n") || strings.Contains(said, "TestWaits") {
		t.Errorf("%s", said)
	}
}

func TestACommandIsRun(t *testing.T) {
	var out strings.Builder
	log := filepath.Join(t.TempDir(), "log")
	if good, err := run(t.Context(), []string{"-log", log, "version", "go", "version"}, &out); !good || err != nil || !strings.Contains(out.String(), "\ngo version go1") {
		t.Errorf("%v, %v: %s", good, err, out.String())
	}
	if good, err := run(t.Context(), []string{"none", "go", "no-such-command"}, &out); good || err != nil || !strings.Contains(out.String(), "== none: FAILED (exit status 2)") {
		t.Errorf("%v, %v: %s", good, err, out.String())
	}
	if good, err := run(t.Context(), []string{"-log", log, "test", "go", "test", "-json", "-run", "TestAPackageThatEnded", "."}, &out); !good || err != nil || !strings.Contains(out.String(), "ok   test/check") {
		t.Errorf("%v, %v: %s", good, err, out.String())
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "test/check: --- PASS: TestAPackageThatEnded") {
		t.Errorf("the log: %v: %s", err, text)
	}
	if _, err := run(t.Context(), []string{"alone"}, &out); err == nil {
		t.Error("a name without a command is run")
	}
}

// What a command writes into a temporary folder is gone afterwards; where no memory can be had, the folder is the usual one.
func TestTemporaryFilesMayBeInMemory(t *testing.T) {
	var out strings.Builder
	good, err := run(t.Context(), []string{"-memory", "where", "sh", "-c", `mktemp > /dev/null && echo "at:$TMPDIR"`}, &out)
	_, at, _ := strings.Cut(out.String(), "at:")
	at, _, _ = strings.Cut(at, "\n")
	if !good || err != nil {
		t.Fatalf("%v, %v: %s", good, err, out.String())
	}
	folder, remove := inMemory()
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at); folder != "" && (!strings.HasPrefix(at, filepath.Dir(folder)) || !errors.Is(err, os.ErrNotExist)) {
		t.Errorf("the folder was %q (%v), and another is %q", at, err, folder)
	}
	if _, err := os.Stat(folder); folder != "" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", folder, err)
	}
}
