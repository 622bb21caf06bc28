package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A row of an uploaded file is told of with its part, and with the campaign where the answer names one; a
// row that repeats it is told of beside it.
func TestWhyFindsTheRowsOfUploadedFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 40)
	h := open(t, options{folder: folder, config: jobConfig(folder, "    campaign: {template_id: 1042}\n")})
	r := h.fire("winback")
	if r.State != messaging.RunDone {
		t.Fatalf("the run is %s %q", r.State, r.Reason)
	}
	rows := h.export(r.ID)
	for _, row := range rows {
		if row.State != "accepted" {
			continue
		}
		stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "+" + row.Phone, Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, s := range stories {
			if s.Row != nil && s.Row.Part == 1 && s.Row.Excluded == "" {
				found = true
				told := s.Row.PartState == messaging.PartAccepted && s.Row.Row == row.Row
				if !told && len(s.Messages) == 0 {
					t.Errorf("%s: %+v", row.Phone, s.Row)
				}
			}
		}
		if !found {
			t.Errorf("%s: nothing of its upload", row.Phone)
		}
		break
	}
}

// Two jobs over one list: each contact is reached by the first of them alone, and the exclusion names it.
func TestTwoJobsAtOneMinuteReachEachOnce(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"by files": "    campaign: {template_id: 1042}\n", "one by one": "    deliver: per_message\n    send: {template: winback}\n"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			list(t, filepath.Join(folder, "list.csv"), 60)
			one := jobConfig(folder, how+"    exclude: {messaged_within: 7d}\n    guard: {approve_over: 1}\n")
			_, job, _ := strings.Cut(one, "  winback:")
			h := open(t, options{folder: folder, config: one + "  second:" + job})
			var ids []messaging.RunID
			for _, name := range []string{"winback", "second"} {
				r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: name})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, r.ID)
			}
			for _, id := range ids { // both are built, and neither knows of the other
				h.eventually("it is held", func() bool { return h.run(id).State == messaging.RunAwaiting })
			}
			for _, id := range ids {
				if _, err := server.ApproveRun.Call(t.Context(), h.ask, id); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range ids {
				h.ended(id)
			}
			h.eventually("all have left", func() bool { s := h.status(); return s.Waiting+s.Sending == 0 })
			a, b := h.run(ids[0]), h.run(ids[1])
			sent := a.Messages["dropped"] + b.Messages["dropped"]
			kept := a.Tally.Kept + b.Tally.Kept - sent
			if want := h.kept(a, b); kept != want {
				t.Errorf("%d were sent to, want %d: %+v %v, %+v %v", kept, want, a.Tally, a.Messages, b.Tally, b.Messages)
			}
		})
	}
}

// kept is how many people stand on a list that two runs share.
func (h *house) kept(a, b server.RunView) int64 {
	late := int64(0)
	for _, r := range []server.RunView{a, b} {
		for _, x := range r.Tally.Excluded {
			if x.Late {
				late += x.Count
			}
		}
	}
	return (a.Tally.Kept + b.Tally.Kept + late) / 2
}
