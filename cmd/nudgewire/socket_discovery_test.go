package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

// wherever gives an attended daemon a config whose paths are relative, and says its path from another folder.
func wherever(t *testing.T) *crash {
	t.Helper()
	c := attended(t)
	c.edit("sqlite:"+c.folder+"/nudgewire.db", "sqlite:data/nudgewire.db")
	c.edit(c.folder+"/list.csv", "list.csv")
	c.edit("secret: secret-of-the-crash", "secret: '${file:secret.txt}'")
	c.put("secret.txt", "secret-of-the-crash\n")
	c.stop()
	c.begin()
	return c
}

func (c *crash) edit(from, to string) {
	c.t.Helper()
	path := filepath.Join(c.folder, "config.yaml")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), from) {
		c.t.Fatalf("no %q in the config: %v", from, err)
	}
	c.put("config.yaml", strings.ReplaceAll(string(text), from, to))
}

// elsewhere runs a command in another folder than the config's.
func (c *crash) elsewhere(args ...string) (int, string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.program(), append(args, "--config", filepath.Join(c.folder, "config.yaml"))...)
	cmd.Dir = c.t.TempDir()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestRelativePathsStartAtTheConfigsFolder(t *testing.T) {
	c := wherever(t)
	data := filepath.Join(c.folder, "data", "nudgewire.db")
	if _, err := os.Stat(data); err != nil {
		t.Error(err)
	}
	for _, one := range []struct {
		args string
		want string
	}{
		{"status", "database    " + data + "\n"},
		{"halt", "halted  everything"},
		{"resume", "nothing is halted"},
		{"check", "is good"},
		{"jobs forecast winback", "rows        2, 2 to send"},
	} {
		if code, out := c.elsewhere(strings.Fields(one.args)...); code != 0 || !strings.Contains(out, one.want) {
			t.Errorf("%s from another folder: exit status %d, no %q in\n%s", one.args, code, one.want, out)
		}
	}
	if code, out := c.elsewhere("serve"); code != exit.TryLater || !strings.Contains(out, "already uses this data") {
		t.Errorf("a second daemon from another folder: exit status %d\n%s", code, out)
	}
}

// Whoever edits storage: still reaches the daemon that runs: to stop it, and to be told that it wants a restart.
func TestADaemonIsFoundAfterItsStorageWasEdited(t *testing.T) {
	c := wherever(t)
	c.edit("sqlite:data/nudgewire.db", "sqlite:other/nudgewire.db")
	data := filepath.Join(c.folder, "data", "nudgewire.db")
	for _, one := range []struct {
		args string
		want string
	}{
		{"halt", "halted  everything"},
		{"reload", "storage is still " + data},
		{"status", "database    " + data + "\n"},
		{"doctor", "its data is at " + data + ", and storage: in the config is " + filepath.Join(c.folder, "other", "nudgewire.db") + " now"},
	} {
		code, out := c.elsewhere(strings.Fields(one.args)...)
		if (one.args == "doctor") != (code != 0) || !strings.Contains(out, one.want) {
			t.Errorf("%s: exit status %d, no %q in\n%s", one.args, code, one.want, out)
		}
	}

	// Another user finds no note, and is told that somebody is there.
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, args := range []string{"halt", "status", "reload"} {
		code, out := c.elsewhere(args)
		if code != exit.NoDaemon || !strings.Contains(out, "no daemon is running over "+filepath.Join(c.folder, "other", "nudgewire.db")+
			", but a daemon answers on "+c.address+" whose data is elsewhere") || !strings.Contains(out, "put storage: back") {
			t.Errorf("%s without a note: exit status %d\n%s", args, code, out)
		}
	}
	if code, out := c.elsewhere("doctor"); code != exit.Failed || !strings.Contains(out, "whose data is elsewhere") || strings.Contains(out, "is not running") {
		t.Errorf("doctor without a note: exit status %d\n%s", code, out)
	}
}

func TestTheNoteOfADaemonGoesWithIt(t *testing.T) {
	c := attended(t)
	config := filepath.Join(c.folder, "config.yaml")
	if got := terminal.NotedSocket(config); got != filepath.Join(c.folder, "nudgewire.db.sock") {
		t.Errorf("noted %q", got)
	}
	c.stop()
	if got := terminal.NotedSocket(config); got != "" {
		t.Errorf("after its end %q is noted", got)
	}
	c.begin()
}
