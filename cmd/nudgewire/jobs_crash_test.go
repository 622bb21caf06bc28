package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// TestKilledWhileUploading kills the daemon with SIGKILL while part 3 of 6 is on its way, once
// before the service has taken it and once after. Started again, it uploads the others and says
// of part 3 what nobody can know.
func TestKilledWhileUploading(t *testing.T) {
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("the service has taken part 3: %v", taken), func(t *testing.T) { killWhileUploading(t, taken) })
	}
}

func killWhileUploading(t *testing.T, taken bool) {
	service := sandbox.New(sandbox.Options{
		Keys:      []string{"key"},
		Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}},
	})
	defer service.Close()
	api, _, third := leavesUnanswered(service, "/create-with-csv", 3, taken)
	defer api.Close()

	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	config := fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 2000/s, timeout: 30s}
defaults: {country: GB, language: en}
jobs:
  winback:
    source: {csv: "%s/list.csv"}
    columns: {phone: phone, var_1: name}
    campaign: {template_id: 1042}
    max_size: 100kB
storage: sqlite:%s/nudgewire.db
server: {listen: "%s"}
`, api.URL, c.folder, c.folder, c.address)
	var rows strings.Builder
	rows.WriteString("phone,name\n")
	const total = 21_000
	for i := range total {
		fmt.Fprintf(&rows, "+447%09d,Customer %05d\n", 100_000_000+i, i)
	}
	for name, text := range map[string]string{"config.yaml": config, "list.csv": rows.String()} {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	daemon := c.start()
	if code, out := c.command("jobs", "run", "winback", "--yes"); code != 0 {
		t.Fatalf("jobs run: %s", out)
	}
	<-third
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	daemon.Wait() // it was killed, and says so

	daemon = c.start()
	code, out := c.command("jobs", "show", "1", "--follow", "--json")
	if code != exit.Failed {
		t.Errorf("a run that is partial ends the command with %d: %s", code, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var r server.RunView
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if want := "5 of 6 parts were accepted; part 3 is in doubt: nudgewire stopped before it could store how its upload ended"; r.State != messaging.RunPartial || r.Reason != want {
		t.Errorf("the run is %s: %s", r.State, r.Reason)
	}
	times := map[string]int{}
	for _, u := range service.Campaigns() {
		times[u.SHA256]++
	}
	sent := 0
	for _, p := range r.Parts {
		want, n := messaging.PartAccepted, 1
		if p.Number == 3 {
			want, n = messaging.PartInDoubt, 0
			if taken {
				n = 1
			}
		}
		sent += n * int(p.Rows)
		if p.State != want || times[p.SHA256] != n || p.Attempt != 1 {
			t.Errorf("part %d is %s after %d attempts, and the service has it %d times, want %s and %d", p.Number, p.State, p.Attempt, times[p.SHA256], want, n)
		}
	}
	if s := service.Stats(); s.Messages != sent || s.Duplicates != 0 {
		t.Errorf("the service counts %d messages, %d twice; want %d", s.Messages, s.Duplicates, sent)
	}
	if code, out := c.command("jobs", "retry", "1", "--yes"); code != exit.Nothing || !strings.Contains(out, "run 1 has nothing that can be sent again") || !strings.Contains(out, "1 part is in doubt") {
		t.Errorf("a retry of what is in doubt: %d %s", code, out)
	}
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon's end: %v", err)
	}
}

// command runs the program beside the daemon and gives its exit status and output.
func (c *crash) command(args ...string) (code int, out string) {
	c.t.Helper()
	program, err := exec.LookPath("nudgewire")
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), program, append(args, "--config", filepath.Join(c.folder, "config.yaml"))...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}
