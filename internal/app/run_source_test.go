package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A run whose list is not there yet says so, keeps its wait over a restart, holds up no erasure, and reads what a reload names.
func TestARunWaitsForItsList(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := jobConfig(folder, byCSV)
	h := open(t, options{folder: folder, config: config})
	run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	waits := func() bool {
		r := h.run(run.ID)
		return r.State == messaging.RunBuilding && r.Waits == messaging.WaitSource && r.WaitUntil.Sub(r.StartedAt) >= 10*time.Minute
	}
	h.eventually("it waits", waits)
	until := h.run(run.ID).WaitUntil
	if r := h.run(run.ID); !strings.Contains(r.Reason, "has such a name") && !strings.Contains(r.Reason, "no such file") {
		t.Errorf("it says %q", r.Reason)
	}

	h.forget("447700900123")
	h.stop()
	h = open(t, options{folder: h.folder, config: config})
	h.eventually("it still waits", waits)
	if again := h.run(run.ID); !again.WaitUntil.Equal(until) {
		t.Errorf("after a restart it waits until %v, before until %s", again.WaitUntil, until)
	}

	wanted := list(t, filepath.Join(folder, "other.csv"), 3)
	h.edit("/list.csv", "/other.csv")
	said := words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{})))
	if len(said) != 1 || !strings.Contains(said[0], "source: ") || strings.Contains(said[0], "keeps what it was built with") {
		t.Errorf("before the reload it says %q", said)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := h.ended(run.ID); r.State != messaging.RunDone || r.Tally.Kept != int64(len(wanted)) {
		t.Errorf("%s %q, %d rows", r.State, r.Reason, r.Tally.Kept)
	}
}
