package main

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// The daemon that a package starts: by the unit's command line, with systemd
// listening. deploy/package/try does the same with the deb itself, in a Debian root.
func TestTheUnitsCommandLine(t *testing.T) {
	service := sandbox.New(sandbox.Options{Keys: []string{"key"}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}}})
	api := httptest.NewServer(service.Handler())
	t.Cleanup(func() { service.Close(); api.Close() })
	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	c.put("config.yaml", fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key}
defaults: {country: GB, language: en, category: utility}
connectors: {shopify: {secret: a-long-enough-secret}}
triggers:
  thanks: {on: shopify.order.created, send: {template: order_update}}
  reminder: {on: shopify.cart.updated, wait: 90d, expires: off, send: {template: cart_reminder}}
storage: sqlite:%s/nudgewire.db
server: {listen: "%s"}
`, api.URL, c.folder, c.address))

	// systemd: a socket that datagrams come in by.
	path := filepath.Join(c.folder, "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	told := func() string {
		t.Helper()
		buf := make([]byte, 256)
		if err := systemd.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := systemd.Read(buf)
		if err != nil {
			t.Fatalf("systemd was told nothing: %v", err)
		}
		return string(buf[:n])
	}

	args := strings.Fields(unitLine(t, "ExecStart"))
	if args[0] != "/usr/bin/nudgewire" {
		t.Errorf("the unit starts %s", args[0])
	}
	for i, arg := range args {
		if arg == terminal.InstalledConfig {
			args[i] = filepath.Join(c.folder, "config.yaml")
		}
	}
	daemon := exec.Command(c.program(), args[1:]...)
	daemon.Stderr = os.Stderr
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "READY=1" {
		t.Errorf("systemd was told %q", got)
	}
	if code, list := c.command("status"); code != 0 {
		t.Errorf("status: exit status %d\n%s", code, list)
	}
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "STOPPING=1" {
		t.Errorf("systemd was told %q", got)
	}
	if err := daemon.Wait(); err != nil {
		t.Error(err)
	}
}

// unitLine is a setting of the systemd unit.
func unitLine(t *testing.T, key string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindSubmatch(mustRead(t, "../../deploy/systemd/nudgewire.service"))
	if m == nil {
		t.Fatalf("the unit has no %s", key)
	}
	return string(m[1])
}

// What the package is to hold is there, and where the unit looks for it.
func TestThePackageHoldsWhatTheUnitNeeds(t *testing.T) {
	var list struct {
		Contents []struct{ Src, Dst string }
		Scripts  map[string]string
	}
	if err := yaml.Unmarshal(mustRead(t, "../../deploy/package/nfpm.yaml"), &list); err != nil {
		t.Fatal(err)
	}
	holds := map[string]bool{}
	for _, c := range list.Contents {
		holds[c.Dst] = true
		list.Scripts[c.Dst] = c.Src
	}
	for what, src := range list.Scripts {
		if src == "" || strings.HasPrefix(src, "@STAGE@/") {
			continue // made by tools/release/build
		}
		if _, err := os.Stat(filepath.Join("../..", src)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, needed := range []string{strings.Fields(unitLine(t, "ExecStart"))[0], terminal.InstalledConfig, "/usr/lib/systemd/system/nudgewire.service"} {
		if !holds[needed] {
			t.Errorf("the package has no %s", needed)
		}
	}
	if err := parseCommand(strings.TrimPrefix(unitLine(t, "ExecReload"), "/usr/bin/nudgewire "), false); err != nil {
		t.Errorf("ExecReload: %v", err)
	}
	if got, want := unitLine(t, "RestartPreventExitStatus"), fmt.Sprint(exit.Config); got != want {
		t.Errorf("a bad config ends with %s, and the unit does not start again after %s", want, got)
	}
}
