package app_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// The balance is gone in the midst of a run: nothing is burned, status says so, and when the account
// is topped up each message that waited is sent, once.
func TestARunWithoutPointsWaitsForThem(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 300)
	h := open(t, options{folder: folder, config: jobConfig(folder, perMessage)})
	h.edit("rate: 5000/s", "rate: 20/s") // fifteen seconds in which to take the points away
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.fire("winback")
	h.eventually("some have left", func() bool { return h.service.Stats().Messages >= 10 })
	h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusPaymentRequired, Endpoints: []string{"send-template"}})
	h.eventually("sending is halted", func() bool { return h.status().Daemon.Halts != nil })
	s := h.status()
	if v := s.Daemon.Halts[0]; v.Cause != "points" || !strings.HasPrefix(v.Why, "the account has insufficient points: send-template: 402 Payment Required") || v.Since.IsZero() || v.NextProbe.IsZero() {
		t.Errorf("halted: %+v", v)
	}
	if words := s.Daemon.Halts[0].Words(time.Now()); !strings.HasPrefix(words, "sending is halted since ") || !strings.Contains(words, "; next probe at ") {
		t.Errorf("in words: %s", words)
	}
	h.eventually("nothing is in hand", func() bool { return h.status().Sending == 0 })
	if s := h.status(); s.Counts["messages_rejected"]+s.InDoubt+s.Counts["messages_dropped"] != 0 || s.Waiting == 0 {
		t.Errorf("%d rejected, %d in doubt, %d wait", s.Counts["messages_rejected"], s.InDoubt, s.Waiting)
	}
	h.service.SetFaults(sandbox.Faults{})
	h.edit("rate: 20/s", "rate: 5000/s")
	if err := h.Reload(t.Context()); err != nil { // it tries at once
		t.Fatal(err)
	}
	h.eventually("all have left", func() bool { return h.service.Stats().Messages == len(wanted) })
	if s := h.service.Stats(); s.Duplicates != 0 {
		t.Errorf("%d got it twice", s.Duplicates)
	}
	if v := h.status().Daemon.Halts; v != nil {
		t.Errorf("still halted: %+v", v)
	}
}

// The balance is gone after some ten of a hundred: what is refused waits with the rest, and is not lost.
// Somebody tops it up and does nothing else: a probe notices, and each that waited is sent once.
func TestPointsComeBackByThemselves(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the first probe is 15 seconds after the trouble")
	}
	const balance, rows = 10, 150
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), rows)
	h := open(t, options{folder: folder, config: jobConfig(folder, perMessage)})
	h.edit("rate: 5000/s", "rate: 20/s") // seven seconds in which to take the points away
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.fire("winback")
	h.eventually("ten have left", func() bool { return h.service.Stats().Messages >= balance })
	h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusPaymentRequired, Endpoints: []string{"send-template"}})
	h.eventually("sending is halted for points", func() bool { v := h.status().Daemon.Halts; return len(v) > 0 && v[0].Cause == "points" })
	h.eventually("nothing is in hand", func() bool { return h.status().Sending == 0 })
	before := h.service.Stats().Messages
	s := h.status()
	if lost := s.Counts["messages_rejected"] + s.InDoubt + s.Counts["messages_dropped"]; lost != 0 || s.Waiting == 0 {
		t.Errorf("%d are lost for want of points, %d wait", lost, s.Waiting)
	}
	h.service.SetFaults(sandbox.Faults{})
	h.eventually("all have left", func() bool { return h.service.Stats().Messages >= len(wanted) })
	if s := h.service.Stats(); s.Messages != len(wanted) || s.Duplicates != 0 {
		t.Errorf("%d of %d were sent, %d before, %d twice", s.Messages, len(wanted), before, s.Duplicates)
	}
	if v := h.status().Daemon.Halts; v != nil {
		t.Errorf("still halted: %+v", v)
	}
}

// The service takes messages and says afterwards that there were no points for them: that is noticed
// soon, each that failed waits once more, and after the top-up everybody gets one message.
func TestABalanceThatIsGoneBurnsNothing(t *testing.T) {
	t.Parallel()
	const balance, rows = 10, 900
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), rows)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, perMessage),
		sandbox: sandbox.Options{Points: balance, Price: 1, Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1}},
	})
	h.edit("rate: 5000/s", "rate: 20/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := h.fire("winback").ID
	h.eventually("sending is halted", func() bool { return h.status().Daemon.Halts != nil })
	if v := h.status().Daemon.Halts[0]; v.Cause != "points" {
		t.Errorf("halted: %+v", v)
	}
	h.eventually("nothing is in hand", func() bool { return h.status().Sending == 0 })
	taken := h.service.Stats().Messages
	if taken > rows/2 { // twenty seconds at the rate
		t.Errorf("%d of %d were taken without points", taken-balance, rows)
	}
	h.eventually("the reason is counted", func() bool {
		return slices.ContainsFunc(h.status().Rejected, func(v server.RejectedView) bool {
			return v.State == "failed" && v.Reason == "insufficient points" && strings.HasSuffix(v.Words(), " failed in 24h: insufficient points")
		})
	})
	h.eventually("all that failed wait once more", func() bool { return h.status().Waiting == int64(len(wanted)-balance) })

	blocked := ""
	for _, p := range wanted {
		if all := h.service.Messages(p); len(all) == 1 && all[0].Status == "failed" {
			blocked = p
		}
	}
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{"+" + blocked}}); err != nil {
		t.Fatal(err)
	}
	h.order(first, "pause") // and a person holds what went again, and lets it go
	h.service.SetPoints(1000)
	h.edit("rate: 20/s", "rate: 5000/s")
	if err := h.Reload(t.Context()); err != nil { // it tries at once
		t.Fatal(err)
	}
	h.order(first, "resume")
	h.eventually("all have left", func() bool {
		s := h.status()
		return s.Waiting+s.Sending == 0 && s.Daemon.Halts == nil
	})
	for _, p := range wanted {
		arrived := 0
		for _, m := range h.service.Messages(p) {
			if m.Status != "failed" {
				arrived++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[p == blocked]; arrived != want {
			t.Errorf("%s got %d messages, want %d", p, arrived, want)
		}
	}
	if s := h.service.Stats(); s.Duplicates != 0 {
		t.Errorf("%d got it twice", s.Duplicates)
	}
}
