package app_test

import (
	"testing"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/app"
)

// A file that could not be used at the next start is told, once it is put back no more, and reload has the last word.
func TestAConfigFileThatCouldNotBeUsedIsTold(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: plainConfig})
	trouble := func() (words string) {
		for _, one := range h.status().Troubles {
			if one.Code == nudgewire.TroubleConfig {
				words += one.Words
			}
		}
		return words
	}
	const begins = "the config file was changed and cannot be used as it is; the daemon uses what it read before, and could not start anew: "
	for range 2 {
		h.edit("wait: 1h", "weit: 1h")
		app.LookAtConfigFile(h.App)
		if words := trouble(); len(words) <= len(begins) || words[:len(begins)] != begins {
			t.Errorf("changed, and told %q", words)
		}
		if err := h.Reload(t.Context()); err == nil {
			t.Fatal("the file was taken")
		}
		if words := trouble(); len(words) < 30 || words[:30] != "the last reload was rejected, " {
			t.Errorf("reloaded, and told %q", words)
		}
		h.edit("weit: 1h", "wait: 1h")
		app.LookAtConfigFile(h.App)
		if words := trouble(); words != "" {
			t.Errorf("put back, and told %q", words)
		}
	}
}
