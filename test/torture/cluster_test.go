//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/test/testserver"
)

// TestTortureOfThreeNodes is what TestTorture is, with three nodes over one database, whose server is started anew in the middle.
// One of them has the race detector: races are within a process, and each node does the same.
// "go run ./test/torture -storage postgres://… -nodes 3 -for 1h" is more of it.
func TestTortureOfThreeNodes(t *testing.T) {
	report := tortureThreeNodes(t, Options{Program: program, Others: quick, For: 15 * time.Second, Seed: 3, Rate: 15})
	if report.Kills < 1 || report.Restarts < 1 || report.Reloads < 1 || report.Messages < 100 {
		t.Errorf("too little happened to prove anything: %+v", report)
	}
}

// TestThreeNodesKilledEveryTwoSeconds kills one of three nodes every two seconds, ready or not, and starts the server of their database
// anew in the middle. It is about what a kill leaves behind, so the program has no race detector, with which it would mostly start: the
// rounds of TestTorture and TestTortureOfThreeNodes have it. NUDGEWIRE_TORTURE_WEBHOOKS=20000 is the long round of docs/scale.md: it goes on until so many were answered.
func TestThreeNodesKilledEveryTwoSeconds(t *testing.T) {
	o := Options{Program: quick, For: 12 * time.Second, Seed: 4, Rate: 15, KillEvery: 2 * time.Second, Webhooks: 200}
	if text := os.Getenv("NUDGEWIRE_TORTURE_WEBHOOKS"); text != "" {
		var err error
		if o.Webhooks, err = strconv.Atoi(text); err != nil {
			t.Fatalf("NUDGEWIRE_TORTURE_WEBHOOKS: %v", err)
		}
		o.Rate = 40
		o.For = time.Duration(float64(o.Webhooks) / o.Rate / webhooksEach * float64(time.Second))
	}
	report := tortureThreeNodes(t, o)
	if report.Webhooks < o.Webhooks || report.Kills < 2 || report.Restarts != 1 || report.Messages < 100 {
		t.Errorf("too little happened to prove anything: %+v", report)
	}
}

// webhooksEach is about how many a customer causes, so that the server's restart lies in the middle.
const webhooksEach = 1.8

// tortureThreeNodes plays a round with three nodes over one database.
func tortureThreeNodes(t *testing.T, o Options) *Report {
	t.Helper()
	server := testserver.ForTest(t, "fsync=off", "max_connections=200")
	database, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Folder, o.Storage, o.Nodes, o.Say = t.TempDir(), database, 3, t.Logf
	o.Restart = func(ctx context.Context) error { return errors.Join(server.Stop(), server.Start(ctx)) }
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	t.Logf("%+v", report)
	return report
}
