package operate

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// status and doctor list the daemons that share a database, one a line, and the dead ones for what they are.
func TestNodesAreListed(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	nodes := []server.NodeView{
		{Name: "web-1:7", Version: "1.0", Config: "c0ffee", AliveUntil: at, Alive: true, Own: true, Leads: true, Webhooks: 1, Sends: 1200},
		{Name: "web-2:7", AliveUntil: at, Alive: true},
		{Name: "web-3:7", Version: "1.0", Config: "c0ffee", Beat: at},
	}
	const (
		first  = "web-1:7 (this one, leads) 1.0, config c0ffee, alive until 09:30:00 UTC, 1 webhook and 1,200 sends in the last minute"
		second = "web-2:7 an earlier version, config not read yet, alive until 09:30:00 UTC, 0 webhooks and 0 sends in the last minute"
		third  = "web-3:7 dead: no sign of life since 2026-11-20 09:30:00 UTC"
	)
	var out bytes.Buffer
	c := commands{&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}}
	c.printStatus(server.StatusView{Storage: "postgres://db:5432/n", Nodes: nodes})
	if want := "nodes       " + first + "\n            " + second + "\n            " + third + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("status says\n%s", &out)
	}
	out.Reset()
	c.printStatus(server.StatusView{Storage: "/data/nudgewire.db"})
	if strings.Contains(out.String(), "nodes") {
		t.Errorf("with a file status says\n%s", &out)
	}

	d := &doctor{}
	d.nodes(nodes)
	for i, want := range []struct{ state, wordList string }{{wellGood, first}, {wellGood, second}, {wellNote, third}} {
		if f := d.findings[i]; f.State != want.state || strings.TrimPrefix(f.What, "node ")+" "+f.Words != want.wordList || (f.Hint == "") != (f.State == wellGood) {
			t.Errorf("doctor says %+v", f)
		}
	}
}

func TestStatusTellsOfGuesses(t *testing.T) {
	if words := guessedWords(&server.DaemonView{}); words != nil {
		t.Errorf("without one: %q", words)
	}
	words := guessedWords(&server.DaemonView{Guessed: 1, Languages: 2})
	want := []string{
		"a contact's time zone was not known, and a default was taken, 1 time since the start: see docs/when.md",
		"a contact's language was not known, and the number's or a default was taken, 2 times since the start: see docs/connectors/own.md",
	}
	if len(words) != 2 || words[0] != want[0] || words[1] != want[1] {
		t.Errorf("%q, want %q", words, want)
	}
}

func TestStatusTellsOfLookUpsThatWait(t *testing.T) {
	for n, want := range map[int64]string{1: "1 event waits for a look-up", 2: "2 events wait for look-ups"} {
		if got := lookupsWait(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
