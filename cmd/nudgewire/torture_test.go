package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/torture"
)

// TestTorture is forty seconds of kills, stops, reloads and faults, audited when nothing waits but what a rule holds back. "nudgewire torture --for 1h" is more of it.
func TestTorture(t *testing.T) {
	t.Parallel() // it waits more than it works
	program, err := exec.LookPath("nudgewire")
	if err != nil {
		t.Fatal(err)
	}
	report, err := torture.Run(t.Context(), torture.Options{Program: program, Folder: t.TempDir(), For: 40 * time.Second, Seed: 3, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	if report.Kills < 2 || report.Stops < 1 || report.Reloads < 1 || report.Messages < 100 {
		t.Errorf("too little happened to prove anything: %+v", report)
	}
	t.Logf("%+v", report)
}

// TestTortureEndsWhenInterrupted ends a round that has an hour before it, while customers post and the daemon is up or down.
func TestTortureEndsWhenInterrupted(t *testing.T) {
	program, err := exec.LookPath("nudgewire")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	lines := 0
	say := func(format string, args ...any) {
		if t.Logf(format, args...); lines == 2 {
			interrupt(errors.New("a person"))
		}
		lines++
	}
	ended := make(chan error, 1)
	go func() {
		_, err := torture.Run(ctx, torture.Options{Program: program, Folder: t.TempDir(), For: time.Hour, Seed: 3, Say: say})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.HasSuffix(err.Error(), "by a person; nothing was audited") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("it goes on")
	}
}
