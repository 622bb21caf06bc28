package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What a forecast says of the rows of a list is what becomes of them in a run that begins then: how many leave at once, how many are left out, and
// how many wait, whatever the rules, and whether they leave in files or message by message. Each job meets what those before it sent.
func TestAForecastIsTheTruth(t *testing.T) {
	t.Parallel()
	const people = 24
	folder := t.TempDir()
	list := "phone\n"
	var phones []string
	for i := range people {
		phones = append(phones, fmt.Sprintf("+4477009007%02d", i))
		list += phones[i] + "\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	quiet := nowQuiet()
	rules := []string{
		"consent: required", "limit: 1 per 24h", "unique: phone", "limit: {count: 1 per 24h, on_hit: drop}", "exclude: {messaged_within: 7d}",
		"limit: 2 per 7d, consent: required", `quiet_hours: "` + quiet + `"`, `quiet_hours: {hours: "` + quiet + `", on_hit: drop}`,
		"consent: required, limit: {count: 3 per 24h, on_hit: drop}, category: utility", `quiet_hours: "` + quiet + `", consent: required, exclude: {messaged_within: 1h}`,
		"limit: {count: 2 per 24h, max_defer: 1h}", `at: "` + passedInBritain() + `"`, `at: "` + passedInBritain() + `", consent: required, exclude: {messaged_within: 1h}`,
	}
	config := "defaults: {country: GB, language: en}\njobs:\n"
	for i, rule := range rules {
		for deliver, how := range map[string]string{"rows": byRow, "files": byFile} {
			config += fmt.Sprintf("  %s-%d: {source: {csv: %q}, columns: {phone: phone}, %s, %s}\n", deliver, i, filepath.Join(folder, "list.csv"), how, rule)
		}
	}
	h := open(t, options{folder: folder, config: config})
	h.consents(messaging.ConsentGiven, phones[:15]...)
	h.consents(messaging.ConsentWithdrawn, phones[12:15]...)
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: phones[:2]}); err != nil {
		t.Fatal(err)
	}
	met := [3]int{}
	for i, rule := range rules {
		for _, deliver := range []string{"rows", "files"} {
			job := fmt.Sprintf("%s-%d", deliver, i)
			f, err := server.ForecastJob.Call(t.Context(), h.ask, job)
			if err != nil {
				t.Fatal(err)
			}
			var later int64
			for _, l := range f.Later {
				later = max(later, l.Rows) // of one list all rows, or some of them, by one rule
			}
			want := [3]int{int(f.Tally.Kept - later), int(f.Tally.Rows - f.Tally.Kept), int(later)} // that leave, are left out, and wait
			if f.Nothing != "" {
				want = [3]int{0, people, 0}
			}
			run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: job, Approve: true})
			if err != nil {
				t.Fatal(err)
			}
			h.eventually(fmt.Sprintf("%s (%s): %v leave, are left out, and wait", job, rule, want), func() bool {
				r, err := server.ShowRun.Call(t.Context(), h.ask, run.ID)
				if err != nil {
					t.Fatal(err)
				}
				got := [3]int{}
				for _, row := range h.export(run.ID) {
					switch row.State {
					case "accepted":
						got[0]++
					case "excluded", "dropped", "cancelled":
						got[1]++
					default:
						got[2]++
					}
				}
				if f.Nothing != "" { // its list may not have been read
					return r.State.Final() && got[0] == 0 && got[2] == 0
				}
				return got == want
			})
			for i := range met {
				met[i] += want[i]
			}
			if want[2] > 0 { // the next job is to meet what was sent, and nothing that waits
				if _, err := server.CancelRun.Call(t.Context(), h.ask, run.ID); err != nil {
					t.Fatal(err)
				}
			}
			h.ended(run.ID)
		}
	}
	if met[0] == 0 || met[1] == 0 || met[2] == 0 {
		t.Errorf("%v rows left, were left out, and waited", met)
	}
}

// A forecast says what holds all that a run would send, and the run is held by it; one that is not held says nothing.
func TestAForecastSaysWhatHoldsItsRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte("phone\n+447700900700\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := func(name, how string) string {
		return fmt.Sprintf("  %s: {source: {csv: %q}, columns: {phone: phone}, %s}\n", name, filepath.Join(folder, "list.csv"), how)
	}
	h := open(t, options{folder: folder, config: "defaults: {country: GB, language: en}\njobs:\n" + job("rows", byRow) + job("files", byFile)})
	sent := 0
	for _, tt := range []struct {
		halt server.HaltRequest
		held []string // jobs
	}{
		{server.HaltRequest{Scope: messaging.ScopeAll}, []string{"rows", "files"}},
		{server.HaltRequest{Scope: messaging.ScopeJob, Name: "files"}, []string{"files"}},
		{server.HaltRequest{Scope: messaging.ScopeTemplate, Name: "winback"}, []string{"rows"}},
		{server.HaltRequest{Scope: messaging.ScopeJob, Name: "rows"}, []string{"rows"}},
	} {
		if _, err := server.Halt.Call(t.Context(), h.ask, tt.halt); err != nil {
			t.Fatal(err)
		}
		for _, job := range []string{"rows", "files"} {
			f, err := server.ForecastJob.Call(t.Context(), h.ask, job)
			if err != nil {
				t.Fatal(err)
			}
			run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: job, Approve: true})
			if err != nil {
				t.Fatal(err)
			}
			held := slices.Contains(tt.held, job)
			var is server.RunView
			h.eventually("the run is held, or over", func() bool {
				is, err = server.ShowRun.Call(t.Context(), h.ask, run.ID)
				return err == nil && (is.Halted != "" || is.State.Final())
			})
			switch {
			case (f.Halted != "") != held:
				t.Errorf("%v of %s: the forecast says %q", tt.halt, job, f.Halted)
			case !held:
				h.eventually("it leaves", func() bool { return h.service.Stats().Messages == sent+1 })
				sent++
			case is.State.Final() && is.Messages[string(messaging.StateWaiting)] != 1: // a row that was handed over is held as a message
				t.Errorf("%v of %s: of the run, %v", tt.halt, job, is.Messages)
			case !is.State.Final() && is.Halted != f.Halted:
				t.Errorf("%v of %s: the forecast says %q, the run %q", tt.halt, job, f.Halted, is.Halted)
			}
			if held {
				if _, err := server.CancelRun.Call(t.Context(), h.ask, run.ID); err != nil {
					t.Fatal(err)
				}
			}
			h.ended(run.ID)
			h.pass() // a run by hand is named by its second
		}
		if _, err := server.Resume.Call(t.Context(), h.ask, tt.halt); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.service.Stats().Messages; n != sent {
		t.Errorf("%d messages left, and %d were to", n, sent)
	}
}

// It says, too, that the service refuses what it is asked.
func TestAForecastSaysThatTheServiceRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte("phone\n+447700900700\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := newCounter(t, apiKey)
	h := open(t, options{folder: folder, api: service.api("${API_KEY}"), config: "defaults: {country: GB, language: en}\njobs:\n" +
		fmt.Sprintf("  rows: {source: {csv: %q}, columns: {phone: phone}, %s}\n", filepath.Join(folder, "list.csv"), byRow)})
	halted := func() string {
		f, err := server.ForecastJob.Call(t.Context(), h.ask, "rows")
		if err != nil {
			t.Fatal(err)
		}
		return f.Halted
	}
	if words := halted(); words != "" {
		t.Errorf("before anything is refused: %q", words)
	}
	service.revoke(true)
	if _, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: "+447700900701", Send: messaging.Send{Template: "one", Language: "en"}}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the key is refused", func() bool { return h.haltedBy("key") != nil })
	if words := halted(); !strings.HasPrefix(words, "sending is halted since ") {
		t.Errorf("while the key is refused: %q", words)
	}
	service.revoke(false)
	h.eventually("the key is taken again", func() bool { return halted() == "" })
}
