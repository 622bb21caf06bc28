package app_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/sandbox"
	"github.com/nudgewire/nudgewire/server"
)

// The balance is gone in the midst of a run: nothing is burned, status says so, and when the account
// is topped up each message that waited is sent, once.
func TestARunWithoutPointsWaitsForThem(t *testing.T) {
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 300)
	h := open(t, options{folder: folder, config: jobConfig(folder, perMessage)})
	h.edit("rate: 5000/s", "rate: 100/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.fire("winback")
	h.eventually("some have left", func() bool { return h.service.Stats().Messages >= 10 })
	h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusPaymentRequired, Endpoints: []string{"send-template"}})
	h.eventually("sending is halted", func() bool { return h.status().Daemon.Halted != nil })
	s := h.status()
	if v := s.Daemon.Halted; v.Cause != "points" || !strings.HasPrefix(v.Why, "the account has insufficient points: send-template: 402 Payment Required") || v.Since.IsZero() || v.NextProbe.IsZero() {
		t.Errorf("halted: %+v", v)
	}
	if words := s.Daemon.Halted.Words(time.Now()); !strings.HasPrefix(words, "sending is halted since ") || !strings.Contains(words, "; next probe at ") {
		t.Errorf("in words: %s", words)
	}
	h.eventually("nothing is in hand", func() bool { return h.status().Sending == 0 })
	if s := h.status(); s.Counts["dispatches_rejected"]+s.InDoubt+s.Counts["dispatches_dropped"] != 0 || s.Waiting == 0 {
		t.Errorf("%d rejected, %d in doubt, %d wait", s.Counts["dispatches_rejected"], s.InDoubt, s.Waiting)
	}
	h.service.SetFaults(sandbox.Faults{})
	if err := h.Reload(t.Context()); err != nil { // it tries at once
		t.Fatal(err)
	}
	h.eventually("all have left", func() bool { return h.service.Stats().Messages == len(wanted) })
	if s := h.service.Stats(); s.Duplicates != 0 {
		t.Errorf("%d got it twice", s.Duplicates)
	}
	if v := h.status().Daemon.Halted; v != nil {
		t.Errorf("still halted: %+v", v)
	}
}

// A service that takes messages and says afterwards that there were no points for them: what is known
// to have failed is counted by its reason, and the rest waits.
func TestStatusesThatTellOfNoPointsHaltSending(t *testing.T) {
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 400)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, perMessage) + "tracking: {poll: [1s]}\n",
		sandbox: sandbox.Options{Points: 10, Price: 1, Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1}},
	})
	h.edit("rate: 5000/s", "rate: 40/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.fire("winback")
	h.eventually("sending is halted", func() bool { return h.status().Daemon.Halted != nil })
	if v := h.status().Daemon.Halted; v.Cause != "points" {
		t.Errorf("halted: %+v", v)
	}
	h.eventually("the reason is counted", func() bool {
		return slices.ContainsFunc(h.status().Rejected, func(v server.RejectedView) bool {
			return v.State == "failed" && v.Reason == "insufficient points" && v.Count > 10 && strings.HasSuffix(v.Words(), " failed in 24h: insufficient points")
		})
	})
	if n := h.service.Stats().Messages; n > len(wanted)/2 {
		t.Errorf("%d of %d were handed over without points", n, len(wanted))
	}
}
