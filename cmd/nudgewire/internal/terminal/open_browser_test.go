package terminal

import (
	"io"
	"testing"
)

// A browser is opened only for somebody who sits there.
func TestABrowserIsOpenedForAPersonAlone(t *testing.T) {
	t.Parallel()
	c := &CLI{Streams: Streams{Out: io.Discard, Err: io.Discard}}
	if c.Watched(func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }) {
		t.Error("a browser would be opened though nobody reads the output")
	}
	for system, want := range map[string]string{"linux": "xdg-open", "darwin": "open", "windows": "rundll32", "freebsd": "xdg-open"} {
		if name, _ := opener(system); name != want {
			t.Errorf("on %s %q shows an address, want %q", system, name, want)
		}
	}
}
