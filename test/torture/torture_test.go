package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is the nudgewire that tests play with, with the race detector where they have it, and quick is one that never has it: with it
// everything takes five to ten times as long.
var program, quick string

func TestMain(m *testing.M) {
	code, err := withProgram(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withProgram runs the tests while there is a program.
func withProgram(tests func() int) (code int, err error) {
	folder, err := os.MkdirTemp("", "nudgewire-torture-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if program, err = buildProgram(context.Background(), folder, hasRaceDetector()); err != nil {
		return 1, err
	}
	apart := filepath.Join(folder, "quick")
	if err := os.Mkdir(apart, 0o700); err != nil {
		return 1, err
	}
	if quick, err = buildProgram(context.Background(), apart, false); err != nil {
		return 1, err
	}
	return tests(), nil
}

// TestTorture is forty seconds of kills, stops, reloads and faults, audited when nothing waits but what a rule holds back.
// "go run ./test/torture -for 1h" is more of it.
func TestTorture(t *testing.T) {
	report, err := Run(t.Context(), Options{Program: program, Folder: t.TempDir(), For: 40 * time.Second, Seed: 3, Rate: 15, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	if report.Kills < 2 || report.Stops < 1 || report.Reloads < 1 || report.Messages < 100 {
		t.Errorf("too little happened to prove anything: %+v", report)
	}
	t.Logf("%+v", report)
}

// TestTortureEndsWhenInterrupted ends a round that has an hour before it, while customers post and the daemon is up or down.
func TestTortureEndsWhenInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	lines := 0
	say := func(format string, args ...any) {
		if t.Logf(format, args...); lines == 2 {
			interrupt(errors.New("a person"))
		}
		lines++
	}
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Options{Program: program, Folder: t.TempDir(), For: time.Hour, Seed: 3, Say: say})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.HasSuffix(err.Error(), "by a person; nothing was audited") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("it goes on")
	}
}

// What was played is told to people and to programs, and a violation is a failure.
func TestReportsAreWritten(t *testing.T) {
	good := Report{Seed: 7, Took: time.Minute, Customers: 1500, Webhooks: 2700, Messages: 2000, Kills: 4, Stops: 1, Reloads: 3}
	bad := good
	bad.Violations = []string{"message 3 came twice"}
	for _, c := range []struct {
		report *Report
		want   []string
		failed bool
	}{
		{&good, []string{"seed 7, 1m0s: 1,500 customers, 2700 webhooks, 2,000 messages", "4 kills, 1 stop and 3 reloads", "0 violations"}, false},
		{&bad, []string{"VIOLATION message 3 came twice"}, true},
	} {
		var text, data bytes.Buffer
		if err := c.report.write(&text, false); (err != nil) != c.failed {
			t.Errorf("%v: as text: %v", c.report.Violations, err)
		}
		for _, one := range c.want {
			if !strings.Contains(text.String(), one) {
				t.Errorf("%q does not say %q", text.String(), one)
			}
		}
		if err := c.report.write(&data, true); (err != nil) != c.failed {
			t.Errorf("%v: as JSON: %v", c.report.Violations, err)
		}
		var read Report
		if err := json.Unmarshal(data.Bytes(), &read); err != nil || read.Webhooks != 2700 || len(read.Violations) != len(c.report.Violations) {
			t.Errorf("%s, read: %+v, %v", data.String(), read, err)
		}
	}
}

func TestArgumentsThatMeanNothing(t *testing.T) {
	for arg, want := range map[string]string{"-seed=x": "invalid value", "-sed=1": "flag provided but not defined", "now": `not "now"`} {
		var log bytes.Buffer
		if err := run(t.Context(), []string{arg}, &log, &log); !errors.Is(err, errUsage) || !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "-kill-every") {
			t.Errorf("%s: %v: %s", arg, err, log.String())
		}
	}
}

// A program that is named is not built, and one that cannot run is a round that could not be played: its folder is kept.
func TestAProgramOfItsOwn(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-binary", t.TempDir() + "/none"}, &out, &log)
	if err == nil || !strings.Contains(err.Error(), "start the daemon") || !strings.Contains(log.String(), "kept: "+os.Getenv("TMPDIR")) {
		t.Errorf("%v; %s%s", err, out.String(), log.String())
	}
}
