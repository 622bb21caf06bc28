package terminal

import (
	"bytes"
	"testing"
)

func TestAListThatIsCutSaysSo(t *testing.T) {
	for n, want := range map[int]string{49: "", 50: "the newest 50; --limit shows more, if there are more\n"} {
		var out, err bytes.Buffer
		c := &CLI{Streams: Streams{Out: &out, Err: &err}}
		if c.NoteLimit(nil, n, 50) != nil || out.Len() > 0 || err.String() != want {
			t.Errorf("%d of 50: %q, %q", n, out.String(), err.String())
		}
	}
}
