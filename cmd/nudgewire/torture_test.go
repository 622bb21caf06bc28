package main

import (
	"os/exec"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/torture"
)

// TestTorture is a minute of kills, stops, reloads and faults, audited when what rules put off has left. "nudgewire torture --for 1h" is more of it.
func TestTorture(t *testing.T) {
	program, err := exec.LookPath("nudgewire")
	if err != nil {
		t.Fatal(err)
	}
	report, err := torture.Run(t.Context(), torture.Options{Program: program, Folder: t.TempDir(), For: time.Minute, Seed: 3, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	if report.Kills < 2 || report.Stops < 2 || report.Reloads < 2 || report.Messages < 100 {
		t.Errorf("too little happened to prove anything: %+v", report)
	}
	t.Logf("%+v", report)
}
