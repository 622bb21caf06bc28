package app_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// run asks for a run as it stands.
func (h *house) run(id messaging.RunID) server.RunView {
	h.t.Helper()
	r, err := server.ShowRun.Call(h.t.Context(), h.ask, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// runOrders are words about a run.
var runOrders = map[string]*server.Operation[messaging.RunID, server.RunView]{
	"approve": server.ApproveRun, "pause": server.PauseRun, "resume": server.ResumeRun, "cancel": server.CancelRun,
}

func (h *house) order(id messaging.RunID, word string) server.RunView {
	h.t.Helper()
	r, err := runOrders[word].Call(h.t.Context(), h.ask, id)
	if err != nil {
		h.t.Fatalf("%s: %v", word, err)
	}
	return r
}

// send sends one message by hand, which no pause of a run concerns, and waits for it.
func (h *house) send(phone string) {
	h.t.Helper()
	if _, err := server.SendMessage.Call(h.t.Context(), h.ask, server.SendRequest{Phone: "+" + phone, Send: messaging.Send{Template: "other", Language: "en"}}); err != nil {
		h.t.Fatal(err)
	}
	h.eventually("what is of no run leaves", func() bool { return h.service.Accepted(phone) == 1 })
}

// begun starts a run of single messages behind a gate, with every place taken by a call that does
// not end: more rows are claimed, and all the others that were handed over wait.
func begun(t *testing.T, folder, config string, state messaging.RunState) (*house, *gate, messaging.RunID) {
	t.Helper()
	h := open(t, options{folder: folder, config: config})
	g := h.gated()
	run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("every place is taken, and rows are claimed beyond that", func() bool {
		r := h.run(run.ID)
		return len(g.phones()) == full && r.State == state && r.Messages["sending"] > full && r.Messages["waiting"] > 100
	})
	return h, g, run.ID
}

// When pause has returned, nothing more of the run leaves: the calls that were under way are all
// that ever come, whether its rows were all handed over by then or not. Over a restart that stays
// so, while others send; resumed, each row leaves once, with the due time that it had.
func TestNothingOfARunLeavesOnceAPauseHasReturned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows  int
		state messaging.RunState // when it is paused
	}{
		"midway":                    {3000, messaging.RunUploading},
		"with all rows handed over": {400, messaging.RunDone},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			wanted := list(t, filepath.Join(folder, "list.csv"), c.rows)
			config := jobConfig(folder, perMessage)
			h, g, id := begun(t, folder, config, c.state)
			due := map[messaging.MessageID]server.MessageView{}
			for _, m := range h.messages() {
				due[m.ID] = m
			}

			r := h.order(id, "pause")
			if r.State != messaging.RunPaused || r.Reason != "paused by "+me() || r.UnderWay != full || r.Messages["sending"] < full || r.Messages["waiting"] < 100 {
				t.Errorf("the run is %s: %s; %d calls under way, messages %v", r.State, r.Reason, r.UnderWay, r.Messages)
			}
			var queued int64
			for _, n := range r.Messages {
				queued += n
			}
			g.open()
			h.eventually("what was under way has ended", func() bool { return h.status().Sending == 0 })
			h.send("447700900777")
			begun := g.phones()
			if n := len(begun); n != full+1 || begun[n-1] != "447700900777" {
				t.Errorf("%d requests began, and %d were under way when the run was paused", n-1, full)
			}
			if r = h.run(id); r.Messages["waiting"] != queued-full || r.Messages["sending"] != 0 || r.UnderWay != 0 {
				t.Errorf("of %d rows %v; want %d waiting", queued, r.Messages, queued-full)
			}
			for _, m := range h.messages() {
				if was, known := due[m.ID]; known && m.State == messaging.StateWaiting && !m.DueAt.Equal(was.DueAt) {
					t.Errorf("message %d was due at %s and is now at %s", m.ID, was.DueAt, m.DueAt)
				}
			}
			h.stop()
			first := h.service.Stats().Messages - 1

			h = open(t, options{folder: folder, config: config})
			paused := []messaging.Hold{{Scope: "run", Kind: "run", Name: "1", Job: "winback", Reason: "paused by " + me()}}
			s := h.status()
			for i := range s.Holds {
				s.Holds[i].At = paused[0].At
			}
			if !slices.Equal(s.Holds, paused) || s.Overdue != "" {
				t.Errorf("after a restart %+v, the oldest %q past its time", s.Holds, s.Overdue)
			}
			h.send("447700900778")
			h.stop()
			if n := h.service.Stats().Messages; n != 1 {
				t.Errorf("%d messages of the run left after a restart", n-1)
			}

			h = open(t, options{folder: folder, config: config})
			h.order(id, "resume")
			if r = h.ended(id); r.State != messaging.RunDone || r.Reason != "" {
				t.Errorf("resumed, the run is %s: %s", r.State, r.Reason)
			}
			h.eventually("everything left", func() bool { return h.status().Waiting+h.status().Sending == 0 })
			if second := h.service.Stats(); first != full || first+second.Messages != len(wanted) || second.Duplicates != 0 {
				t.Errorf("%d and then %d messages left, %d twice; want %d", first, second.Messages, second.Duplicates, len(wanted))
			}
			for _, p := range wanted {
				n := h.service.Accepted(p)
				if before := slices.Contains(begun, p); (n == 1) == before || n > 1 {
					t.Fatalf("a row left before the pause: %v, and %d times after it", before, n)
				}
			}
			if s := h.status(); len(s.Holds) != 0 {
				t.Errorf("at the end %+v", s.Holds)
			}
		})
	}
}

// A paused run that is cancelled sends nothing more either: what was claimed when it was paused
// comes back and ends with the others, and so does what a run that was not paused had claimed.
func TestNothingOfARunLeavesOnceACancelHasReturned(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"paused before": {"pause", "cancel"},
		"at once":       {"cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			list(t, filepath.Join(folder, "list.csv"), 3000)
			h, g, id := begun(t, folder, jobConfig(folder, perMessage), messaging.RunUploading)
			for _, word := range words {
				h.order(id, word)
			}
			if r := h.run(id); r.Messages["waiting"] != 0 || r.Messages["cancelled"] == 0 || r.Messages["sending"] <= full {
				t.Errorf("cancelled, its messages are %v", r.Messages)
			}
			if s := h.status(); len(s.Holds) != 0 {
				t.Errorf("a cancelled run is listed as %+v", s.Holds)
			}
			g.open()
			h.eventually("what was claimed has ended", func() bool {
				r := h.run(id)
				return r.Messages["sending"]+r.Messages["waiting"] == 0
			})
			if n := len(g.phones()); n != full {
				t.Errorf("%d requests began, and %d were under way when the run was cancelled", n, full)
			}
			h.send("447700900777")
		})
	}
}
