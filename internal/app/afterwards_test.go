package app_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

const byMessage = "    deliver: per_message\n    send: {template: winback}\n"

// export reads a run's rows back.
func (h *house) export(id messaging.RunID) (rows []server.RowView) {
	h.t.Helper()
	err := server.ExportRows.Each(h.t.Context(), h.ask, id, func(r *server.RowView) error { rows = append(rows, *r); return nil })
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

// settled waits until every message of a run has ended, and gives the run.
func (h *house) settled(id messaging.RunID) server.RunView {
	h.t.Helper()
	h.ended(id)
	var r server.RunView
	h.eventually(fmt.Sprintf("the messages of run %d end", id), func() bool {
		var err error
		if r, err = server.ShowRun.Call(h.t.Context(), h.ask, id); err != nil {
			h.t.Fatal(err)
		}
		var all int64
		for _, n := range r.Messages {
			all += n
		}
		ended := r.Messages["delivered"] + r.Messages["failed"] + r.Messages["rejected"]
		return all == r.Tally.Kept && ended == all
	})
	return r
}

// What failed at the service goes again once as a run of its own, whoever asks how often; each
// row says what became of it, and so does the story of its phone.
func TestRowsThatFailedGoAgainOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 200)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, byMessage) + "tracking: {poll: [1s]}\n",
		sandbox: sandbox.Options{FailRate: 0.3, Seed: 7},
	})
	first := h.settled(h.fire("winback").ID)
	failed := first.Messages["failed"]
	if failed < 10 || failed > int64(len(wanted))-10 {
		t.Fatalf("%d of %d messages failed", failed, len(wanted))
	}
	f, err := server.ForecastRetry.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
	if err != nil {
		t.Fatal(err)
	}
	var causes int64
	for _, x := range f.Causes {
		if !strings.HasPrefix(x.Reason, "failed at the service: ") {
			t.Errorf("a cause: %+v", x)
		}
		causes += x.Count
	}
	if f.Tally.Rows != int64(len(wanted)) || f.Tally.Kept != failed || causes != failed || f.Tally.ExcludedRows() != int64(len(wanted))-failed {
		t.Errorf("the retry would be %+v because of %+v", f.Tally, f.Causes)
	}
	if n := h.service.Stats().Messages; n != len(wanted) {
		t.Fatalf("counting sent something: %d messages", n)
	}

	for classes, want := range map[string]string{
		"no_points": fmt.Sprintf("run %d has nothing that can be sent again", first.ID),
		"no_ponts":  `class "no_ponts": want no_points, recipient_limit, opt_out, template, permanent, retry or unknown`,
		"retry,":    `class "retry," is empty between its commas`,
	} {
		var no *refusal.Error
		if _, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID, Classes: classes}); !errors.As(err, &no) || no.Words != want {
			t.Errorf("a retry of %s: %v, want %s", classes, err, want)
		}
	}
	of := server.RetryOrder{Run: first.ID, Classes: "unknown, permanent, recipient_limit,opt_out"}
	if g, err := server.ForecastRetry.Call(t.Context(), h.ask, of); err != nil || g.Tally.Kept != failed {
		t.Errorf("of classes that it has, %d of %d would go: %v", g.Tally.Kept, failed, err)
	}
	again, err := server.RetryRun.Call(t.Context(), h.ask, of)
	if err != nil || again.RetryOf != first.ID {
		t.Fatalf("retry: %+v, %v", again, err)
	}
	second := h.settled(again.ID)
	if second.State != messaging.RunDone || second.Tally.Kept != failed || second.RetryClasses != "opt_out,permanent,recipient_limit,unknown" ||
		second.Began != fmt.Sprintf("what of run %d failed with words of class opt_out, permanent, recipient_limit, unknown, again for %s", first.ID, me()) {
		t.Errorf("the retry is %s %q with %+v", second.State, second.Reason, second.Tally)
	}
	_, err = server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
	var no *refusal.Error
	if !errors.As(err, &no) || no.Words != fmt.Sprintf("run %d has nothing that can be sent again", first.ID) ||
		no.Hint != fmt.Sprintf("%d of its rows went again before: look for its retry with jobs history winback", failed) {
		t.Errorf("a second retry: %v", err)
	}
	if n := h.service.Stats().Messages; n != len(wanted)+int(failed) {
		t.Errorf("the service counts %d messages, want %d and %d again", n, len(wanted), failed)
	}

	rows := h.export(first.ID)
	var kept, left, retried int
	phones := map[string]bool{}
	for _, r := range rows {
		if r.State == server.StateExcluded {
			left++
			continue
		}
		kept++
		phones[r.Phone] = true
		if int(r.Number) != kept || r.Row == 0 || r.File != filepath.Join(folder, "list.csv") || r.Phone != wanted[kept-1] || r.ServiceID == "" || r.Part != 0 {
			t.Fatalf("row %d is %+v, want %s", kept, r, wanted[kept-1])
		}
		sends := 1
		if r.RetriedAs != 0 {
			retried, sends = retried+1, 2
		}
		if (r.Status == messaging.StatusFailed) != (r.RetriedAs != 0) || h.service.Accepted(r.Phone) != sends {
			t.Errorf("%+v, and the service took %d messages to it", r, h.service.Accepted(r.Phone))
		}
	}
	if kept != len(wanted) || left != 200-len(wanted) || retried != int(failed) || len(phones) != len(wanted) {
		t.Errorf("%d rows kept, %d left out, %d sent again", kept, left, retried)
	}
	rejects := rows[len(wanted):]
	if r := rejects[0]; r.Row == 0 || r.Number != 0 || r.Reason == "" || r.Phone == "" {
		t.Errorf("a row that was left out: %+v", r)
	}
	other := h.export(second.ID)
	if len(other) != int(failed) || other[0].RetryOf == 0 {
		t.Errorf("the retry has %d rows, the first %+v", len(other), other[0])
	}

	at := slices.IndexFunc(rows, func(r server.RowView) bool { return r.RetriedAs != 0 })
	story, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "+" + rows[at].Phone, Limit: 10})
	if err != nil || len(story) != 2 || story[0].Row == nil || story[1].Row == nil {
		t.Fatalf("why: %+v, %v", story, err)
	}
	was, now := story[0], story[1]
	if was.Row.Job != "winback" || was.Row.Run != first.ID || was.Row.Row != rows[at].Row || was.Row.RetriedAs != now.Messages[0].ID || was.Messages[0].Status != messaging.StatusFailed {
		t.Errorf("the first row of the story: %+v", was.Row)
	}
	if now.Row.Run != second.ID || now.Row.RetryOf != was.Messages[0].ID {
		t.Errorf("the second row of the story: %+v", now.Row)
	}
}

// A part in doubt is settled by a person: counted as accepted, or uploaded once more by its run.
func TestAPersonSettlesAPartInDoubt(t *testing.T) {
	t.Parallel()
	for _, as := range []messaging.Resolution{messaging.ResolveAccepted, messaging.ResolveResend} {
		t.Run(string(as), func(t *testing.T) {
			folder := t.TempDir()
			list(t, filepath.Join(folder, "list.csv"), 100)
			h := open(t, options{folder: folder, config: jobConfig(folder, byCSV)})
			f := h.service.Faults()
			f.CutAfter = 1
			h.service.SetFaults(f)
			r := h.fire("winback")
			if r.State != messaging.RunPartial || r.Parts[0].State != messaging.PartInDoubt {
				t.Fatalf("the run is %s: %s", r.State, r.Reason)
			}
			f.CutAfter = 0
			h.service.SetFaults(f)
			_, err := server.ResolvePart.Call(t.Context(), h.ask, server.PartWord{Run: r.ID, Part: 2, As: as})
			if want := fmt.Sprintf("run %d has no part 2", r.ID); err == nil || err.Error() != want {
				t.Errorf("another part: %v", err)
			}
			if _, err := server.ResolvePart.Call(t.Context(), h.ask, server.PartWord{Run: r.ID, Part: 1, As: "drop"}); err == nil || err.Error() != `as "drop": want accepted or resend` {
				t.Errorf("another word: %v", err)
			}
			if _, err := server.ResolvePart.Call(t.Context(), h.ask, server.PartWord{Run: r.ID, Part: 1, As: as, Reason: "looked at the dashboard"}); err != nil {
				t.Fatal(err)
			}
			uploads := 1
			if as == messaging.ResolveResend {
				uploads = 2
			}
			r = h.ended(r.ID)
			if p := r.Parts[0]; r.State != messaging.RunDone || p.State != messaging.PartAccepted || p.Attempt != uploads || !strings.HasPrefix(p.Resolved, me()+" said on ") || !strings.HasSuffix(p.Resolved, ": looked at the dashboard") {
				t.Errorf("the run is %s: %s; its part %+v", r.State, r.Reason, p)
			}
			if n := len(h.service.Campaigns()); n != uploads {
				t.Errorf("the service has %d campaigns, want %d", n, uploads)
			}
			if _, err := server.ResolvePart.Call(t.Context(), h.ask, server.PartWord{Run: r.ID, Part: 1, As: as}); err == nil || err.Error() != fmt.Sprintf("part 1 of run %d is accepted, not in doubt", r.ID) {
				t.Errorf("a second word: %v", err)
			}
			for _, group := range []string{"job", "template", "country"} {
				v, err := server.ShowReport.Call(t.Context(), h.ask, report.Query{Group: group, Job: "winback"})
				uploaded := report.Stages{Uploaded: r.Parts[0].Rows}
				if err != nil || r.Parts[0].Rows == 0 || v.Total != uploaded || len(v.Rows) != 1 || v.Rows[0].Stages != uploaded {
					t.Errorf("the report by %s: %+v and %+v, %v, want %d uploaded", group, v.Total, v.Rows, err, r.Parts[0].Rows)
				}
			}
		})
	}
}

// The rows of a run that uploads files stand as their part stands.
func TestAnExportTellsOfTheRowsOfFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 400)
	h := open(t, options{folder: folder, config: jobConfig(folder, byCSV+"    max_size: 10kB\n")})
	r := h.fire("winback")
	if r.State != messaging.RunDone || len(r.Parts) < 2 {
		t.Fatalf("the run is %s with %d parts: %s", r.State, len(r.Parts), r.Reason)
	}
	rows := h.export(r.ID)
	if len(rows) != 400 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, phone := range wanted {
		if one := rows[i]; one.Phone != phone || one.Number != int64(i+1) || one.State != "accepted" || one.Part == 0 || one.ServiceID != "" {
			t.Fatalf("row %d is %+v, want %s", i+1, one, phone)
		}
	}
	if err := server.ExportRows.Each(t.Context(), h.ask, 99, nil); err == nil || err.Error() != "there is no such run" {
		t.Errorf("no such run: %v", err)
	}
}

// Rows that a run has not handed over yet, or never will, are told from the files.
func TestAnExportTellsOfRowsThatWereNotHandedOver(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 6000)
	h := open(t, options{folder: folder, config: jobConfig(folder, byMessage)})
	h.edit("rate: 5000/s", "rate: 200/s")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("rows leave", func() bool { return h.service.Stats().Messages > 50 })
	if _, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: r.ID}); err == nil || err.Error() != fmt.Sprintf("run %d is still uploading", r.ID) {
		t.Errorf("a retry of a run under way: %v", err)
	}
	if _, err := server.CancelRun.Call(t.Context(), h.ask, r.ID); err != nil {
		t.Fatal(err)
	}
	h.eventually("nothing of it is on its way", func() bool {
		got, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
		return err == nil && got.State == messaging.RunCancelled && got.Messages["sending"] == 0
	})
	rows := h.export(r.ID)
	var queued, never int
	for i, phone := range wanted {
		one := rows[i]
		if one.Phone != phone || one.Number != int64(i+1) {
			t.Fatalf("row %d is %+v, want %s", i+1, one, phone)
		}
		switch {
		case one.Message != 0:
			queued++
		case one.State == "cancelled" && one.Reason == "cancelled by "+me():
			never++
		default:
			t.Fatalf("row %d is %+v", i+1, one)
		}
	}
	if queued < 50 || never < 1000 || queued+never != len(wanted) {
		t.Errorf("%d rows were handed over and %d never", queued, never)
	}
}

// Where the answer to an upload says whose each message is, the export tells what became of it.
func TestAnExportTellsOfMessagesThatAnUploadNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 100)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, byCSV) + "tracking: {poll: [1s]}\n",
		sandbox: sandbox.Options{ListIDs: true, Phones: true},
	})
	r := h.settled(h.fire("winback").ID)
	rows := h.export(r.ID)
	ids := map[messaging.ServiceID]bool{}
	for i, phone := range wanted {
		if one := rows[i]; one.Phone != phone || one.Status != messaging.StatusDelivered || one.DeliveredAt.IsZero() || one.ServiceID == "" {
			t.Fatalf("row %d is %+v", i+1, one)
		}
		ids[rows[i].ServiceID] = true
	}
	if len(ids) != len(wanted) {
		t.Errorf("%d messages of %d rows", len(ids), len(wanted))
	}
}
