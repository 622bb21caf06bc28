package app_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// jobConfig is a config with one job over list.csv in the house's folder.
func jobConfig(folder, more string) string {
	return `
defaults: {country: GB, language: en}
jobs:
  winback:
    source: {csv: "` + folder + `/list.csv"}
    columns: {phone: mobile, var_1: '{{ first_name | default: "there" }}', var_2: city, var_3: '{{ upper(code) }}'}
` + more
}

const byCSV = "    campaign: {name: 'Winback {{ run.date }}', template_id: 1042}\n"

// list writes n rows, of which every 40th repeats the phone before it and every 40th has a bad
// one: 5 % that must not be sent. It returns the phones that must.
func list(t *testing.T, path string, n int) (wanted []string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	fmt.Fprintln(w, "first_name,mobile,city,code")
	for i := range n {
		phone := fmt.Sprintf("+447%09d", 100_001_000+i)
		switch i % 40 {
		case 13:
			phone = fmt.Sprintf("+447%09d", 100_001_000+i-1)
		case 27:
			phone = "4.47911E+11"
		default:
			wanted = append(wanted, phone[1:])
		}
		fmt.Fprintf(w, "Customer %d,%s,\"Stoke, on Trent\",spring-%d\n", i, phone, i%7)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return wanted
}

// ended waits until a run rests: under the race detector, with others beside it, a long list takes minutes.
func (h *house) ended(id messaging.RunID) server.RunView {
	h.t.Helper()
	var r server.RunView
	h.within(20*time.Minute, fmt.Sprintf("run %d ends", id), func() bool {
		var err error
		if r, err = server.ShowRun.Call(h.t.Context(), h.ask, id); err != nil {
			h.t.Fatal(err)
		}
		return r.State.Final() || r.State == messaging.RunAwaiting || r.State == messaging.RunPaused
	})
	return r
}

func (h *house) fire(job string) server.RunView {
	h.t.Helper()
	r, err := server.RunJob.Call(h.t.Context(), h.ask, server.JobOrder{Job: job})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.ended(r.ID)
}

// phonesOn are the phones of a run's parts, in order.
func (h *house) phonesOn(r server.RunView) (all []string) {
	h.t.Helper()
	for _, row := range h.export(r.ID) {
		if row.State == string(messaging.PartAccepted) {
			all = append(all, row.Phone)
		}
	}
	return all
}

// A long list, one row in twenty of it bad or twice there, becomes parts of at most max_size bytes whose union is exactly the valid rows,
// once each; the service takes every one, and the forecast, the run and the service count the same.
func TestALongListIsSentInParts(t *testing.T) {
	t.Parallel()
	const rows = longList
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), rows)
	h := open(t, options{folder: folder, config: jobConfig(folder, byCSV+fmt.Sprintf("    max_size: %d\n", longPart))})
	f, err := server.ForecastJob.Call(t.Context(), h.ask, "winback")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(h.service.Campaigns()); n != 0 {
		t.Fatalf("the forecast uploaded %d files", n)
	}
	r := h.fire("winback")
	if r.State != messaging.RunDone {
		t.Fatalf("the run is %s: %s", r.State, r.Reason)
	}
	if f.Tally.Rows != rows || f.Tally.Kept != int64(len(wanted)) || f.Tally.Kept != r.Tally.Kept || f.Tally.Bytes != r.Tally.Bytes ||
		f.Tally.Parts != r.Tally.Parts || len(r.Parts) != r.Tally.Parts || len(r.Parts) < 2 {
		t.Errorf("forecast %+v\nrun %+v with %d parts", f.Tally, r.Tally, len(r.Parts))
	}
	uploads := h.service.Campaigns()
	if len(uploads) != len(r.Parts) {
		t.Fatalf("the service took %d files of %d", len(uploads), len(r.Parts))
	}
	sent := 0
	for i, u := range uploads {
		p := r.Parts[i]
		if u.Bytes > longPart || u.SHA256 != p.SHA256 || u.Bytes != p.Bytes || int64(u.Rows) != p.Rows || u.Repeat || u.TemplateID != 1042 || p.State != messaging.PartAccepted {
			t.Errorf("upload %+v\npart %+v", u, p)
		}
		sent += u.Rows
	}
	if s := h.service.Stats(); sent != len(wanted) || s.Messages != len(wanted) || s.Phones != len(wanted) || s.Duplicates != 0 {
		t.Errorf("the service counts %d rows, %d messages to %d phones, %d twice; want %d", sent, s.Messages, s.Phones, s.Duplicates, len(wanted))
	}
	if got := h.phonesOn(r); !slices.Equal(got, wanted) {
		t.Errorf("the parts hold %d phones, want %d in their order", len(got), len(wanted))
	}
	var left int64
	for _, x := range r.Tally.Excluded {
		left += x.Count
	}
	if left != rows-int64(len(wanted)) {
		t.Errorf("%d rows were left out, with reasons %+v", left, r.Tally.Excluded)
	}
}

// A list that is suddenly five times as long is held, and goes out once a person approves it.
func TestAListThatGrewIsHeldUntilApproved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 1000)
	h := open(t, options{folder: folder, config: jobConfig(folder, byCSV+"    guard: {max_change: 300%}\n")})
	if r := h.fire("winback"); r.State != messaging.RunDone || r.Tally.Kept != 950 {
		t.Fatalf("the first run is %s with %d rows: %s", r.State, r.Tally.Kept, r.Reason)
	}
	list(t, filepath.Join(folder, "list.csv"), 5000)
	h.pass() // a run by hand is named by its second
	r := h.fire("winback")
	if want := "4,750 rows are 500% of the last run's 950, and guard.max_change is 300%"; r.State != messaging.RunAwaiting || r.Reason != want {
		t.Fatalf("the second run is %s: %s", r.State, r.Reason)
	}
	if n := len(h.service.Campaigns()); n != 1 {
		t.Errorf("%d uploads before it was approved", n)
	}
	if _, err := server.ApproveRun.Call(t.Context(), h.ask, r.ID); err != nil {
		t.Fatal(err)
	}
	if r = h.ended(r.ID); r.State != messaging.RunDone || r.Approved != me() || len(h.service.Campaigns()) != 2 {
		t.Errorf("approved, the run is %s by %q with %d uploads", r.State, r.Approved, len(h.service.Campaigns()))
	}
	if _, err := server.ApproveRun.Call(t.Context(), h.ask, r.ID); err == nil || err.Error() != fmt.Sprintf("run %d is done: there is nothing to approve", r.ID) {
		t.Errorf("a second approval: %v", err)
	}
}

// pass waits for the next second.
func (h *house) pass() {
	now := nowSecond()
	h.eventually("the next second", func() bool { return nowSecond() != now })
}

// Message by message, each row is a tracked message of the ordinary store, blocked contacts
// are left out, and nobody who was messaged of late is asked again.
func TestRowsBecomeMessagesOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 400)
	h := open(t, options{folder: folder, config: jobConfig(folder, "    deliver: per_message\n    send: {template: winback}\n    exclude: {messaged_within: 7d}\n") + "tracking: {poll: [1s]}\n"})
	if a, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{"+" + wanted[0], "+" + wanted[7], "12"}}); err != nil || a.Blocked != 2 || len(a.Bad) != 1 {
		t.Fatalf("block: %+v, %v", a, err)
	}
	r := h.fire("winback")
	if r.State != messaging.RunDone || r.Tally.Kept != int64(len(wanted)-2) {
		t.Fatalf("the run is %s with %d rows: %s", r.State, r.Tally.Kept, r.Reason)
	}
	h.eventually("all are delivered", func() bool {
		got, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got.Messages["delivered"] == r.Tally.Kept
	})
	if s := h.service.Stats(); s.Messages != len(wanted)-2 || s.Duplicates != 0 || h.service.Accepted(wanted[0]) != 0 || h.service.Accepted(wanted[1]) != 1 {
		t.Errorf("the service counts %d messages, %d twice; %d to the blocked one", s.Messages, s.Duplicates, h.service.Accepted(wanted[0]))
	}
	m := h.messages()
	if len(m) != len(wanted)-2 || m[0].Trigger != "winback" || m[0].Category != messaging.Marketing {
		t.Errorf("%d messages, the newest %+v", len(m), m[0])
	}
	h.pass()
	if r = h.fire("winback"); r.Tally.Kept != 0 || h.service.Stats().Messages != len(wanted)-2 {
		t.Errorf("a second run of the week kept %d rows: %s", r.Tally.Kept, r.Reason)
	}
}

// What the service refused goes again as a run of its own, with the config reloaded in between.
func TestWhatWasRefusedGoesAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 100)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, byCSV),
		sandbox: sandbox.Options{Templates: []sandbox.Template{{Name: "winback", Language: "en", ID: 1042, Variables: 2}}},
	})
	r := h.fire("winback")
	if want := "part 1 was not accepted: create-with-csv: 400 Bad Request: "; r.State != messaging.RunFailed || !strings.HasPrefix(r.Reason, want) {
		t.Fatalf("the run is %s: %s", r.State, r.Reason)
	}
	again, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: r.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.ended(again.ID); got.ID == r.ID || got.State != messaging.RunFailed || got.Parts[0].SHA256 != r.Parts[0].SHA256 || got.Parts[0].Attempt != 1 {
		t.Errorf("the retry is %s: %s", got.State, got.Reason)
	}
	h.edit("template_id: 1042", "template_id: 7")
	h.edit("  winback:", "  spring:")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	jobs, err := server.ListJobs.Call(t.Context(), h.ask, server.None{})
	if err != nil || len(jobs) != 1 || jobs[0].Name != "spring" {
		t.Errorf("after a reload the jobs are %+v, %v", jobs, err)
	}
	if _, err := server.ForecastJob.Call(t.Context(), h.ask, "sprng"); err == nil || err.Error() != `no job "sprng" in the config` {
		t.Errorf("a misspelt job: %v", err)
	}
}

func nowSecond() int64 { return time.Now().Unix() }

// A run that sends row by row hands over no more than leaves; a pause holds what was handed over,
// a resume goes on, and a cancel leaves the rest at home.
func TestAPauseHoldsARunAndACancelEndsIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 6000)
	h := open(t, options{folder: folder, config: jobConfig(folder, "    deliver: per_message\n    send: {template: winback}\n")})
	h.edit("rate: 5000/s", "rate: 200/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	order := func(word string, want messaging.RunState) server.RunView {
		t.Helper()
		got, err := runOrders[word].Call(t.Context(), h.ask, r.ID)
		if err != nil || got.State != want {
			t.Fatalf("%s: the run is %s (%s), %v", word, got.State, got.Reason, err)
		}
		return got
	}
	h.eventually("rows leave", func() bool { return h.service.Stats().Messages > 100 })
	if got := order("pause", messaging.RunPaused); got.Reason != "paused by "+me() {
		t.Errorf("paused because %s", got.Reason)
	}
	queued := func() (n int64) {
		got, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, count := range got.Messages {
			n += count
		}
		return n
	}
	held := queued()
	if held < 1000 || held > 3000 {
		t.Errorf("%d of 5,700 rows were handed over when the run was paused", held)
	}
	h.eventually("what was under way has ended", func() bool { return h.status().Sending == 0 })
	left := h.service.Stats().Messages
	if now := queued(); now != held || int64(left) > held/2 {
		t.Errorf("a paused run handed over %d more rows, and %d of %d have left", now-held, left, held)
	}
	order("resume", messaging.RunUploading)
	h.eventually("it goes on", func() bool { return queued() > held })
	// What is in the sender's hands at that moment, or was handed over meanwhile, ends after it.
	if end := order("cancel", messaging.RunCancelled); end.Messages["waiting"] >= end.Messages["cancelled"] {
		t.Errorf("cancelled, its messages are %v", end.Messages)
	}
	h.eventually("what was on its way has ended", func() bool {
		got, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
		return err == nil && got.Messages["sending"]+got.Messages["waiting"] == 0
	})
	if s := h.service.Stats(); s.Duplicates != 0 || int64(s.Messages) >= queued() {
		t.Errorf("the service counts %d messages, %d twice, of %d rows handed over", s.Messages, s.Duplicates, queued())
	}
}

// A run of single messages is done when the last is handed over, and those may take an hour
// to leave: a cancel ends what still waits, once.
func TestACancelEndsWhatADoneRunStillOwes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 400)
	h := open(t, options{folder: folder, config: jobConfig(folder, "    deliver: per_message\n    send: {template: winback}\n")})
	h.edit("rate: 5000/s", "rate: 2/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("all rows are handed over", func() bool {
		got, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
		return err == nil && got.State == messaging.RunDone
	})
	said := func(err error) string {
		refused, _ := errors.AsType[*refusal.Error](err)
		if refused == nil {
			return fmt.Sprint(err)
		}
		return refused.Words + "; " + refused.Hint
	}
	got, err := server.CancelRun.Call(t.Context(), h.ask, r.ID)
	if err != nil || got.State != messaging.RunCancelled || !strings.Contains(got.StoppedBy, me()) || got.Messages["waiting"] != 0 || got.Messages["cancelled"] < 100 {
		t.Errorf("the run is %s by %q with %v (%v)", got.State, got.StoppedBy, got.Messages, err)
	}
	if _, err = server.CancelRun.Call(t.Context(), h.ask, r.ID); said(err) != "run 1 is cancelled: there is nothing to cancel; look at jobs show 1" {
		t.Errorf("a second time: %s", said(err))
	}
	h.eventually("what was claimed has ended", func() bool { return h.status().Sending+h.status().Waiting == 0 })
	if _, err = server.PauseRun.Call(t.Context(), h.ask, r.ID); said(err) != "run 1 is cancelled: there is nothing to pause; look at jobs show 1" {
		t.Errorf("a pause of what has left: %s", said(err))
	}
}
