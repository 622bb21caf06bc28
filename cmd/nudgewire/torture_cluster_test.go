//go:build unix

package main

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/testserver"
	"github.com/nudgewire/nudgewire/torture"
)

// TestTortureOfThreeNodes is what TestTorture is, with three nodes over one database, whose server is started anew in the middle.
// "nudgewire torture --storage postgres://… --nodes 3 --for 1h" is more of it, and with --kill-every 2s nothing else breaks.
func TestTortureOfThreeNodes(t *testing.T) {
	t.Parallel() // it waits more than it works
	program, err := exec.LookPath("nudgewire")
	if err != nil {
		t.Fatal(err)
	}
	server := testserver.ForTest(t, "fsync=off", "max_connections=200")
	database, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	restart := func(ctx context.Context) error { return errors.Join(server.Stop(), server.Start(ctx)) }
	report, err := torture.Run(t.Context(), torture.Options{
		Program: program, Folder: t.TempDir(), For: 15 * time.Second, Seed: 3, Rate: 15, Storage: database, Nodes: 3, Restart: restart, Say: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	if report.Kills < 1 || report.Restarts < 1 || report.Reloads < 1 || report.Messages < 100 {
		t.Errorf("too little happened to prove anything: %+v", report)
	}
	t.Logf("%+v", report)
}
