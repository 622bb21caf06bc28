package tally

import (
	"fmt"
	"strings"
	"testing"
)

// What strangers make up has a room of its own: what is more than that is counted without what tells it apart, and so is nothing beside it.
func TestWhatStrangersMakeUpHasItsRoom(t *testing.T) {
	var known Known
	made := func(i int) HourKey {
		return HourKey{About: AboutConnector, What: HourEvent, Name: "shop", Detail: fmt.Sprint("kind ", i), Country: "GB"}
	}
	room := hourRooms[HourEvent]
	for i := range room {
		if k := made(i); known.hours.room(1, k) != k {
			t.Fatalf("kind %d of %d has no row", i, room)
		}
	}
	if k := known.hours.room(1, made(room)); k.Detail != HourOther || k.Country != "" {
		t.Errorf("one more kind is counted as %+v", k)
	}
	if k := made(room - 1); known.hours.room(1, k) != k {
		t.Error("one that has a row loses it")
	}
	if k := (HourKey{About: AboutTrigger, What: HourQueued, Name: "cart"}); known.hours.room(1, k) != k {
		t.Error("messages have no room because of events")
	}
	if k := made(room); known.hours.room(2, k) != k {
		t.Error("the next hour has no room")
	}
	for i := range unusedRoom {
		known.unused.room(UnusedKey{Connector: "shop", Kind: fmt.Sprint(i)})
	}
	if k := known.unused.room(UnusedKey{Connector: "shop", Kind: "more"}); k.Kind != HourOther {
		t.Errorf("one more kind that came to nothing is counted as %q", k.Kind)
	}
	if k := known.unused.room(UnusedKey{Connector: "crm", Kind: "more"}); k.Kind != "more" {
		t.Error("another connector has no room")
	}
}

// Reasons that differ by a number are one, and no whole phone stands among the counters.
func TestReasonsAreOneButForTheirNumbers(t *testing.T) {
	tally := New(&Known{})
	const now = 1_700_000_000_000_000
	for i := range 3 {
		tally.Rejected("rejected", fmt.Sprintf("number 44770090012%d is bad\x1b", i), now)
	}
	if len(tally.Totals.named) != 1 {
		t.Errorf("they are %v", tally.Totals.named)
	}
	for name, n := range tally.Totals.named {
		if n != 3 || strings.Contains(name, "4477") || strings.ContainsRune(name, '\x1b') {
			t.Errorf("%q is counted %d times", name, n)
		}
	}
	for i := range maxTallied {
		tally.Rejected("rejected", strings.Repeat("x", i+1), now)
	}
	if n := tally.Totals.named[rejectedFrom(rejectedHour(now))+"rejected/"+otherReasons]; n != 1 {
		t.Errorf("what is more than an hour keeps apart is counted %d times", n)
	}
	if !tally.reasons.trim {
		t.Error("an hour begins, and nothing old goes")
	}
	if tally.Begin(); tally.reasons.trim || len(tally.Totals.named) > 0 {
		t.Error("the next transaction begins with what was noted before")
	}
}
