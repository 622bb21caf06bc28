package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

// quickProgram is the program for commands that the tests start by hundreds. A start of the test binary with the race detector takes ten
// times as long as one without, so where the tests run with it, these commands are built without. The daemon that they ask has it, and
// so have the commands of every other script.
var quickProgram = sync.OnceValues(func() (path string, err error) {
	program, err := exec.LookPath("nudgewire") // testscript puts the test binary there
	if err != nil {
		return "", err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return program, nil
	}
	folder := filepath.Join(filepath.Dir(program), "quick") // whoever put the other there removes it
	build := exec.CommandContext(context.Background(), "go", "build", "-o", folder+"/", ".")
	build.Env = append(os.Environ(), "XDG_CACHE_HOME="+userCache) // where what is compiled lies
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nudgewire: %w\n%s", err, said)
	}
	return filepath.Join(folder, "nudgewire"), nil
})

// exits CODE ARGS runs nudgewire and wants that exit status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	program, err := quickProgram()
	ts.Check(err)
	got := 0
	if err := ts.Exec(program, args[1:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("nudgewire %s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// eventually ARGS runs nudgewire until it ends well.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec("nudgewire", args...)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("nudgewire %s: %v", strings.Join(args, " "), err)
		}
	}
}

// mkconfig makes config.yaml of template.yaml with the addresses of this script.
func mkconfig(ts *testscript.TestScript, _ bool, _ []string) {
	text := strings.NewReplacer("SERVICE", ts.Getenv("SERVICE"), "LISTEN", ts.Getenv("LISTEN")).Replace(ts.ReadFile("template.yaml"))
	ts.Check(os.WriteFile(ts.MkAbs("config.yaml"), []byte(text), 0o600))
}

// Whoever adds a command says in exits.txtar how it ends, and the table has words for each status.
func TestEveryCommandHasItsExitStatus(t *testing.T) {
	script, err := os.ReadFile("testdata/exits.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "nudgewire")
		if !cmd.HasSubCommands() && !regexp.MustCompile(`(?m)^exits \d+`+path+`( |$)`).Match(script) {
			t.Errorf("exits.txtar does not say how%s ends", path)
		}
	}
	walk(newRoot(&terminal.CLI{}))

	means := map[int]bool{}
	for _, e := range exit.Table {
		means[e.Code] = true
	}
	for status, code := range exit.ByAnswer {
		if !means[code] {
			t.Errorf("the answer %d makes the exit status %d, which has no meaning", status, code)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^exits (\d+)`).FindAllStringSubmatch(string(script), -1) {
		if code, err := strconv.Atoi(m[1]); err != nil || !means[code] {
			t.Errorf("exits.txtar has the status %s, which has no meaning", m[1])
		}
	}
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exit.Table {
		if line := fmt.Sprintf("\n| %d | %s |\n", e.Code, e.Means); !strings.Contains(string(page), line) {
			t.Errorf("docs/commands.md does not say %q", line)
		}
	}
}
