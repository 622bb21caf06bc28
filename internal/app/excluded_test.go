package app_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// sheetRows are the rows of a list as a spreadsheet shows them: by phone digits, the number of
// the first row with it. Cells of these lists hold no line breaks.
func sheetRows(t *testing.T, path string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]int64{}
	for i, row := range rows {
		phone := strings.TrimPrefix(row[1], "+")
		if _, known := first[phone]; !known {
			first[phone] = int64(i + 1)
		}
	}
	return first
}

// why is the story of a phone in short: for each row of a run where it stands and why it was left
// out, and the note.
func (h *house) why(phone string) (rows []string, note string) {
	h.t.Helper()
	stories, err := server.Why.Call(h.t.Context(), h.ask, server.ListQuery{Phone: phone, Limit: 20})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range stories {
		if s.Row == nil {
			note = s.Note
			continue
		}
		text := fmt.Sprintf("%s, run %d, row %d of %s", s.Row.Job, s.Row.Run, s.Row.Row, filepath.Base(s.Row.File))
		if s.Row.Excluded != "" {
			text += ": excluded: " + s.Row.Excluded
		}
		if s.Row.At.IsZero() {
			h.t.Errorf("%s has no time", text)
		}
		rows = append(rows, text)
	}
	return rows, note
}

// Whoever a run left out is told of with the run, the row in the file and the reason, however the
// phone is written; and what is not known any more is said.
func TestWhyTellsWhomARunLeftOut(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "list.csv")
	const text = "first_name,mobile,city,code\n" +
		"Ada,07700 900101,\"London\nWest\",a\n" + // row 2, though it takes two lines
		"Ben,+447700900101,York,b\n" +
		"\n" +
		"Chloe,12,Bath,c\n" +
		"Dev,+447700900102,Leeds,d\n" +
		"Eve,+447700900103,Hull\n" +
		"Fay,+447700900104,,e\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := jobConfig(folder, byMessage) + "retention: {lists: 7d}\n"
	h := open(t, options{folder: folder, config: config})
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{"+447700900102"}}); err != nil {
		t.Fatal(err)
	}
	if r := h.fire("winback"); r.State != messaging.RunDone || r.Tally.Kept != 1 {
		t.Fatalf("the run is %s with %+v", r.State, r.Tally)
	}
	for phone, want := range map[string][]string{
		"+447700900101": {
			"winback, run 1, row 3 of list.csv: excluded: an earlier row has the same phone",
			"winback, run 1, row 2 of list.csv",
		},
		"12":           {"winback, run 1, row 5 of list.csv: excluded: the phone is too short for GB"},
		"447700900102": {"winback, run 1, row 6 of list.csv: excluded: the contact is blocked"},
		"07700900103":  {"winback, run 1, row 7 of list.csv: excluded: the row has 3 cells and the header 4: write the empty cells, too"},
		"447700900104": {"winback, run 1, row 8 of list.csv: excluded: var_2 is empty: {{ city }}; give it a default"},
	} {
		got, note := h.why(phone)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" || note != "" {
			t.Errorf("why %s, note %q:\n%s", phone, note, diff)
		}
	}
	var no *refusal.Error
	if _, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "13", Limit: 20}); !errors.As(err, &no) || no.Words != "that is not a phone number; no run whose rows are kept excluded it" {
		t.Errorf("why 13: %v", err)
	}
	const hint = `"nudgewire events rejected" shows requests that were not taken`
	if _, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "+447700900199", Limit: 20}); !errors.As(err, &no) || no.Hint != hint {
		t.Errorf("why of nobody: %v", err)
	}
	var rows []server.RowView
	h.eventually("the message is accepted", func() bool {
		rows = h.export(1)
		return len(rows) > 0 && rows[0].State == "accepted"
	})
	var places []string
	for _, r := range rows {
		places = append(places, fmt.Sprintf("%d %s %d", r.Row, r.State, r.Number))
	}
	slices.Sort(places)
	if diff := cmp.Diff([]string{"2 accepted 1", "3 excluded 0", "5 excluded 0", "6 excluded 0", "7 excluded 0", "8 excluded 0"}, places); diff != "" {
		t.Errorf("exported:\n%s", diff)
	}
	h.stop()
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(folder, "nudgewire.db")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (privacy.Records{Store: st}).Retain(t.Context(), privacy.Retention{Lists: 7 * 24 * time.Hour}, time.Now().Add(8*24*time.Hour)); err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	h = open(t, options{folder: folder, config: config})
	got, note := h.why("+447700900101")
	if want := "which rows run 1 of winback excluded is not known any more (retention.lists)"; note != want || len(got) != 1 || got[0] != "winback, run 1, row 2 of list.csv" {
		t.Errorf("%q, and the note is %q", got, note)
	}
	const gone = "which rows run 1 of winback excluded is not known any more (retention.lists)"
	if _, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "12", Limit: 20}); !errors.As(err, &no) || !strings.HasSuffix(no.Words, "; no run whose rows are kept excluded it") || !strings.HasSuffix(no.Hint, "; "+gone) {
		t.Errorf("why of a cell whose run's files are gone: %#v", err)
	}
}

// between is what happens between a run that nobody got and its retry: another campaign reaches
// two people of the list, and one is blocked.
func (h *house) between(wanted []string) (messaged []string, blocked string) {
	h.t.Helper()
	messaged, blocked = wanted[1:3], wanted[3]
	if err := os.WriteFile(filepath.Join(h.folder, "news.csv"), []byte("mobile\n+"+strings.Join(messaged, "\n+")+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.service.SetFaults(sandbox.Faults{})
	if r := h.fire("news"); r.State != messaging.RunDone || r.Tally.Kept != int64(len(messaged)) {
		h.t.Fatalf("the other campaign is %s with %+v", r.State, r.Tally)
	}
	h.eventually("the other campaign has arrived", func() bool {
		return !slices.ContainsFunc(messaged, func(p string) bool { return h.service.Accepted(p) == 0 }) && h.status().Sending == 0
	})
	if _, err := server.BlockContacts.Call(h.t.Context(), h.ask, server.BlockRequest{Phones: []string{"+" + blocked}}); err != nil {
		h.t.Fatal(err)
	}
	return messaged, blocked
}

// A retry looks once more at who is skipped: who was messaged by another campaign since, or was
// blocked, gets nothing of it. What the run itself sent is no reason against it.
func TestARetryLooksAgainAtWhoIsSkipped(t *testing.T) {
	t.Parallel()
	const news = `  news:
    source: {csv: "FOLDER/news.csv"}
    columns: {phone: mobile}
    deliver: per_message
    send: {template: news}
`
	skip := "    exclude: {messaged_within: 7d}\n"
	// A fifth message that is refused right after four others halts sending.
	for deliver, rows := range map[string]int{byMessage: 4, byCSV: 40} {
		t.Run(deliver, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "list.csv")
			wanted := list(t, path, rows)
			h := open(t, options{folder: folder, config: jobConfig(folder, deliver+skip+strings.ReplaceAll(news, "FOLDER", folder))})
			f := h.service.Faults()
			f.ErrorRate, f.Status = 1, 422
			h.service.SetFaults(f)
			first := h.fire("winback")
			h.eventually("nobody got it", func() bool {
				r := h.run(first.ID)
				return r.State == messaging.RunFailed || r.Messages["rejected"] == int64(len(wanted))
			})
			messaged, blocked := h.between(wanted)
			rest := slices.DeleteFunc(slices.Clone(wanted), func(p string) bool { return slices.Contains(messaged, p) || p == blocked })

			at := sheetRows(t, path)
			wantOut := map[string]int64{"the contact was messaged within 7d": 2, "the contact is blocked": 1}
			firsts := map[string]int64{"the contact was messaged within 7d": at[messaged[0]], "the contact is blocked": at[blocked]}
			if deliver == byMessage { // the law of rows says it in its own words
				wantOut["the message goes to a contact that is blocked"], firsts["the message goes to a contact that is blocked"] = 1, at[blocked]
				delete(wantOut, "the contact is blocked")
			}
			f2, err := server.ForecastRetry.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, tally messaging.Tally) {
				t.Helper()
				out := map[string]int64{}
				for _, x := range tally.Excluded {
					out[x.Reason] = x.Count
					if x.First != firsts[x.Reason] || x.File != "" {
						t.Errorf("%s: the first row of %q is %d of %q, want %d", what, x.Reason, x.First, x.File, firsts[x.Reason])
					}
				}
				if diff := cmp.Diff(wantOut, out); diff != "" || tally.Kept != int64(len(rest)) || tally.Rows != int64(len(wanted)) {
					t.Errorf("%s: %d of %d rows\n%s", what, tally.Kept, tally.Rows, diff)
				}
			}
			check("forecast", f2.Tally)
			again, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
			if err != nil {
				t.Fatal(err)
			}
			retry := h.ended(again.ID)
			check("retry", retry.Tally)
			if retry.State != messaging.RunDone {
				t.Fatalf("the retry is %s: %s", retry.State, retry.Reason)
			}
			h.eventually("the retry has arrived", func() bool {
				return !slices.ContainsFunc(rest, func(p string) bool { return h.service.Accepted(p) == 0 })
			})
			for _, p := range wanted {
				want := 1
				if p == blocked {
					want = 0
				}
				if n := h.service.Accepted(p); n != want {
					t.Errorf("%s got %d messages, want %d", p, n, want)
				}
			}
			rows := h.export(retry.ID)
			var sent, out []string
			for _, r := range rows {
				if r.State == server.StateExcluded {
					out = append(out, r.Phone)
				} else {
					sent = append(sent, r.Phone)
				}
				if r.Row != at[r.Phone] || r.File != path {
					t.Errorf("%s stands in row %d of %s, want row %d", r.Phone, r.Row, r.File, at[r.Phone])
				}
			}
			if diff := cmp.Diff(rest, sent); diff != "" {
				t.Errorf("the retry sent:\n%s", diff)
			}
			var no *refusal.Error
			_, err = server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
			if !errors.As(err, &no) || no.Words != "run 1 has nothing that can be sent again" {
				t.Errorf("a second retry: %v", err)
			}
			if deliver == byMessage {
				return
			}
			if diff := cmp.Diff(append(slices.Clone(messaged), blocked), out); diff != "" {
				t.Errorf("the retry left out:\n%s", diff)
			}
			if want := "nobody on its files is left to send to: of 3 rows 2 because the contact was messaged within 7d"; no.Hint != want {
				t.Errorf("a second retry: %s", no.Hint)
			}
			if p := retry.Parts[0]; p.Rows != int64(len(rest)) || p.State != messaging.PartAccepted {
				t.Errorf("the retry's part: %+v", p)
			}
			told := fmt.Sprintf("winback, run %d, row %d of list.csv: excluded: the contact was messaged within 7d, by run 2 of news on ", first.ID, at[messaged[0]])
			if got, _ := h.why("+" + messaged[0]); !slices.ContainsFunc(got, func(one string) bool { return strings.HasPrefix(one, told) }) {
				t.Errorf("why %s: %q", messaged[0], got)
			}
		})
	}
}

// Where everybody on the files is skipped by now, a retry says so and stores nothing.
func TestARetryThatNobodyIsLeftFor(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 3)
	h := open(t, options{folder: folder, config: jobConfig(folder, byCSV)})
	f := h.service.Faults()
	f.ErrorRate, f.Status = 1, 422
	h.service.SetFaults(f)
	first := h.fire("winback")
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: wanted}); err != nil {
		t.Fatal(err)
	}
	var no *refusal.Error
	_, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
	if !errors.As(err, &no) || no.Words != "run 1 has nothing that can be sent again" ||
		no.Hint != "nobody on its files is left to send to: of 3 rows 3 because the contact is blocked" {
		t.Errorf("retry: %v", err)
	}
	runs, err := server.ListRuns.Call(t.Context(), h.ask, server.ListQuery{})
	if err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	// Unblocked, they are sent to after all.
	for _, p := range wanted {
		if _, err := server.AllowContact.Call(t.Context(), h.ask, p); err != nil {
			t.Fatal(err)
		}
	}
	h.service.SetFaults(sandbox.Faults{})
	again, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: first.ID})
	if err != nil {
		t.Fatal(err)
	}
	if r := h.ended(again.ID); r.State != messaging.RunDone || r.Tally.Kept != 3 || r.Parts[0].SHA256 != first.Parts[0].SHA256 {
		t.Errorf("the retry is %s: %+v", r.State, r.Parts)
	}
}
