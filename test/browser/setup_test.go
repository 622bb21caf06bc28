package browser

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/nudgewire/nudgewire/test/testserver"
)

var linkOf = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?link=\w+`)

// A firstRun is what the walk needs of a setup that just began.
type firstRun struct {
	Link    string `json:"link"`
	Hooks   string `json:"hooks"` // an address that nobody has, and another one
	Console string `json:"console"`
}

// setup starts "nudgewire setup" in a folder of its own. It ends with the test.
func setup(t *testing.T) (run firstRun) {
	t.Helper()
	for _, at := range []*string{&run.Hooks, &run.Console} {
		var err error
		if *at, err = testserver.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "nudgewire")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/nudgewire").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "setup", "--no-browser", filepath.Join(folder, "config.yaml"))
	words, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := bufio.NewScanner(words)
	for run.Link == "" && all.Scan() {
		run.Link = linkOf.FindString(all.Text())
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		var rest []string
		for all.Scan() {
			rest = append(rest, all.Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("setup ended with %v: %q", err, rest)
		}
	})
	if run.Link == "" {
		t.Fatal("setup printed no link")
	}
	return run
}
