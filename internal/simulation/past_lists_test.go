package simulation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
)

// listsOf are jobs beside the triggers of shop, whose lists name contacts of its webhooks, too.
func listsOf(t testing.TB) string {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("phone,name,lang\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "+4477009%05d,Bob %d,%s\n", i*2, i%5, []string{"en", "de"}[i%2])
	}
	rows.WriteString("+4477009,too short,en\n")
	path := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
jobs:
  news:
    cron: "0 10 * * MON,THU"
    source: {csv: %[1]q}
    columns: {phone: phone, var_1: name}
    deliver: per_message
    send: {template: news, language: '{{ lang }}'}
    limit: {count: 2 per 7d, on_hit: drop}
    guard: {repeat: send}
  offer:
    cron: "30 9 * * TUE,THU"
    source: {csv: %[1]q}
    columns: {phone: phone, var_1: name}
    campaign: {template_id: 7, name: "Offer {{ run.date }}"}
    limit: {count: 2 per 3d, on_hit: drop}
    max_size: 2kB
    guard: {repeat: send}
  stock:
    cron: "0 23 * * WED"
    source: {csv: %[1]q}
    columns: {phone: phone}
    campaign: {template_id: 8}
    quiet_hours: "22:00-07:00"
    guard: {repeat: send}
`, path)
}

// What the config that ran would send is what was sent, row by row, with lists in it.
func TestASimulationOfListsEqualsTheLedger(t *testing.T) {
	rules := rulesOf(t, shop+listsOf(t))
	past := month(t, &rules, 1000, 350)
	for name, was := range map[string]*simulation.Rules{"the ledger": nil, "the same config": &rules} {
		got := compare(t, past, was, &rules)
		if got.Differs() || got.Events != 1000 || got.Runs < 16 || len(got.Jobs) != 3 || got.Jobs[0].Was < 50 || got.Jobs[1].Was < 150 || got.Jobs[2].Was != 240 {
			t.Errorf("against %s: %d changes, the first %+v; %+v of %d runs; %q", name, len(got.Changes), got.Changes[:min(3, len(got.Changes))], got.Jobs, got.Runs, got.Notes)
		}
	}
}

// An edit of a job changes what it says, and nothing else.
func TestAnEditOfAJobIsToldRowByRow(t *testing.T) {
	text := shop + listsOf(t)
	rules := rulesOf(t, text)
	past := month(t, &rules, 500, 150)
	same := compare(t, past, nil, &rules)
	sent := map[string]int64{}
	for _, j := range same.Jobs {
		sent[j.Name] = j.Was
	}
	for _, tt := range []struct {
		name, old, new string
		want           map[string]simulation.Total // by job, of what differs
		note           string
		others         bool // whoever shares a limit with them may get more, or less
	}{
		{"the template", "template: news", "template: newer", map[string]simulation.Total{"news": {Text: sent["news"]}}, "", false},
		{"the template of a file", "template_id: 8", "template_id: 9", map[string]simulation.Total{"stock": {Text: sent["stock"]}}, "", false},
		{"the hour of a file", `"0 23 * * WED"`, `"0 12 * * WED"`, map[string]simulation.Total{"stock": {Moved: sent["stock"]}}, "", true},
		{"the quiet hours of a file", `22:00-07:00`, `22:00-06:00`, map[string]simulation.Total{"stock": {Moved: sent["stock"]}}, "", true},
		{"a job that is off", "    deliver: per_message\n", "    deliver: per_message\n    mode: off\n", map[string]simulation.Total{"news": {Gone: sent["news"]}}, "", true},
		{"a cron that is gone", "    cron: \"0 23 * * WED\"\n", "", map[string]simulation.Total{"stock": {Gone: sent["stock"]}}, "", true},
		{"a name", "  stock:\n", "  stocks:\n", map[string]simulation.Total{"stock": {Gone: sent["stock"]}}, "job stocks fires 4 times of which no list is stored", true},
		{"more days", `"0 23 * * WED"`, `"0 23 * * WED,FRI"`, nil, "job stock fires 4 times of which no list is stored", false},
		{"other columns", "columns: {phone: phone}", "columns: {phone: phone, var_1: name}", nil, "job stock reads its list otherwise", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(text, tt.old) != 1 {
				t.Fatalf("%q is there %d times", tt.old, strings.Count(text, tt.old))
			}
			edited := rulesOf(t, strings.Replace(text, tt.old, tt.new, 1))
			got := compare(t, past, &rules, &edited)
			differs := map[string]simulation.Total{}
			for _, j := range got.Jobs {
				if _, is := tt.want[j.Name]; !is && tt.others {
					continue
				}
				if d := (simulation.Total{New: j.New, Gone: j.Gone, Moved: j.Moved, Text: j.Text}); d != (simulation.Total{}) {
					differs[j.Name] = d
				}
			}
			if tt.want == nil {
				tt.want = map[string]simulation.Total{}
			}
			if diff := cmp.Diff(tt.want, differs); diff != "" {
				t.Errorf("-want +got:\n%s%+v\n%q", diff, got.Changes[:min(3, len(got.Changes))], got.Notes)
			}
			if !slices.ContainsFunc(got.Notes, func(n string) bool { return strings.HasPrefix(n, tt.note) }) {
				t.Errorf("no note says %q: %q", tt.note, got.Notes)
			}
			for _, c := range got.Changes {
				if c.Kind == simulation.Gone && c.Reason == "" || (c.Job == "") != (c.Run == 0 || c.Row == 0) || (c.Job == "") == (c.Trigger == "") || c.Job == "" && !tt.others {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// A lower limit of a list takes from each contact what is beyond it, counted apart from all rules.
func TestALowerLimitOfAListTakesWhatIsBeyondIt(t *testing.T) {
	head, _, _ := strings.Cut(shop, "triggers:")
	news, _, _ := strings.Cut(listsOf(t), "  offer:")
	text := head + news // one job alone
	rules, lower := rulesOf(t, text), rulesOf(t, strings.Replace(text, "2 per 7d", "1 per 7d", 1))
	past := month(t, &rules, 1000, 300)
	all, err := past.Store.Messages(t.Context(), store.MessageFilter{Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b store.MessageStory) int { return a.AcceptedAt.Compare(b.AcceptedAt) })
	counts, beyond := map[messaging.Phone]time.Time{}, map[string]bool{}
	for i := range all {
		m := &all[i]
		if m.AcceptedAt.IsZero() {
			continue
		}
		if last, is := counts[m.Phone]; is && m.AcceptedAt.Sub(last) < 7*24*time.Hour {
			beyond[m.Key] = true
			continue
		}
		if m.Status != messaging.StatusFailed {
			counts[m.Phone] = m.AcceptedAt
		}
	}
	got := compare(t, past, &rules, &lower)
	gone := map[string]bool{}
	for _, c := range got.Changes {
		if c.Kind != simulation.Gone && c.Kind != simulation.New || c.Kind == simulation.Gone && !strings.Contains(c.Reason, "1 per 7d") {
			t.Errorf("%+v", c)
		}
		if c.Kind == simulation.Gone {
			gone[messaging.RowKey(c.Run, c.Row)] = true
		}
	}
	if diff := cmp.Diff(beyond, gone); diff != "" || len(beyond) < 50 {
		t.Errorf("%d are beyond it, %d are gone: %s", len(beyond), len(gone), diff)
	}
}

// What a person paused is not what the config would send besides: rows of a run that is not over are left out of a comparison with the ledger, and told.
func TestRowsOfARunThatIsPausedAreNotNew(t *testing.T) {
	head, _, _ := strings.Cut(shop, "triggers:")
	_, stock, _ := strings.Cut(listsOf(t), "  stock:")
	text := head + "jobs:\n  stock:" + strings.Replace(stock, "WED", "SUN", 1) // an hour before the month is over, and in quiet hours
	rules, edited := rulesOf(t, text), rulesOf(t, strings.Replace(text, "template_id: 8", "template_id: 9", 1))
	past := month(t, &rules, 10, 0)
	runs, err := past.Store.Runs(t.Context(), store.RunFilter{Limit: 1})
	if err != nil || len(runs) != 1 || runs[0].State != messaging.RunUploading {
		t.Fatal(runs, err)
	}
	run := runs[0]
	run.State, run.Before, run.Reason, run.Stopped = messaging.RunPaused, messaging.RunUploading, "paused by ann", messaging.StopPerson
	run.Owner, run.LeaseEnd = "", time.Time{}
	if err := past.Store.SetRun(t.Context(), "", run, messaging.RunUploading); err != nil {
		t.Fatal(err)
	}
	past.Until = past.Until.Add(12 * time.Hour)
	got := compare(t, past, nil, &rules)
	if want := "60 rows of runs that are paused or under way were not sent so far, and are left out"; got.Differs() || !slices.Contains(got.Notes, want) {
		t.Errorf("%d changes, the first %+v; %q", len(got.Changes), got.Changes[:min(1, len(got.Changes))], got.Notes)
	}
	if !compare(t, past, &rules, &edited).Differs() {
		t.Error("two configs do not differ in them")
	}
}
