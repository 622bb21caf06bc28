package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What a reload says about a restart is held against the process that runs, however often the file was reloaded since.
func TestWhatNeedsARestartIsHeldAgainstTheProcess(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(plainConfig, "defaults:", "server: {listen: '127.0.0.1:0', max_in_flight: 16MB}\ndefaults:", 1)})
	reload := func(want ...string) {
		t.Helper()
		d, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Clone(d.NeedsRestart)); diff != "" {
			t.Errorf("needs a restart (-want +got):\n%s", diff)
		}
	}
	reload()
	h.edit("127.0.0.1:0", "127.0.0.1:1")
	h.edit("16MB", "32MB")
	h.edit("timeout: 30s", "timeout: 6s")
	moved := []string{"server.listen is still 127.0.0.1:0", "api.timeout is still 30s", "server.max_in_flight is still 16MB"}
	reload(moved...)
	reload(moved...)
	h.edit("127.0.0.1:1", "127.0.0.1:0")
	h.edit("timeout: 6s", "timeout: 30s")
	reload("server.max_in_flight is still 16MB")
	h.edit("32MB", "16MB")
	reload()
}
