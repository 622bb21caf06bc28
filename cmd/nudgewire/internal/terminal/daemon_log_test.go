package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/zap"
)

func TestALogEntryCannotCommandTheTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &CLI{Streams: Streams{Err: &out}}
	log, err := c.Logger("info", "")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("m\u202e", zap.String("s", "\x1b\u009b\n"))
	if got := out.String(); strings.ContainsFunc(got[:len(got)-1], func(r rune) bool { return r < ' ' || r == 0x9b || r == 0x202e }) || !json.Valid(out.Bytes()) {
		t.Errorf("logged %q", got)
	}
}
