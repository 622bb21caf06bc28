package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every terminal that a page shows (```console) is played: each line that begins with "$ " is run, in the order of the page and
// in one folder, and prints what stands below it. There, "…" stands for any text, and alone on a line for any lines; dates and
// times may be others. "&" at the end leaves a command running. A block below <!-- file: NAME --> is written to that file
// first. The ports of the page become free ones.
func TestTerminalsOnPages(t *testing.T) {
	played := 0
	for _, page := range docPages(t) {
		text := string(mustRead(t, page))
		name := strings.TrimPrefix(page, "../../")
		for _, b := range docBlocks(text) {
			if b.kind != "console" && strings.HasPrefix(b.text, "$ ") {
				t.Errorf("%s:%d: this terminal is not played: put it between ```console and ```", name, b.line)
			}
		}
		if strings.Contains(text, "```console\n") {
			played++
			t.Run(name, func(t *testing.T) { t.Parallel(); playPage(t, text) })
		}
	}
	if played == 0 {
		t.Error("no page shows a terminal: does this test still read the pages?")
	}
}

// A terminal is one folder in which the commands of a page run.
type playedTerminal struct {
	t      *testing.T
	folder string
	ports  *strings.Replacer // of the page, to free ones
	back   *strings.Replacer
	left   []*exec.Cmd // running
}

func playPage(t *testing.T, page string) {
	listen, service := freeAddress(t), freeAddress(t)
	term := &playedTerminal{
		t: t, folder: t.TempDir(),
		ports: strings.NewReplacer("127.0.0.1:8080", listen, "127.0.0.1:8091", service),
		back:  strings.NewReplacer(listen, "127.0.0.1:8080", service, "127.0.0.1:8091"),
	}
	defer term.end()
	lines := strings.Split(page, "\n")
	for _, b := range docBlocks(page) {
		if file, ok := strings.CutPrefix(lines[max(b.line-3, 0)], "<!-- file: "); ok {
			path := filepath.Join(term.folder, strings.TrimSuffix(file, " -->"))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(term.ports.Replace(b.text)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if b.kind != "console" {
			continue
		}
		for part := range strings.SplitSeq("\n"+strings.TrimSuffix(b.text, "\n"), "\n$ ") {
			if line, want, _ := strings.Cut(part, "\n"); line != "" {
				term.run(b.line, line, want)
			}
		}
	}
}

func (term *playedTerminal) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+term.ports.Replace(line))
	if strings.ContainsAny(line, "|;") {
		cmd.Args[2] = term.ports.Replace(line)
	}
	cmd.Dir = term.folder
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "TZ=UTC", "MESSAGING_API_KEY=key-of-the-page", "SHOPIFY_WEBHOOK_SECRET=a-secret-of-the-page",
		"XDG_CACHE_HOME="+filepath.Join(term.folder, ".cache"))
	return cmd
}

// run runs one line of the page and holds what it prints to what stands below it.
func (term *playedTerminal) run(place int, line, want string) {
	term.t.Helper()
	line, _, _ = strings.Cut(line, "  #") // words for the reader
	line = strings.TrimSpace(line)
	if ahead, ok := strings.CutSuffix(line, "&"); ok {
		cmd := term.command(context.Background(), strings.TrimSpace(ahead))
		if err := cmd.Start(); err != nil {
			term.t.Fatalf("line %d: %s: %v", place, line, err)
		}
		term.left = append(term.left, cmd)
		term.awaitListener(ahead)
		return
	}
	ctx, cancel := context.WithTimeout(term.t.Context(), time.Minute)
	defer cancel()
	program, err := quickProgram()
	if err != nil {
		term.t.Fatal(err)
	}
	path := "PATH=" + filepath.Dir(program) + string(filepath.ListSeparator) + os.Getenv("PATH")
	// What a daemon does takes a moment: the page shows what is there then.
	var got string
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		cmd := term.command(ctx, line)
		cmd.Env = append(cmd.Env, path)
		out, err := cmd.CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			term.t.Fatalf("line %d: %s: %v", place, line, err)
		}
		got = strings.TrimSpace(term.back.Replace(string(out)))
		if like(want).MatchString(plainTimes(got)) {
			return
		}
		if time.Now().After(end) || !repeatable.MatchString(line) {
			break
		}
	}
	term.t.Errorf("line %d: %s\nprints:\n%s\nand the page shows:\n%s", place, line, got, want)
}

// repeatable are commands that only look, and may be asked until the daemon is done.
var repeatable = regexp.MustCompile(`^nudgewire (why|status|events (list|show)|messages (list|show)|jobs (list|history|show)|doctor|contacts (list|show))`)

func (term *playedTerminal) awaitListener(line string) {
	address := term.ports.Replace("127.0.0.1:8080")
	if strings.Contains(line, "sandbox") {
		address = term.ports.Replace("127.0.0.1:8091")
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
	}
	term.t.Fatalf("%s does not listen", line)
}

func (term *playedTerminal) end() {
	for i := len(term.left) - 1; i >= 0; i-- {
		_ = term.left[i].Process.Signal(os.Interrupt)
		_ = term.left[i].Wait()
	}
}

var pageTimes = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?( UTC| [+-]\d\d:\d\d)?|\d{4}-\d\d-\d\d|\b\d\d:\d\d:\d\d(\.\d+)?`)

func plainTimes(text string) string { return pageTimes.ReplaceAllString(text, "<time>") }

// like is what a page shows as a pattern.
func like(want string) *regexp.Regexp {
	text := regexp.QuoteMeta(plainTimes(strings.TrimSpace(want)))
	text = regexp.MustCompile(`(?m)^[ \t]*…$\n?`).ReplaceAllString(text, "(?s:.*)")
	text = strings.ReplaceAll(text, "…", ".*")
	return regexp.MustCompile(`^` + regexp.MustCompile(` {2,}`).ReplaceAllString(text, " +") + `$`)
}
