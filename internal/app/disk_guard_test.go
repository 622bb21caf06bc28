package app

import (
	"errors"
	"testing"
	"time"
)

func TestADiskIsShortUntilThereIsAQuarterMore(t *testing.T) {
	var free uint64
	var fails error
	now := time.Unix(1e9, 0)
	g := newDiskGuard("data", func(string) (uint64, uint64, error) { return free, 1000, fails })
	g.now = func() time.Time { return now }
	g.least.Store(100)
	for _, step := range []struct {
		free  uint64
		err   error
		least uint64
		short bool
	}{
		{free: 101},
		{free: 99, short: true},
		{free: 101, short: true},
		{free: 124, short: true},
		{free: 125},
		{free: 101},
		{free: 99, short: true},
		{free: 124, err: errors.New("not told")},
		{free: 124},
		{free: 124, least: 150, short: true},
		{free: 124, least: 50}, // a reload holds at once
	} {
		free, fails = step.free, step.err
		if step.least != 0 {
			g.least.Store(step.least)
		} else {
			g.least.Store(100)
			now = now.Add(lookAtDisk)
		}
		if got := g.short(); got != step.short {
			t.Errorf("%+v: short is %v", step, got)
		}
		if until := g.holds(); step.short != until.After(now) {
			t.Errorf("%+v: marketing waits until %v", step, until)
		}
	}
	now = now.Add(lookAtDisk)
	free = 20
	g.least.Store(100)
	began := now
	if v := g.space(); v == nil || !v.Held || !v.Since.Equal(began) || v.Least != 100 || v.Free != 20 || !v.Short() {
		t.Errorf("%+v", v)
	}
	now = now.Add(time.Hour)
	if v := g.space(); !v.Since.Equal(began) {
		t.Errorf("short since %v, want %v", v.Since, began)
	}
}
