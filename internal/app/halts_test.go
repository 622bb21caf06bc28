package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A gate stands before the pretended service: it notes each request that asks for something to
// be sent and lets none through until it opens.
type gate struct {
	mu    sync.Mutex
	begun []string // phones, or "a file", in the order of their coming
	shut  chan struct{}
}

// gated puts a gate before the service of a house, by a reload.
func (h *house) gated() *gate {
	h.t.Helper()
	g := &gate{shut: make(chan struct{})}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
			var to struct {
				Phone string `json:"phone"`
			}
			if json.Unmarshal(text, &to) != nil {
				to.Phone = "a file"
			}
			g.mu.Lock()
			g.begun = append(g.begun, to.Phone)
			g.mu.Unlock()
			select {
			case <-g.shut:
			case <-r.Context().Done():
				return
			}
		}
		h.service.Handler().ServeHTTP(w, r)
	}))
	h.t.Cleanup(func() {
		g.open()
		h.stop()
		api.Close()
	})
	h.edit("base_url: ", "base_url: "+api.URL+"/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 30s} # ")
	if err := h.Reload(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return g
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.shut:
	default:
		close(g.shut)
	}
}

func (g *gate) phones() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.begun)
}

func (h *house) status() server.StatusView {
	h.t.Helper()
	s, err := server.ShowStatus.Call(h.t.Context(), h.ask, server.None{})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

const perMessage = "    deliver: per_message\n    send: {template: winback}\n"

// full is how many calls of category marketing are under way at the most: api.concurrency is
// 32, and an eighth of that is kept for the urgent.
const full = 28

// When halt has returned no further request begins: with every place taken by a call that does
// not end, the calls that were under way are all that ever come. Over a restart nothing more
// leaves, and after a resume everything does, once.
func TestNothingLeavesOnceAHaltHasReturned(t *testing.T) {
	t.Parallel()
	for _, r := range []server.HaltRequest{
		{Scope: messaging.ScopeAll, Reason: "wrong price"},
		{Scope: messaging.ScopeJob, Name: "winback"},
		{Scope: messaging.ScopeTemplate, Name: "winback"},
	} {
		t.Run(string(r.Scope), func(t *testing.T) {
			folder := t.TempDir()
			wanted := list(t, filepath.Join(folder, "list.csv"), 300)
			config := jobConfig(folder, perMessage)
			h := open(t, options{folder: folder, config: config})
			g := h.gated()
			run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
			if err != nil {
				t.Fatal(err)
			}
			h.ended(run.ID) // all rows are handed over
			h.eventually("every place is taken", func() bool { return len(g.phones()) == full })
			if _, err := server.Halt.Call(t.Context(), h.ask, r); err != nil {
				t.Fatal(err)
			}
			g.open()
			h.eventually("what was under way has ended", func() bool { return h.status().Sending == 0 })
			if s := h.status(); s.Waiting != int64(len(wanted)-full) || s.Counts["messages_accepted"] != full {
				t.Errorf("%d wait and %d were accepted, want %d and %d", s.Waiting, s.Counts["messages_accepted"], len(wanted)-full, full)
			}
			h.stop()
			if n := len(g.phones()); n != full {
				t.Errorf("%d requests began, and %d were under way when it was halted", n, full)
			}
			first := h.service.Stats().Messages

			h = open(t, options{folder: folder, config: config})
			if s := h.status(); len(s.Holds) != 1 || s.Holds[0].Scope != r.Scope || s.Holds[0].Reason != r.Reason {
				t.Errorf("after a restart the halts are %+v", s.Holds)
			}
			if r.Scope != messaging.ScopeAll { // what is not halted passes by
				if _, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: "+447700900777", Send: messaging.Send{Template: "other", Language: "en"}}); err != nil {
					t.Fatal(err)
				}
				h.eventually("what is not halted leaves", func() bool { return h.service.Accepted("447700900777") == 1 })
				if n := h.service.Stats().Messages; n != 1 {
					t.Errorf("%d messages left while %s is halted", n-1, r.Scope)
				}
			}
			h.stop()
			if n := h.service.Accepted(wanted[len(wanted)-1]); n != 0 {
				t.Errorf("the halt did not survive the restart")
			}

			h = open(t, options{folder: folder, config: config})
			if left, err := server.Resume.Call(t.Context(), h.ask, r); err != nil || len(left) != 0 {
				t.Fatalf("resume: %+v, %v", left, err)
			}
			h.eventually("everything left", func() bool { return h.status().Waiting+h.status().Sending == 0 })
			if second := h.service.Stats(); first+second.Messages != len(wanted) || second.Duplicates != 0 {
				t.Errorf("%d and then %d messages left, %d twice; want %d", first, second.Messages, second.Duplicates, len(wanted))
			}
		})
	}
}

// A trigger that is halted keeps what its events queue, and others send.
func TestAHaltedTriggerWaitsAndOthersSend(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(plainConfig, "    wait: 1h\n", "", 1)})
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/create", "", cart("c1", "+447700900101", "80.00")))
	h.mustTake(h.shopify("orders/create", "", order("c2", "+447700900102", "20.00")))
	h.eventually("the other trigger sends", func() bool { return h.service.Accepted("447700900102") == 1 })
	in := func(trigger string, state messaging.State) func() bool {
		return func() bool {
			return slices.ContainsFunc(h.messages(), func(m server.MessageView) bool { return m.Trigger == trigger && m.State == state })
		}
	}
	h.eventually("the sent one is accepted", in("thanks", messaging.StateAccepted))
	if !in("reminder", messaging.StateWaiting)() {
		t.Errorf("the halted one does not wait: %+v", h.messages())
	}
	if n := h.service.Accepted("447700900101"); n != 0 {
		t.Error("the halted trigger sent")
	}
	// Whatever was halted is cancelled by its order as ever.
	bought := order("c1", "+447700900101", "80.00")
	bought["id"] = 9007199254740995
	h.mustTake(h.shopify("orders/create", "", bought))
	h.eventually("the order's thanks leave", func() bool { return h.service.Accepted("447700900101") == 1 })
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/create", "", cart("c3", "+447700900103", "80.00")))
	h.eventually("the resumed trigger sends", func() bool { return h.service.Accepted("447700900103") == 1 })
	h.stop()
	if n := h.service.Accepted("447700900101"); n != 1 {
		t.Errorf("%d messages to who ordered; want the thanks alone, for the order had cancelled the reminder", n)
	}
}

// A job that is halted while a part of it is on its way ends that part and uploads no further
// one, says why, over a restart too; resumed, it goes on at the next part.
func TestAHaltedJobUploadsNoFurtherPart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 3000)
	config := jobConfig(folder, byCSV+"    max_size: 40kB\n")
	h := open(t, options{folder: folder, config: config})
	g := h.gated()
	r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("part 1 is on its way", func() bool { return len(g.phones()) == 1 })
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeJob, Name: "winback", Reason: "wrong list"}); err != nil {
		t.Fatal(err)
	}
	g.open()
	show := func() server.RunView {
		t.Helper()
		v, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	h.eventually("part 1 is accepted", func() bool { return show().Parts[0].State == messaging.PartAccepted })
	h.stop()
	if n := len(g.phones()); n != 1 {
		t.Fatalf("%d parts left, and one was on its way when the job was halted", n)
	}
	h = open(t, options{folder: folder, config: config})
	v := show()
	if parts := len(v.Parts); v.State != messaging.RunUploading || parts < 2 || v.Parts[1].State != messaging.PartWaiting {
		t.Fatalf("the halted run is %s with %d parts", v.State, parts)
	}
	if listed, err := server.ListRuns.Call(t.Context(), h.ask, server.ListQuery{}); err != nil || len(listed) != 1 || listed[0].Halted != v.Halted || listed[0].StatusText() != "uploading, held" {
		t.Errorf("the list of runs does not say what holds it: %+v, %v", listed, err)
	}
	if want := `job "winback", since `; !strings.HasPrefix(v.Halted, want) || !strings.HasSuffix(v.Halted, " UTC: wrong list; it goes on with: nudgewire resume job winback") {
		t.Errorf("a halted run says %q", v.Halted)
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeJob, Name: "winback"}); err != nil {
		t.Fatal(err)
	}
	if v = h.ended(r.ID); v.State != messaging.RunDone || v.Halted != "" {
		t.Errorf("resumed, the run is %s: %s; halted: %q", v.State, v.Reason, v.Halted)
	}
	if ups := h.service.Campaigns(); len(ups) != len(v.Parts)-1 || ups[0].SHA256 != v.Parts[1].SHA256 || h.service.Stats().Duplicates != 0 {
		t.Errorf("after the resume %d parts of %d left", len(ups), len(v.Parts))
	}
}

// A contact who is blocked while the message is claimed and waits for its call gets nothing, nor
// does one whose row was not yet claimed; codes go out all the same. Allowed again, the contact is
// sent what comes next.
func TestABlockHoldsForWhatIsClaimedAlready(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 300)
	h := open(t, options{folder: folder, config: jobConfig(folder, perMessage)})
	g := h.gated()
	run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.ended(run.ID)
	h.eventually("every place is taken", func() bool { return len(g.phones()) == full })
	state := func(phone string) server.MessageView {
		t.Helper()
		rows := h.messages()
		i := slices.IndexFunc(rows, func(m server.MessageView) bool { return m.Trigger == "winback" && string(m.Phone) == phone })
		if i < 0 {
			t.Fatalf("no row for the phone among %d", len(rows))
		}
		return rows[i]
	}
	var claimed string
	h.eventually("claims wait for their call", func() bool {
		begun := g.phones()
		for _, p := range wanted[:100] {
			if !slices.Contains(begun, p) && state(p).State == messaging.StateSending {
				claimed = p
				return true
			}
		}
		return false
	})
	waiting := wanted[len(wanted)-1]
	if s := state(waiting).State; s != messaging.StateWaiting {
		t.Fatalf("the last row is %s", s)
	}
	if a, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{"+" + claimed, "+" + waiting}, Reason: "asked for it"}); err != nil || a.Blocked != 2 {
		t.Fatalf("block: %+v, %v", a, err)
	}
	g.open()
	h.eventually("all has ended", func() bool { return h.status().Waiting+h.status().Sending == 0 })
	for what, p := range map[string]string{"claimed": claimed, "waiting": waiting} {
		if m := state(p); m.State != messaging.StateDropped || m.Reason != "the contact is blocked: asked for it" || slices.Contains(g.phones(), p) {
			t.Errorf("blocked while %s: %s, %q", what, m.State, m.Reason)
		}
	}
	if n := h.service.Stats().Messages; n != len(wanted)-2 {
		t.Errorf("%d messages left, want %d", n, len(wanted)-2)
	}
	send := func(c messaging.Category) messaging.State {
		t.Helper()
		m, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: "+" + claimed, Category: c, Send: messaging.Send{Template: "code", Language: "en"}})
		if err != nil {
			t.Fatal(err)
		}
		h.eventually(fmt.Sprintf("message %d ends", m.ID), func() bool {
			if m, err = server.ShowMessage.Call(t.Context(), h.ask, fmt.Sprint(m.ID)); err != nil {
				t.Fatal(err)
			}
			return m.State.Final()
		})
		return m.State
	}
	if s := send(messaging.Authentication); s != messaging.StateAccepted {
		t.Errorf("a code to a blocked contact: %s", s)
	}
	if _, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: "+" + claimed, Category: messaging.Utility, Send: messaging.Send{Template: "code", Language: "en"}}); err == nil {
		t.Error("an order update to a blocked contact is not refused")
	}
	if _, err := server.AllowContact.Call(t.Context(), h.ask, "+"+claimed); err != nil {
		t.Fatal(err)
	}
	if s := send(messaging.Utility); s != messaging.StateAccepted {
		t.Errorf("after the block ended: %s", s)
	}
}
