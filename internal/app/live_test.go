package app_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A reload changes the pace of a run that is being sent, and what the next forecast reckons with;
// the run keeps the points that it was approved by. At one request a second this test would not
// end.
func TestAReloadChangesTheRateOfARunUnderWay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 400)
	h := open(t, options{folder: folder, config: jobConfig(folder, perMessage)})
	h.edit("rate: 5000/s,", "rate: 1/s, price: {marketing: 1.5},")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	forecast := func(points float64, faster bool) {
		t.Helper()
		f, err := server.ForecastJob.Call(t.Context(), h.ask, "winback")
		if err != nil {
			t.Fatal(err)
		}
		if f.Tally.Points != points || (f.Seconds < 60) != faster {
			t.Errorf("the forecast says %v points in %v seconds, want %v points", f.Tally.Points, f.Seconds, points)
		}
	}
	n := float64(len(wanted))
	forecast(1.5*n, false)
	r := h.fire("winback")
	if r.State != messaging.RunDone || r.Tally.Points != 1.5*n {
		t.Fatalf("the run is %s with %v points: %s", r.State, r.Tally.Points, r.Reason)
	}
	if s := h.status(); s.Waiting == 0 || s.Daemon.Rate != "1 requests a second" {
		t.Fatalf("%d wait at %s: the rate did not hold them", s.Waiting, s.Daemon.Rate)
	}
	h.edit("rate: 1/s, price: {marketing: 1.5},", "rate: 4000/s, price: {marketing: 2},")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.eventually("all have left", func() bool { return h.service.Stats().Messages == len(wanted) })
	forecast(2*n, true)
	v, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
	if err != nil || v.Tally.Points != 1.5*n || h.service.Stats().Duplicates != 0 {
		t.Errorf("the run has %v points, and %d got it twice: %v", v.Tally.Points, h.service.Stats().Duplicates, err)
	}
	// A reload that is refused changes nothing.
	h.edit("rate: 4000/s", "rate: fast")
	if err := h.Reload(t.Context()); err == nil || h.status().Daemon.Rate != "4000 requests a second" {
		t.Errorf("a bad rate: %v, and the rate is %s", err, h.status().Daemon.Rate)
	}
}

// A canary lets the first rows go, looks at what became of them, and stops the run when too many
// failed; a person lets it go on. When they did well it goes on by itself.
func TestACanaryThroughTheDaemon(t *testing.T) {
	t.Parallel()
	const canary = perMessage + "    canary: {first: 20, wait: 3s, stop_if: failed > 10%}\n"
	daemon := func(t *testing.T, failed float64) (*house, server.RunView, int) {
		folder := t.TempDir()
		wanted := list(t, filepath.Join(folder, "list.csv"), 200)
		h := open(t, options{
			folder: folder, config: withPages(jobConfig(folder, canary)) + "tracking: {poll: [1s], final_status: delivered}\n",
			sandbox: sandbox.Options{FailRate: failed, Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1}},
		})
		return h, h.fire("winback"), len(wanted)
	}
	t.Run("a failing first slice stops the run until a person resumes it", func(t *testing.T) {
		h, r, rows := daemon(t, 1)
		if r.State != messaging.RunPaused || !strings.HasPrefix(r.Reason, "the canary stopped it: ") || !strings.HasSuffix(r.Reason, " of these failed, which is more than 10%") {
			t.Fatalf("the run is %s: %s", r.State, r.Reason)
		}
		if n := h.service.Stats().Messages; n != 20 {
			t.Errorf("%d messages left before the canary had looked", n)
		}
		_, err := server.ApproveRun.Call(t.Context(), h.ask, r.ID)
		if e, ok := errors.AsType[*refusal.Error](err); !ok || e.Words != "run 1 is paused: there is nothing to approve" || e.Hint != "it goes on with: nudgewire jobs resume 1" {
			t.Errorf("approve: %#v", err)
		}
		question := "20 of the first 20 messages have ended and 20 of these failed, which is more than 10%: resume it all the same, and send to " + strconv.Itoa(rows-20) + " more phones without another look"
		if got := r.Overruling(); got != "the canary stopped it: "+question {
			t.Errorf("the command asks: %s", got)
		}
		b := h.browser()
		b.signIn(false)
		asked := b.send(http.MethodPost, "/do/go-on", formsOf(t, b.page("/runs/1"))["go-on"], nil)
		b.isTold(asked, strconv.Itoa(rows-20)+" more phones get it")
		b.isTold(asked, "20 of these failed")
		if n := h.service.Stats().Messages; n != 20 {
			t.Errorf("%d messages left before somebody said yes", n)
		}
		b.isTold(b.press("/runs/1", "go-on"), "goes on")
		if r = h.ended(r.ID); r.State != messaging.RunDone || r.Overruled == "" || r.Approved != "" {
			t.Errorf("resumed, the run is %s by %q: %s", r.State, r.Overruled, r.Reason)
		}
		h.eventually("all have left", func() bool { return h.service.Stats().Messages == rows })
		if s := h.service.Stats(); s.Duplicates != 0 {
			t.Errorf("%d got it twice", s.Duplicates)
		}
	})
	t.Run("a good first slice goes on by itself", func(t *testing.T) {
		h, r, rows := daemon(t, 0)
		if r.State != messaging.RunDone || r.Approved != "" || strings.Contains(r.Reason, "canary") {
			t.Fatalf("the run is %s: %s", r.State, r.Reason)
		}
		h.eventually("all have left", func() bool { return h.service.Stats().Messages == rows })
	})
}
