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
		k.backUpIfDue(t.Context())
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", now.Format(time.TimeOnly), got, want)
		}
	}
	look() // no plan
	plan.To = to
	stem, err := k.stem()
	if err != nil {
		t.Fatal(err)
	}
	first := stem + "20261123T040000Z.tar.zst"
	look(first)
	if l, err := ReadLast(k.DSN); err != nil || filepath.Base(l.File) != first || l.Checked.IsZero() {
		t.Errorf("the last: %+v (%v)", l, err)
	}
	// What Make notes is the real time, so the clock goes on from there.
	l, err := ReadLast(k.DSN)
	if err != nil {
		t.Fatal(err)
	}
	now = l.At.Add(59 * time.Minute)
	look(first)
	write(t, filepath.Join(to, "mine.tar.zst"), "not one of its own")
	write(t, filepath.Join(to, "nudgewire-20261122T040000Z.tar.zst"), "of another daemon")
	write(t, filepath.Join(to, stem+"20261122T040000Z.tar.zst"), "the oldest")
	write(t, filepath.Join(to, stem+"20261122T040000Z.tar.zst"+unfinished, "archive"), "killed")
	now = l.At.Add(time.Hour)
	second := stem + now.Format(stamp) + ".tar.zst"
	want := []string{"mine.tar.zst", "nudgewire-20261122T040000Z.tar.zst", first, second}
	slices.Sort(want)
	look(want...)

	// A folder that cannot be written to.
	blocked := filepath.Join(t.TempDir(), "file")
	write(t, blocked, "")
	plan.To = filepath.Join(blocked, "below")
	now = now.Add(2 * time.Hour)
	k.backUpIfDue(t.Context())
	if f := k.Failed(); !f.At.Equal(now) || !strings.Contains(f.Why, "folder of backups") {
		t.Errorf("the failure: %+v", f)
	}
	plan.To = to
	now = now.Add(time.Minute)
	k.backUpIfDue(t.Context())
	if n := len(names()); n != 4 {
		t.Errorf("tried again at once: %d files", n)
	}
	now = now.Add(againAfter)
	k.backUpIfDue(t.Context())
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

// Two daemons whose data has the same name keep their backups in one folder, also when both are made in the same second.
func TestTwoKeepersShareAFolder(t *testing.T) {
	to := t.TempDir()
	now := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
	var last [2]string
	for round := range 3 {
		for i, data := range []string{stocked(t, 3), stocked(t, 3)} {
			k := &Keeper{DSN: dsnOf(data), Version: "test", Plan: func() Plan { return Plan{To: to, Every: time.Hour, Keep: 1} }, Log: zap.NewNop(), Now: func() time.Time { return now }}
			k.backUpIfDue(t.Context())
			l, err := ReadLast(k.DSN)
			if err != nil || k.Failed() != (Failure{}) {
				t.Fatalf("%+v %v", k.Failed(), err)
			}
			last[i] = l.File
		}
		for _, path := range last {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
	}
	if all, err := os.ReadDir(to); err != nil || len(all) != 6 { // each round is of new data
		t.Errorf("%d files, %v", len(all), err)
	}
}

// A clock that was years ahead, and is set back, neither keeps backups from being made nor has the new ones removed.
func TestAClockThatIsSetBackHoldsNoBackupUp(t *testing.T) {
	data, to := stocked(t, 3), t.TempDir()
	today := time.Now().UTC()
	now := today.AddDate(3, 0, 0)
	k := &Keeper{DSN: dsnOf(data), Version: "test", Plan: func() Plan { return Plan{To: to, Every: time.Hour, Keep: 2} }, Log: zap.NewNop(), Now: func() time.Time { return now }}
	made := func(at time.Time) {
		t.Helper()
		now = at
		k.backUpIfDue(t.Context())
		l, err := ReadLast(k.DSN)
		if err != nil || !strings.HasSuffix(l.File, now.Format(stamp)+ending) {
			t.Fatalf("%s: the last is %s (%v, %+v)", now, l.File, err, k.Failed())
		}
		if _, err := os.Stat(l.File); err != nil {
			t.Errorf("%s: %v", now, err)
		}
		l.At = now // what is noted is the real time
		if err := writeLast(k.DSN, l); err != nil {
			t.Fatal(err)
		}
	}
	made(now)
	made(now.Add(time.Hour))
	made(today)
	made(today.Add(time.Hour))
	k.note(Failure{At: today.AddDate(3, 0, 0), Why: "of a clock that was ahead"})
	made(today.Add(2 * time.Hour))
	if all, err := os.ReadDir(to); err != nil || len(all) != 2 {
		t.Errorf("%d files, %v", len(all), err)
	}
}
