package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// With a status endpoint that fails all the time messages leave at the configured rate, and status
// says whom the trouble slows.
func TestABrokenStatusEndpointDoesNotSlowSends(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 600)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, perMessage) + "tracking: {poll: [1s]}\n",
		sandbox: sandbox.Options{Faults: sandbox.Faults{ErrorRate: 1, Endpoints: []string{"message-status"}}},
	})
	h.edit("rate: 5000/s", "rate: 100/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.fire("winback")
	h.eventually("all have left", func() bool { return h.service.Stats().Messages == len(wanted) })
	rate := h.status().Daemon.Rate
	if !strings.HasPrefix(rate, "100 requests a second; status questions at ") || !strings.Contains(rate, " a second, slowed from 100 after trouble at ") {
		t.Errorf("the rate: %s", rate)
	}
}
