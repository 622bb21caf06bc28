package backup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// A keeper makes one when it is due, keeps so many, says why there is none, and tries again.
func TestAKeeperMakesBackupsByItsPlan(t *testing.T) {
	data, to := stocked(t, 3), filepath.Join(t.TempDir(), "made", "by", "it")
	now := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
	plan := Plan{Every: time.Hour, Keep: 2}
	k := &Keeper{DSN: dsnOf(data), Version: "test", Plan: func() Plan { return plan }, Log: zap.NewNop(), Now: func() time.Time { return now }}
	names := func() (out []string) {
		all, err := os.ReadDir(to)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, one := range all {
			out = append(out, one.Name())
		}
		return out
	}
	look := func(want ...string) {
		t.Helper()
		k.look(t.Context())
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", now.Format(time.TimeOnly), got, want)
		}
	}
	look() // no plan
	plan.To = to
	look("nudgewire-20261123T040000Z.tar.zst")
	if l, err := ReadLast(k.DSN); err != nil || filepath.Base(l.File) != "nudgewire-20261123T040000Z.tar.zst" || l.Checked.IsZero() {
		t.Errorf("the last: %+v (%v)", l, err)
	}
	// What Make notes is the real time, so the clock goes on from there.
	l, err := ReadLast(k.DSN)
	if err != nil {
		t.Fatal(err)
	}
	first := "nudgewire-20261123T040000Z.tar.zst"
	now = l.At.Add(59 * time.Minute)
	look(first)
	write(t, filepath.Join(to, "mine.tar.zst"), "not one of its own")
	write(t, filepath.Join(to, "nudgewire-20261122T040000Z.tar.zst"), "the oldest")
	write(t, filepath.Join(to, "nudgewire-20261122T040000Z.tar.zst"+unfinished, "archive"), "killed")
	now = l.At.Add(time.Hour)
	second := "nudgewire-" + now.Format(stamp) + ".tar.zst"
	want := []string{"mine.tar.zst", first, second}
	slices.Sort(want)
	look(want...)

	// A folder that cannot be written to.
	blocked := filepath.Join(t.TempDir(), "file")
	write(t, blocked, "")
	plan.To = filepath.Join(blocked, "below")
	now = now.Add(2 * time.Hour)
	k.look(t.Context())
	if f := k.Failed(); !f.At.Equal(now) || !strings.Contains(f.Why, "folder of backups") {
		t.Errorf("the failure: %+v", f)
	}
	plan.To = to
	now = now.Add(time.Minute)
	k.look(t.Context())
	if n := len(names()); n != 3 {
		t.Errorf("tried again at once: %d files", n)
	}
	now = now.Add(againAfter)
	k.look(t.Context())
	if f := k.Failed(); f != (Failure{}) {
		t.Errorf("it was made, and %+v", f)
	}
	plan.To = ""
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Run(ctx); err != nil {
		t.Error(err)
	}
}
