//go:build unix

package app_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A node whose clock is three hours ahead uploads a list, and begins another one, which a node whose clock is right goes on with: what the
// first one wrote is by the clock of the database, so that nothing waits for three hours, and no message is from the future.
func TestUploadsOfANodeWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	const ahead, near = 3 * time.Hour, time.Hour
	_, address := onPostgres(t)
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 100)
	o := options{storage: address, config: jobConfig(folder, byCSV), sandbox: sandbox.Options{ListIDs: true}}
	wrong := o
	wrong.now = func() time.Time { return time.Now().Add(ahead) }
	one := open(t, wrong)
	soon := func(what string, at time.Time) {
		t.Helper()
		if off := time.Until(at); off > near || off < -near {
			t.Fatalf("%s is %s from now", what, off)
		}
	}
	r := one.fire("winback")
	if r.State != messaging.RunDone {
		t.Fatalf("the run is %s: %s", r.State, r.Reason)
	}
	soon("the end of the upload", r.Parts[0].UpdatedAt)
	soon("the end of the run", r.EndedAt)
	messages := one.messages()
	if len(messages) == 0 {
		t.Error("the answer named no message")
	}
	for _, m := range messages {
		soon("the time when a message was accepted", m.AcceptedAt)
	}

	list(t, filepath.Join(folder, "list.csv"), 120)
	one.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: 429})
	order, err := server.RunJob.Call(t.Context(), one.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	one.eventually("the service refuses the file for now", func() bool {
		r, err := server.ShowRun.Call(t.Context(), one.ask, order.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.State == messaging.RunAwaiting || r.State == messaging.RunPaused {
			t.Fatalf("the run is %s: %s", r.State, r.Reason)
		}
		if len(r.Parts) == 1 && !r.Parts[0].RetryAt.IsZero() {
			soon("the next try", r.Parts[0].RetryAt)
			return true
		}
		return false
	})
	one.stop()
	if r := open(t, o).ended(order.ID); r.State != messaging.RunDone || r.Parts[0].Attempt < 2 {
		t.Errorf("the run is %s after %d attempts: %s", r.State, r.Parts[0].Attempt, r.Reason)
	}
}
