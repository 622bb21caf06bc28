package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// TestKilledWhileSendingATest kills the daemon with SIGKILL in the middle of the call of a test, once before the service has taken it and once after.
// Started again, the test is in doubt and is not sent again, and no limit and no figure counts it.
func TestKilledWhileSendingATest(t *testing.T) {
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("the service has taken it: %v", taken), func(t *testing.T) { killWhileTesting(t, taken) })
	}
}

func killWhileTesting(t *testing.T, taken bool) {
	service := sandbox.New(sandbox.Options{
		Keys: []string{"key"}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}},
		Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	})
	defer service.Close()
	api, sends, first := leavesUnanswered(service, "/send-template", 1, taken)
	defer api.Close()

	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	config := fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 2000/s, timeout: 30s}
defaults: {country: GB, language: en, category: utility}
connectors: {shopify: {secret: secret-of-the-crash}}
test_numbers: {me: "%s"}
triggers:
  thanks: {on: shopify.order.created, limit: 1 per day, on_doubt: resend, send: {template: order_update, variables: ['{{ order.id }}']}}
storage: sqlite:%s/nudgewire.db
server: {listen: "%s"}
tracking: {poll: [1s]}
`, api.URL, crashPhone(0), c.folder, c.address)
	if err := os.WriteFile(filepath.Join(c.folder, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := c.start()
	if code, out := c.command("send-test", "thanks", "--to", "me", "--yes", "--no-wait"); code != 0 {
		t.Fatalf("send-test: %s", out)
	}
	<-first
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	daemon.Wait() // it was killed, and says so

	daemon = c.start()
	if !c.post(0) { // an order of the same phone, whose limit is one message
		t.Error("an order was refused")
	}
	c.settled()
	counts, inDoubt := c.ledger()
	if counts[messaging.StateInDoubt] != 1 || counts[messaging.StateAccepted] != 1 || len(counts) != 2 || len(inDoubt) != 1 {
		t.Errorf("messages by state: %v", counts)
	}
	want := 1
	if taken {
		want = 2
	}
	if n := service.Accepted(crashPhone(0)[1:]); n != want || sends.Load() != 2 {
		t.Errorf("the service took %d messages in %d calls", n, sends.Load())
	}
	if code, out := c.command("messages", "show", "1"); code != 0 || !strings.Contains(out, "in doubt") || !strings.Contains(out, "test") {
		t.Errorf("the test: %s", out)
	}
	if code, out := c.command("messages", "resolve", "1", "--as", "resend", "--yes"); code == 0 {
		t.Errorf("a test is sent again: %s", out)
	}
	code, out := c.command("report", "--json")
	var told report.View
	if err := json.Unmarshal([]byte(out), &told); code != 0 || err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s := told.Total; s.Queued != 1 || s.Accepted != 1 || s.InDoubt != 0 || s.Tests != 0 { // a test counts once it was taken
		t.Errorf("the report has %+v", s)
	}
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon's end: %v", err)
	}
}
