package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// forgettingRows are how many rows the list of such a run has; the last is forgotten.
const forgettingRows = 30

// Whatever a run waits for, an erasure does not wait with it: the contact's row leaves the files, the run is where it was, and when it goes on
// everybody else gets it once. Only a file that is on its way at that moment is waited for, and status says so.
func TestAnErasureDoesNotWaitForARun(t *testing.T) {
	t.Parallel()
	night, day := nearlyAlways(t), "    at: \""+passedInBritain()+"\"\n"
	order := func(word string) func(*house) { return func(h *house) { h.order(1, word) } }
	edited := func(old, now string) func(*house) {
		return func(h *house) { h.edit(old, now); h.reload() }
	}
	waitsFor := func(what messaging.RunWait) func(server.RunView) bool {
		return func(v server.RunView) bool { return v.State == messaging.RunUploading && v.Waits == what }
	}
	in := func(state messaging.RunState) func(server.RunView) bool {
		return func(v server.RunView) bool { return v.State == state }
	}
	none := func(*house) {}
	for name, tt := range map[string]struct {
		job      string
		before   func(*house) // the run begins
		begun    func(*house) // until it waits
		waits    func(server.RunView) bool
		held     bool // the erasure waits for a file that is being sent
		goes     func(*house)
		postgres bool
	}{
		"messages wait for their rate":          {byMessage + "    rate: 10 per day\n", none, none, waitsFor(messaging.WaitRate), false, edited("10 per day", "1000 per day"), false},
		"messages on PostgreSQL":                {byMessage + "    rate: 10 per day\n", none, none, waitsFor(messaging.WaitRate), false, edited("10 per day", "1000 per day"), true},
		"messages wait for their canary":        {byMessage + "    canary: {first: 5, wait: 8h, stop_if: failed > 50%}\n", none, none, waitsFor(messaging.WaitCanary), false, edited("wait: 8h", "wait: 1s"), false},
		"messages of a run that is paused":      {byMessage + "    rate: 10 per day\n", none, order("pause"), in(messaging.RunPaused), false, func(h *house) { edited("10 per day", "1000 per day")(h); order("resume")(h) }, false},
		"messages that are to be approved":      {byMessage + "    guard: {approve_over: 1}\n", none, none, in(messaging.RunAwaiting), false, order("approve"), false},
		"messages of a job that is halted":      {byMessage, haltsTheJob, none, in(messaging.RunUploading), false, resumesTheJob, false},
		"a file waits for the end of the night": {byCSV + "    quiet_hours: " + night + "\n", none, none, waitsFor(messaging.WaitQuietHours), false, edited("quiet_hours: "+night, "quiet_hours: off"), false},
		"a file on PostgreSQL":                  {byCSV + "    quiet_hours: " + night + "\n", none, none, waitsFor(messaging.WaitQuietHours), false, edited("quiet_hours: "+night, "quiet_hours: off"), true},
		"a file waits for a time of day":        {byCSV + day, none, none, waitsFor(messaging.WaitAt), false, edited(day, ""), false},
		"a file waits for it on PostgreSQL":     {byCSV + day, none, none, waitsFor(messaging.WaitAt), false, edited(day, ""), true},
		"a file waits for its canary":           {byCSV + "    canary: {first: 5, wait: 8h, stop_if: failed > 50%}\n", none, none, waitsFor(messaging.WaitCanary), false, edited("wait: 8h", "wait: 1s"), false},
		"a file of a run that is paused":        {byCSV + "    quiet_hours: " + night + "\n", none, order("pause"), in(messaging.RunPaused), false, func(h *house) { edited("quiet_hours: "+night, "quiet_hours: off")(h); order("resume")(h) }, false},
		"a file that is to be approved":         {byCSV + "    guard: {approve_over: 1}\n", none, none, in(messaging.RunAwaiting), false, order("approve"), false},
		"a file of a job that is halted":        {byCSV, haltsTheJob, none, in(messaging.RunUploading), false, resumesTheJob, false},
		"a file of a job that left the config": {byCSV + "    quiet_hours: " + night + "\n", none, edited("  winback:", "  other:"), in(messaging.RunPaused), false, func(h *house) {
			edited("  other:", "  winback:")(h)
			edited("quiet_hours: "+night, "quiet_hours: off")(h)
		}, false},
		"a file of which one was refused for now": {byCSV, refusesForNow, none, func(v server.RunView) bool { return v.State == messaging.RunUploading && !v.Parts[0].RetryAt.IsZero() }, false, nil, false},
		"a file that is being sent":               {byCSV, none, none, in(messaging.RunUploading), true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := t.TempDir()
			text := "first_name,mobile,city,code\n"
			for i := range forgettingRows {
				text += fmt.Sprintf("Ada,%s,York,a\n", phone(i))
			}
			if err := os.WriteFile(filepath.Join(lists, "list.csv"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			service := sandbox.New(sandbox.Options{
				Keys: []string{apiKey}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}}, Campaigns: []string{"*"},
				Pace: sandbox.Pace{Sent: 1, Delivered: 1, Read: -1}, ListIDs: true, Phones: true,
			})
			t.Cleanup(service.Close)
			hangs, uploads := make(chan struct{}), atomic.Int64{}
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.held && strings.HasSuffix(r.URL.Path, "create-with-csv") && uploads.Add(1) == 1 {
					<-hangs
				}
				service.Handler().ServeHTTP(w, r)
			}))
			t.Cleanup(api.Close)
			o := options{
				api:    "{base_url: " + api.URL + "/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 5m}",
				config: jobConfig(lists, tt.job) + "tracking: {poll: [1s]}\n",
			}
			if tt.postgres {
				_, o.storage = onPostgres(t)
			}
			h := open(t, o)
			h.service = service
			tt.before(h)
			if _, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"}); err != nil {
				t.Fatal(err)
			}
			h.eventually("it is built", func() bool { return h.run(1).Tally.Kept > 0 })
			tt.begun(h)
			var at server.RunView
			h.eventually("it waits", func() bool { at = h.run(1); return tt.waits(at) && (!tt.held || uploads.Load() > 0) })
			if tt.job[:len(byMessage)] == byMessage && at.Waits == messaging.WaitRate {
				h.eventually("ten have left", func() bool { return h.service.Stats().Messages == 10 })
			}
			gone := phone(forgettingRows - 1)
			if h.service.Accepted(gone[1:]) > 0 {
				t.Fatal("the rows leave in another order")
			}
			if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{gone}}); err != nil {
				t.Fatal(err)
			}
			if tt.held {
				h.eventually("status says what it waits for", func() bool {
					all := h.status().Forgetting
					return len(all) == 1 && strings.HasSuffix(all[0].Words(), "and waits for a file of run 1 of winback, which is being sent")
				})
				close(hangs)
			}
			h.eventually("it is forgotten", func() bool {
				v, err := server.ShowContact.Call(t.Context(), h.ask, gone)
				return err == nil && !v.ForgottenAt.IsZero() && v.Forgetting == ""
			})
			if !tt.postgres {
				h.forgotten(gone)
				if found := h.stored(gone); len(found) > 0 {
					t.Errorf("it stands in %s", strings.Join(found, ", "))
				}
			}
			if tt.held { // the file had left with it before
				if v := h.ended(1); v.State != messaging.RunDone {
					t.Errorf("the run is %s: %s", v.State, v.Reason)
				}
				return
			}
			h.eventually("it waits as before", func() bool { return tt.waits(h.run(1)) })
			if v := h.run(1); v.WaitUntil.IsZero() != at.WaitUntil.IsZero() || !v.WaitUntil.IsZero() && !v.WaitUntil.Equal(at.WaitUntil) {
				t.Errorf("it waits until %v, before %v", v.WaitUntil, at.WaitUntil)
			}
			if tt.goes == nil {
				return
			}
			tt.goes(h)
			h.ended(1)
			if v := h.run(1); v.State != messaging.RunDone {
				t.Errorf("the run is %s: %s", v.State, v.Reason)
			}
			h.eventually("the others have left", func() bool {
				return h.service.Stats().Messages >= forgettingRows-1 && h.status().Waiting == 0 && h.status().Sending == 0
			})
			for i := range forgettingRows {
				if n, want := h.service.Accepted(phone(i)[1:]), min(1, forgettingRows-1-i); n != want {
					t.Errorf("number %d got %d messages, want %d", i, n, want)
				}
			}
		})
	}
}

func haltsTheJob(h *house) {
	if _, err := server.Halt.Call(h.t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeJob, Name: "winback"}); err != nil {
		h.t.Fatal(err)
	}
}

func resumesTheJob(h *house) {
	if err := h.resumes(messaging.ScopeJob, "winback"); err != nil {
		h.t.Fatal(err)
	}
}

func refusesForNow(h *house) {
	h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusTooManyRequests, RetryAfter: 3_600_000_000_000})
}
