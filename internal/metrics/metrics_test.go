package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/metrics"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

var now = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// figures are those of a daemon in which a bit of everything happened.
func figures() metrics.Figures {
	return metrics.Figures{
		Now: now,
		Status: server.StatusView{
			Counts: map[string]int64{"events": 7, "messages_accepted": 3, "messages_delivered": 2}, Deferred: 4, InDoubt: 1, Tracking: 5,
			Rules:      []server.RuleCountView{{Rule: "quiet_hours", Action: messaging.DeferSend, Times: 4}},
			Holds:      []messaging.Hold{{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}},
			Behind:     []server.BehindView{{What: server.BehindUrgent, Since: now.Add(-time.Minute)}},
			Troubles:   []messaging.Trouble{{Code: messaging.TroubleHalt, Severity: messaging.Stops}, {Code: messaging.TroubleForgetting, Severity: messaging.Note}},
			LastEvents: map[string]time.Time{"shopify": now},
			Backup:     &server.BackupView{At: now},
			Nodes:      []server.NodeView{{Alive: true}, {Alive: true}, {}},
			Daemon: &server.DaemonView{
				Version: "1", Config: "c0ffee", LoadedAt: now, Connectors: []string{"shopify", "stripe"},
				Silent: []server.SilentView{{Connector: "stripe"}}, Disk: &server.DiskView{Free: 10, All: 20},
				Turned: []webhooks.TurnedView{{Count: 2}},
			},
		},
		Backlogs: map[string]report.Backlog{"": {Urgent: 1, Marketing: 9, PollsOverdue: 2}},
		Runs:     map[messaging.RunState]int64{messaging.RunAwaiting: 1},
		Accounts: []metrics.Account{{
			Budget: pace.State{Configured: 20, Pace: pace.Pace{Rate: 20, Busiest: 10}, Sends: 30},
			Sender: sender.Stats{Halts: []messaging.SendingHalt{{Cause: string(apiclient.TroublePoints)}}},
		}},
		Database: 4096, Log: 512,
	}
}

func full(ctx context.Context) (metrics.Figures, error) { return figures(), ctx.Err() }

// used is a registry in which everything that is counted as it happens has happened.
func used(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := metrics.New("1", full)
	m.Answered(&webhooks.AnsweredHook{Connector: "shopify", Status: 401, Stage: "verify", Began: now, Ended: now.Add(time.Millisecond)})
	m.Decided(&messaging.Receipt{Decisions: []messaging.Decision{{Trigger: "cart", Outcome: messaging.Planned}}})
	d := messaging.Message{Category: messaging.Utility, DueAt: now, CreatedAt: now.Add(-time.Hour)}
	m.Called(&d, now.Add(time.Second), now.Add(2*time.Second), &messaging.Attempt{State: messaging.StateAccepted})
	m.Called(&d, now, now, &messaging.Attempt{State: messaging.StateRejected, Class: messaging.ErrorPermanent})
	m.Polled(&messaging.Poll{Status: messaging.StatusFailed, Final: true})
	m.Requested("send-template", apiclient.Accepted, time.Second)
	m.Committed(3, time.Millisecond)
	m.Reloaded(false, nil)
	return m
}

// What promtool check metrics says of names, units and help, and one thing more: a help is a sentence.
func TestNamesUnitsAndHelp(t *testing.T) {
	m := used(t)
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range families {
		if help := f.GetHelp(); strings.HasPrefix(f.GetName(), "nudgewire_") && (!strings.HasSuffix(help, ".") || !unicode.IsUpper(rune(help[0])) && !unicode.IsDigit(rune(help[0]))) {
			t.Errorf("%s: the help is no sentence: %q", f.GetName(), help)
		}
	}
}

// labels are the names of all figures of ours, each with those of its labels.
func labels(t *testing.T, m *metrics.Metrics) map[string][]string {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "nudgewire_") {
			continue
		}
		out[f.GetName()] = []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			out[f.GetName()] = append(out[f.GetName()], l.GetName())
		}
	}
	return out
}

var row = regexp.MustCompile("(?m)^\\| `(nudgewire_[a-z_]+)` \\| ([^|]*) \\|")

// docs/metrics.md has a line for each figure, with its labels, and no other.
func TestThePageListsEveryFigure(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		told[r[1]] = []string{}
		for _, l := range strings.Split(r[2], ",") {
			if l = strings.Trim(strings.TrimSpace(l), "`"); l != "" {
				told[r[1]] = append(told[r[1]], l)
			}
		}
		slices.Sort(told[r[1]])
	}
	if diff := cmp.Diff(labels(t, used(t)), told); diff != "" {
		t.Errorf("docs/metrics.md (-registry +page):\n%s", diff)
	}
}

// scraped is what /metrics answers, line by line.
func scraped(t *testing.T, m *metrics.Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	return strings.Split(w.Body.String(), "\n")
}

func TestFiguresAreThoseOfTheDaemon(t *testing.T) {
	lines := scraped(t, used(t))
	for _, want := range []string{
		`nudgewire_scrape_complete 1`,
		`nudgewire_build_info{version="1"} 1`,
		`nudgewire_messages_waiting{account="api",lane="marketing"} 9`,
		`nudgewire_messages_waiting{account="api",lane="urgent"} 1`,
		`nudgewire_queue_age_seconds{account="api",lane="marketing"} 0`,
		`nudgewire_polls_overdue{account="api"} 2`,
		`nudgewire_rate_used_ratio{account="api"} 0.5`,
		`nudgewire_connector_silent{connector="shopify"} 0`,
		`nudgewire_connector_silent{connector="stripe"} 1`,
		`nudgewire_connector_last_event_timestamp_seconds{connector="shopify"} 1.7951652e+09`,
		`nudgewire_failures_total{class="permanent",state="rejected"} 1`,
		`nudgewire_failures_total{class="unknown",state="failed"} 1`,
		`nudgewire_sending_halted{account="api",cause="key"} 0`,
		`nudgewire_sending_halted{account="api",cause="points"} 1`,
		`nudgewire_nodes{state="alive"} 2`,
		`nudgewire_nodes{state="dead"} 1`,
		`nudgewire_holds{kind="halt",scope="all"} 1`,
		`nudgewire_holds{kind="restored",scope="all"} 0`,
		`nudgewire_troubles{code="halt"} 1`,
		`nudgewire_troubles{code="forgetting"} 0`,
		`nudgewire_runs_open{state="awaiting_approval"} 1`,
		`nudgewire_held_back_total{action="deferred",rule="quiet_hours"} 4`,
		`nudgewire_messages_ended_total{outcome="accepted"} 3`,
		`nudgewire_messages_status_total{status="delivered"} 2`,
		`nudgewire_database_size_bytes{file="log"} 512`,
		`nudgewire_webhooks_total{answer="401",connector="shopify"} 1`,
		`nudgewire_webhooks_rejected_total{connector="shopify",stage="verify"} 1`,
		`nudgewire_decisions_total{outcome="planned",trigger="cart"} 1`,
		`nudgewire_send_after_webhook_seconds_sum{category="utility"} 3602`,
		`nudgewire_commit_operations_sum 3`,
		`nudgewire_config_reloads_total{outcome="refused"} 1`,
	} {
		if !slices.Contains(lines, want) {
			name, _, _ := strings.Cut(want, " ")
			name, _, _ = strings.Cut(name, "{")
			t.Errorf("no line %s, but %q", want, slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, name) }))
		}
	}
	i := slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, `nudgewire_queue_age_seconds{account="api",lane="urgent"} `)
	})
	if age, err := strconv.ParseFloat(lines[i][strings.LastIndexByte(lines[i], ' ')+1:], 64); err != nil || age < 60 || age > 600 {
		t.Errorf("the queue is a minute old, and shown is %s", lines[i])
	}
}

// Data that does not answer costs a scrape what is read from it, and nothing that was counted.
func TestAScrapeWithoutTheData(t *testing.T) {
	m := metrics.New("1", func(context.Context) (metrics.Figures, error) {
		return metrics.Figures{}, errors.New("the disk is gone")
	})
	m.Committed(1, time.Second)
	got := labels(t, m)
	if _, shown := got["nudgewire_commit_seconds"]; !shown || got["nudgewire_events_total"] != nil {
		t.Errorf("shown are %v", slices.Sorted(maps.Keys(got)))
	}
	if lines := scraped(t, m); !slices.Contains(lines, "nudgewire_scrape_complete 0") {
		t.Error("the scrape does not say that it is not complete")
	}
}

// mostSeries bounds what a daemon with 44 connectors shows, in time series; ten thousand phones add none.
const mostSeries = 700

func TestCardinalityIsBounded(t *testing.T) {
	f := figures()
	for i := range 44 {
		name := fmt.Sprintf("connector-%d", i)
		f.Status.Daemon.Connectors = append(f.Status.Daemon.Connectors, name)
		f.Status.LastEvents[name] = now
	}
	m := metrics.New("1", func(context.Context) (metrics.Figures, error) { return f, nil })
	after := 0
	for n := range 10_000 {
		phone := messaging.Phone(fmt.Sprintf("4477009%05d", n))
		connector := f.Status.Daemon.Connectors[n%len(f.Status.Daemon.Connectors)]
		m.Answered(&webhooks.AnsweredHook{Request: fmt.Sprintf("r%d", n), Connector: connector, Status: []int{200, 401, 503}[n%3], Stage: []string{"", "verify", "overload"}[n%3], Began: now, Ended: now})
		m.Decided(&messaging.Receipt{EventID: messaging.EventID(n), Decisions: []messaging.Decision{{
			Trigger: fmt.Sprintf("trigger-%d", n%20), Outcome: []messaging.Outcome{messaging.Planned, messaging.Skipped}[n%2], Key: string(phone), Reason: fmt.Sprint(n),
		}}})
		d := messaging.Message{ID: messaging.MessageID(n), Phone: phone, Key: string(phone), Category: messaging.Marketing, DueAt: now, CreatedAt: now}
		m.Called(&d, now, now, &messaging.Attempt{State: messaging.StateRejected, Reason: fmt.Sprintf("no %d", n), Words: string(phone)})
		m.Polled(&messaging.Poll{MessageID: d.ID, Status: messaging.StatusFailed, Final: true, Error: string(phone)})
		for _, call := range apiclient.Calls {
			m.Requested(call, apiclient.Accepted, time.Duration(n)*time.Millisecond)
		}
		if n == 1000 {
			after = series(t, m)
		}
	}
	if got := series(t, m); got != after || got > mostSeries {
		t.Errorf("%d series after 1,000 phones, %d after 10,000; at most %d are allowed", after, got, mostSeries)
	} else {
		t.Logf("%d series", got)
	}
	if page, err := os.ReadFile("../../docs/metrics.md"); err != nil || !strings.Contains(string(page), fmt.Sprintf("fewer than %d series", mostSeries)) {
		t.Errorf("docs/metrics.md tells of another bound than %d (%v)", mostSeries, err)
	}
	text, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(text), "447700") {
		t.Error("a phone is shown")
	}
}

// series counts what a scrape has for lines that Prometheus keeps.
func series(t *testing.T, m *metrics.Metrics) (n int) {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "nudgewire_") {
			continue // of the Go runtime: as many on every machine
		}
		for _, one := range f.GetMetric() {
			n++
			if h := one.GetHistogram(); h != nil {
				n += len(h.GetBucket()) + 2
			}
		}
	}
	return n
}

// Names that left the config leave the figures.
func TestAReloadLetsGoOfNames(t *testing.T) {
	m := used(t)
	m.Reloaded(true, map[string][]string{"trigger": {"cart"}, "connector": {"shopify"}})
	got := labels(t, m)
	for _, name := range []string{"nudgewire_decisions_total", "nudgewire_webhooks_total", "nudgewire_webhooks_rejected_total"} {
		if got[name] != nil {
			t.Errorf("%s has series yet", name)
		}
	}
}

func BenchmarkCalled(b *testing.B) {
	m := metrics.New("1", full)
	d := messaging.Message{Category: messaging.Utility, DueAt: now, CreatedAt: now.Add(-time.Hour)}
	a := messaging.Attempt{State: messaging.StateAccepted}
	for b.Loop() {
		m.Called(&d, now, now, &a)
		m.Requested("send-template", apiclient.Accepted, time.Second)
	}
}

func BenchmarkAnswered(b *testing.B) {
	m := metrics.New("1", full)
	a := webhooks.AnsweredHook{Connector: "shopify", Status: 200, Began: now, Ended: now.Add(time.Millisecond)}
	r := messaging.Receipt{Decisions: []messaging.Decision{{Trigger: "cart", Outcome: messaging.Planned}}}
	for b.Loop() {
		m.Answered(&a)
		m.Decided(&r)
	}
}
