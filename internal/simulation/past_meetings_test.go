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
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Lists among events meet what else there is: what people do meanwhile, limits, rates, canaries, other configs, and what is kept of them.

// news is a job beside the triggers of shop, whose list has sixty contacts of its webhooks, with more keys.
func news(t testing.TB, keys string) string {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("phone,name\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "+4477009%05d,Bob %d\n", i*2, i%5)
	}
	rows.WriteString("+4477009,too short\n+447700900002,a second time\n")
	path := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("\njobs:\n  news:\n    cron: \"0 10 * * MON\"\n    source: {csv: %q}\n    columns: {phone: phone, var_1: name}\n    guard: {repeat: send}\n%s", path, keys)
}

const perMessage = "    deliver: per_message\n    send: {template: news}\n"

// ask is what a statement finds in the data, as texts.
func ask(t testing.TB, p simulation.Past, sql string, args ...any) []string {
	t.Helper()
	all, err := store.List(t.Context(), p.Store, sql, args, engine.Text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// onMonday is a time of the first Monday, counted from the begin of the month.
func onMonday(hour, minute int) time.Duration {
	return time.Duration((2*24+hour)*60+minute) * time.Minute
}

// kinds are the phones of a comparison's changes of rows, by kind.
func kinds(got *simulation.Comparison) map[string][]string {
	all := map[string][]string{}
	for i := range got.Changes {
		if c := &got.Changes[i]; c.Job != "" {
			all[c.Kind] = append(all[c.Kind], fmt.Sprintf("%d/%d", c.Run, c.Row))
		}
	}
	return all
}

// A block by hand in the middle of a run takes from it who is blocked, as it did. One that was lifted since is not known any more: whom it kept
// from the run is new, and nobody else.
func TestABlockInTheMiddleOfARun(t *testing.T) {
	rules := rulesOf(t, shop+news(t, perMessage+"    rate: 10/h\n"))
	phones := []messaging.Phone{"447700900010", "447700900070"} // one went already, one goes in the hour of the block
	block := deed{onMonday(12, 30), func(w *simulation.World) error {
		var all []store.Block
		for _, p := range phones {
			all = append(all, store.Block{Phone: p, Source: "by hand", At: w.Now()})
		}
		_, err := w.Store.Block(t.Context(), all)
		return err
	}}
	lift := deed{onMonday(14, 30), func(w *simulation.World) error {
		for _, p := range phones {
			if err := w.Store.Allow(t.Context(), p); err != nil {
				return err
			}
		}
		return nil
	}}
	for name, deeds := range map[string][]deed{"and stays": {block}, "and is lifted": {block, lift}} {
		t.Run(name, func(t *testing.T) {
			past := month(t, &rules, 200, 70, deeds...)
			blocked := ask(t, past, `SELECT r.run_id || '/' || (r.first_row + m.id - r.message) FROM messages m JOIN run_rows r ON m.id >= r.message AND m.id < r.message + r.row_count
				WHERE m.reason = 'the contact is blocked'`)
			if len(blocked) != 1 {
				t.Fatalf("the block kept %q from the run", blocked)
			}
			want := map[string][]string{}
			if len(deeds) > 1 {
				want[simulation.New] = blocked
			}
			got := compare(t, past, nil, &rules)
			found := kinds(got)
			for _, c := range got.Changes { // it takes a place in its hour, so that others go an hour later
				if c.Kind == simulation.Moved && len(deeds) > 1 && c.Run == 1 && c.Is.Due.Sub(c.Was.Due) == time.Hour {
					delete(found, simulation.Moved)
				}
			}
			if diff := cmp.Diff(want, found); diff != "" || len(got.Jobs) != 1 || got.Jobs[0].Was < 200 {
				t.Errorf("-want +got:\n%s%+v, %+v", diff, got.Changes, got.Jobs)
			}
			for i := range got.Triggers {
				if one := &got.Triggers[i]; one.New+one.Gone+one.Moved+one.Text > 0 {
					t.Errorf("%+v", one)
				}
			}
		})
	}
}

// A limit counts what triggers and lists sent to the same person: a lower one takes from each what is beyond it, whoever sent it, counted in
// what was really sent.
func TestALimitCountsTriggersAndLists(t *testing.T) {
	for name, keys := range map[string]string{"row by row": perMessage, "as files": "    campaign: {template_id: 7}\n"} {
		t.Run(name, func(t *testing.T) {
			const limit = "limit: {count: %d per day, on_hit: drop}"
			text := strings.Replace(shop, "limit: 2 per day", fmt.Sprintf(limit, 5), 1) + news(t, keys+"    "+fmt.Sprintf(limit, 5)+"\n")
			rules, lower := rulesOf(t, text), rulesOf(t, strings.ReplaceAll(text, fmt.Sprintf(limit, 5), fmt.Sprintf(limit, 1)))
			past := month(t, &rules, 1000, 0)
			beyond := map[string]bool{}
			of := map[bool]int{}
			reached := map[string]int64{} // until when one of the day counts: what failed reached nobody, from when that is known
			for _, line := range ask(t, past, `SELECT at || ' ' || until || ' ' || phone || ' ' || what FROM (
					SELECT accepted_at AS at, id, CASE WHEN status = 'failed' THEN failed_at ELSE 1 << 60 END AS until, phone, 'e' || event_id AS what FROM messages
						WHERE accepted_at > 0 AND event_id > 0 AND trigger_name = 'cart'
					UNION ALL SELECT m.accepted_at, m.id, CASE WHEN status = 'failed' THEN failed_at ELSE 1 << 60 END, m.phone, 'r' || r.run_id || '/' || (r.first_row + m.id - r.message)
						FROM messages m JOIN run_rows r ON m.id >= r.message AND m.id < r.message + r.row_count WHERE m.accepted_at > 0
					UNION ALL SELECT p.claimed_at, 0, 1 << 60, l.phone, 'r' || l.run_id || '/' || l.number
						FROM parts p JOIN list_rows l ON l.run_id = p.run_id WHERE l.number > 0 AND l.reason = '') AS sent ORDER BY at, id`) {
				var at, until int64
				var phone, key string
				if _, err := fmt.Sscan(line, &at, &until, &phone, &key); err != nil {
					t.Fatal(line, err)
				}
				day := phone + time.UnixMicro(at).In(london(t)).Format(time.DateOnly)
				if at < reached[day] {
					beyond[key] = true
					of[key[0] == 'r']++
					continue
				}
				reached[day] = until
			}
			gone := map[string]bool{}
			for _, c := range compare(t, past, &rules, &lower).Changes {
				if c.Was.Due.After(past.Until) {
					continue // it waited still
				}
				if c.Kind != simulation.Gone || !strings.Contains(c.Reason, "1 per day") && !strings.Contains(c.Reason, "over its limit") {
					t.Errorf("%+v", c)
				}
				if c.Job != "" {
					gone[fmt.Sprintf("r%d/%d", c.Run, c.Row)] = true
				} else {
					gone[fmt.Sprintf("e%d", c.Event)] = true
				}
			}
			if diff := cmp.Diff(beyond, gone); diff != "" || of[true] == 0 || of[false] == 0 {
				t.Errorf("%d rows and %d others are beyond it, %d are gone: %s", of[true], of[false], len(gone), diff)
			}
		})
	}
}

// At a rate each row of a list goes in its window, which another rate makes another one.
func TestARateOfAListIsPlayed(t *testing.T) {
	text := shop + news(t, perMessage+"    rate: 10/h\n")
	rules, faster := rulesOf(t, text), rulesOf(t, strings.Replace(text, "rate: 10/h", "rate: 25/h", 1))
	past := month(t, &rules, 200, 70)
	if got := compare(t, past, nil, &rules); got.Differs() {
		t.Errorf("against the ledger: %+v", got.Changes[0])
	}
	began, rows := map[messaging.RunID]time.Time{}, 0
	runs, err := past.Store.Runs(t.Context(), store.RunFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		began[runs[i].ID] = runs[i].StartedAt
		rows += 60
	}
	window := func(row, rate int64) time.Duration { return time.Duration((row-1)/rate) * time.Hour }
	moved := 0
	for _, c := range compare(t, past, &rules, &faster).Changes {
		at := began[c.Run]
		if c.Kind != simulation.Moved || !c.Was.Due.Equal(at.Add(window(c.Row, 10))) || !c.Is.Due.Equal(at.Add(window(c.Row, 25))) || c.Was.Due.Equal(c.Is.Due) {
			t.Errorf("%+v: %s, %s", c, c.Was.Due, c.Is.Due)
		}
		moved++
	}
	if want := rows * 50 / 60; len(runs) != 4 || moved != want {
		t.Errorf("%d rows of %d runs are moved, want %d", moved, len(runs), want)
	}
}

// A canary that stopped a run stops it again, and one that let it go lets it go. Without it the rows behind it are new where it stopped, and go
// earlier where it waited.
func TestACanaryOfAListIsPlayed(t *testing.T) {
	const canary = "    canary: {first: 10, wait: 2h, stop_if: failed > 10%}\n"
	text := shop + news(t, perMessage+"    overlap: cancel_previous\n"+canary)
	rules, without := rulesOf(t, text), rulesOf(t, strings.Replace(text, canary, "", 1))
	past := month(t, &rules, 200, 70)
	if got := compare(t, past, nil, &rules); got.Differs() {
		t.Errorf("against the ledger: %+v", got.Changes[0])
	}
	want := map[string][]string{}
	for _, line := range ask(t, past, `SELECT l.run_id || '/' || l.number || ' ' || CASE WHEN EXISTS (SELECT 1 FROM run_rows r JOIN messages m ON m.id >= r.message AND m.id < r.message + r.row_count
			WHERE r.run_id = l.run_id AND m.phone = l.phone AND m.accepted_at > 0) THEN 'moved' ELSE 'new' END FROM list_rows l WHERE number > 10 ORDER BY l.run_id, l.number`) {
		row, kind, _ := strings.Cut(line, " ")
		want[kind] = append(want[kind], row)
	}
	got := compare(t, past, &rules, &without)
	if diff := cmp.Diff(want, kinds(got)); diff != "" || len(want["new"]) < 50 || len(want["moved"]) < 50 {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, c := range got.Changes {
		if c.Kind == simulation.Moved && c.Was.Due.Sub(c.Is.Due) != 2*time.Hour {
			t.Errorf("%+v: %s, %s", c, c.Was.Due, c.Is.Due)
		}
	}
}

// A job that sends its list otherwise, as files or row by row, sends it at the same time with the other template, to those whom the ledger says that
// it was sent to.
func TestAListThatIsSentOtherwise(t *testing.T) {
	byFile := "    campaign: {template_id: 7}\n"
	for _, tt := range []struct{ name, was, is, sent, template string }{
		{"as files instead of row by row", perMessage, byFile, `SELECT r.run_id || '/' || (r.first_row + m.id - r.message) FROM messages m
			JOIN run_rows r ON m.id >= r.message AND m.id < r.message + r.row_count WHERE m.accepted_at > 0 ORDER BY m.id`, "7"},
		{"row by row instead of as files", byFile, perMessage, `SELECT l.run_id || '/' || l.number FROM parts p JOIN list_rows l ON l.run_id = p.run_id
			WHERE p.state = 'accepted' AND l.number > 0 AND l.reason = '' ORDER BY l.run_id, l.number`, "news"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := shop + news(t, tt.was)
			rules, otherwise := rulesOf(t, text), rulesOf(t, strings.Replace(text, tt.was, tt.is, 1))
			past := month(t, &rules, 200, 70)
			sent := ask(t, past, tt.sent)
			for name, was := range map[string]*simulation.Rules{"the ledger": nil, "the config before": &rules} {
				got := compare(t, past, was, &otherwise)
				if diff := cmp.Diff(map[string][]string{simulation.Text: sent}, kinds(got)); diff != "" || len(sent) < 200 {
					t.Errorf("against %s, %d sent: %s%q", name, len(sent), diff, got.Notes)
				}
				for _, c := range got.Changes {
					if c.Is == nil || c.Is.Template != tt.template || c.Was.Template == tt.template {
						t.Errorf("against %s: %+v, %+v", name, c.Was, c.Is)
					}
				}
			}
		})
	}
}

func london(t testing.TB) *time.Location {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// What is kept no more of a past, by the retention, by an erasure or because a list left it out, is left out and counted, and all else is as it was
// sent.
func TestAPastOfWhichSomeIsNotKept(t *testing.T) {
	const day = 24 * time.Hour
	retain := func(r privacy.Retention) func(*testing.T, simulation.Past) {
		return func(t *testing.T, p simulation.Past) {
			if _, err := (privacy.Records{Store: p.Store}).Retain(t.Context(), r, p.Until); err != nil {
				t.Fatal(err)
			}
		}
	}
	forget := func(t *testing.T, p simulation.Past) {
		r := privacy.Records{Store: p.Store}
		err := p.Store.Forget(t.Context(), []messaging.Phone{"447700900010", "447700900011"}, "by hand")
		var all []privacy.Erasure
		if err == nil {
			all, err = r.Erasures(t.Context())
		}
		waits := ""
		if err == nil {
			waits, err = r.Erase(t.Context(), all)
		}
		if err != nil || waits != "" {
			t.Fatal(waits, err)
		}
	}
	nobody := func(*testing.T, simulation.Past) {}
	// The statements count, in the data that is left, what each note counts.
	const (
		events   = `SELECT count(*) || ' events whose content is not kept any more are left out, with what they led to' FROM events WHERE `
		messages = `SELECT count(*) || ' messages are left out, because what was really sent then is not kept any more' FROM `
		excluded = `SELECT count(*) || ' rows that were left out when their list was read stay left out: what is stored of them is not enough to send them' FROM list_rows WHERE number < 0`
	)
	for _, tt := range []struct {
		name string
		do   func(*testing.T, simulation.Past)
		says []string
		rows int64 // sent, of 240
	}{
		{"rows of lists", retain(privacy.Retention{Lists: 14 * day}), []string{`SELECT count(*) || ' runs whose rows are not kept any more are left out: what they sent counts in no limit' FROM runs WHERE blanked_at > 0`}, 120},
		{"phones", retain(privacy.Retention{Phones: 14 * day}), []string{events + `phone LIKE '%*%'`}, 120},
		{"what was mapped", retain(privacy.Retention{Payloads: 7 * day, Facts: 14 * day}), []string{events + `cleared = 'facts'`}, 240},
		{"messages", retain(privacy.Retention{Messages: 14 * day}), []string{messages + `(SELECT 1 FROM decisions WHERE outcome = 'planned' AND message NOT IN (SELECT id FROM messages)
			UNION ALL SELECT 1 FROM list_rows WHERE number > 0 AND run_id IN (SELECT run_id FROM run_rows WHERE gone > 0)) AS gone`}, 240},
		{"who was forgotten", forget, []string{events + `cleared = 'forgotten'`, `SELECT count(*) || ' rows of lists, whose contact was forgotten: left out' FROM list_rows WHERE phone = '' AND number > 0`}, 236},
		{"rows that were excluded", nobody, []string{excluded}, 240},
	} {
		for name, keys := range map[string]string{"row by row": perMessage, "as files": "    campaign: {template_id: 7}\n"} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				text := strings.Replace(shop, "    limit: 2 per day\n", "", 1) + news(t, keys)
				rules := rulesOf(t, text)
				past := month(t, &rules, 200, 0)
				tt.do(t, past)
				for name, was := range map[string]*simulation.Rules{"the ledger": nil, "the same config": &rules} {
					got := compare(t, past, was, &rules)
					if got.Differs() || len(got.Jobs) != 1 || got.Jobs[0].Is != tt.rows && tt.name != "messages" {
						t.Errorf("against %s: %d changes, the first %+v; %+v", name, len(got.Changes), got.Changes[:min(1, len(got.Changes))], got.Jobs)
					}
					for _, sql := range tt.says {
						note := ask(t, past, sql)[0]
						if strings.HasPrefix(sql, messages) && (was != nil || keys != perMessage) {
							continue
						}
						if strings.HasPrefix(note, "0 ") || !slices.Contains(got.Notes, note) {
							t.Errorf("against %s: no note says %q: %q", name, note, got.Notes)
						}
					}
				}
			})
		}
	}
}
