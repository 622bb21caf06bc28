package events

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A request of one's data is answered by the daemon, not by a trigger.
func TestAnEventThatNoTriggerDecidedAboutSaysWhatWasDone(t *testing.T) {
	for kind, want := range map[string]string{"contact.data_requested": "nudgewire contacts requests", "cart.updated": "no trigger listens"} {
		var out bytes.Buffer
		c := commands{&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}}
		e := server.EventView{ID: 1, Event: "shop." + kind}
		story.TellStory(c.CLI, server.StoryView{Event: e})
		if got := c.cameOf(&e); !strings.Contains(got, want) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: the list says %q, and why\n%s", kind, got, &out)
		}
		out.Reset()
		if story.TellTried(c.CLI, preview.TriedEvent{Event: e.Event}); !strings.Contains(out.String(), want) {
			t.Errorf("%s: try says\n%s", kind, &out)
		}
	}
}
