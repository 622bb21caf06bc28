package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// simple is a cost that can be followed by hand: 1,000 µs of a server for an event.
var simple = Costs{
	Webhook: Cost{Node: 300, Server: 400, Log: 1000, Stored: 1000},
	Send:    Cost{Node: 200, Server: 500, Log: 2000, Stored: 200},
	Poll:    Cost{Node: 100, Server: 100, Log: 500},
	Key:     Cost{Server: 100, Log: 100, Stored: 50},
}

func TestAnEventCostsAllThatComesOfIt(t *testing.T) {
	p, err := work(simple, Load{Events: 10, Messages: 0.5, Polls: 2, Elsewhere: 1, Burst: 1}, Site{Cores: 2, Use: 0.5, Log: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := Cost{Node: 300 + 0.5*200 + 0.5*2*100, Server: 400 + 100 + 0.5*500 + 0.5*2*100, Log: 1000 + 100 + 0.5*2000 + 500, Stored: 1000 + 50 + 100}
	if p.Event != want {
		t.Errorf("an event costs %+v, want %+v", p.Event, want)
	}
	if p.Databases != 1 || p.Nodes != 1 || math.Abs(p.Fullest-10*850e-6/2) > 1e-9 || math.Abs(p.Day-10*86_400*1150/1e6) > 1e-6 {
		t.Errorf("ten events a second need %+v", p)
	}
}

func TestDatabasesBearTheFullestSecond(t *testing.T) {
	l := Load{Events: 10_000, Burst: 2}
	s := Site{Cores: 10, Use: 0.5, Log: 1e6}
	// 20,000 events of 400 µs are 8 processors, and half of ten may be busy: two databases would have to share exactly.
	p, err := work(simple, l, s)
	if err != nil || p.Databases < 2 || p.Fullest > s.Use {
		t.Errorf("%+v, %v", p, err)
	}
	bytes := Site{Cores: 1e6, Use: 1, Log: 5}
	// 20 million bytes of log a second are four disks of five, and hashes never spread quite evenly.
	if p, err = work(simple, l, bytes); err != nil || p.Databases < 5 || p.LogRate > bytes.Log {
		t.Errorf("by the log: %+v, %v", p, err)
	}
	before := 0
	for _, events := range []float64{1_000, 10_000, 50_000, 200_000} {
		l.Events = events
		p, err := work(simple, l, s)
		if err != nil || p.Databases < before || p.Fullest > s.Use {
			t.Errorf("%v events a second: %+v, %v", events, p, err)
		}
		before = p.Databases
	}
}

func TestAnEventThatCostsNothingIsRefused(t *testing.T) {
	if _, err := work(Costs{}, usualLoad, usualSite); err == nil {
		t.Error("a load that costs nothing was planned")
	}
	if _, err := work(simple, Load{Events: 1e12, Burst: 1}, usualSite); err == nil {
		t.Error("a load for more databases than there can be was planned")
	}
}

// What the simulation says is only worth something if hashes spread as they should: close to evenly, never better.
func TestHashesSpreadContacts(t *testing.T) {
	for _, n := range []int{1, 2, 8, 64} {
		share := fullest(n)
		if even := 1 / float64(n); share < even || share > 1.3*even {
			t.Errorf("the fullest of %d databases gets %.4f of the events, and an even share is %.4f", n, share, even)
		}
		if share != fullest(n) {
			t.Errorf("the simulation of %d databases is another each time", n)
		}
	}
}

func TestALimitOverAllDatabases(t *testing.T) {
	tests := []struct{ limit, databases, atOnce, asks, unused int }{
		{1000, 1, 100, 10, 0},   // nobody else holds any
		{1000, 4, 100, 10, 297}, // three others may hold 99 each
		{1000, 4, 1, 1000, 0},   // asked for each contact
		{1001, 4, 100, 11, 297}, // the last block is small
		{100, 1000, 50, 2, 100}, // never more than there is
	}
	for _, c := range tests {
		if asks, unused := reserve(c.limit, c.databases, c.atOnce); asks != c.asks || unused != c.unused {
			t.Errorf("%+v: asked for %d times, %d unused", c, asks, unused)
		}
	}
}

func TestThePlanIsPrintedAndWrongUseIsRefused(t *testing.T) {
	var one, two bytes.Buffer
	if err := run([]string{"-events", "5000"}, &one); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-events", "5000"}, &two); err != nil || one.String() != two.String() {
		t.Errorf("two runs differ: %v\n%s\n%s", err, &one, &two)
	}
	if !strings.Contains(one.String(), "5000, in the fullest second 7500") {
		t.Errorf("the plan says\n%s", &one)
	}
	for _, args := range [][]string{{"-events", "0"}, {"-burst", "0.5"}, {"-use", "2"}, {"-elsewhere", "-1"}, {"-cores", "0"}, {"-as", "5 nodes"}, {"more"}} {
		if err := run(args, &one); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// What docs/scale.md shows is what the program works out, from the costs of its table.
func TestTheDocsShowWhatIsWorkedOut(t *testing.T) {
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	var out bytes.Buffer
	if err := run(nil, &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(doc, "    "+strings.TrimRight(line, "\n")) {
			t.Errorf("docs/scale.md does not show %q", line)
		}
	}
	comma := func(v float64) string {
		if v < 1000 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000)
	}
	for name, c := range measured {
		for _, one := range []Cost{c.Webhook, c.Send, c.Poll} {
			row := fmt.Sprintf("| %s | %s | %s | %s |\n", comma(one.Node), comma(one.Server), comma(one.Log), comma(one.Stored))
			if !strings.Contains(doc, row) {
				t.Errorf("docs/scale.md has no row %q for %s", row, name)
			}
		}
	}
}
