package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/internal/metrics"
)

var (
	figureName = regexp.MustCompile(`\b(?:nudgewire|process|go)_[a-z_]+\b`)
	selector   = regexp.MustCompile(`\b((?:nudgewire|process|go)_[a-z_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend     = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}`)
)

// allLabels are the labels of every figure that a scrape shows, histograms by the names of their three parts, too.
func allLabels(t *testing.T, m *metrics.Metrics) map[string][]string {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, f := range families {
		var names []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		out[f.GetName()] = names
		if f.GetMetric()[0].GetHistogram() != nil {
			out[f.GetName()+"_bucket"] = append(slices.Clone(names), "le")
			out[f.GetName()+"_sum"], out[f.GetName()+"_count"] = names, names
		}
	}
	return out
}

// faults says what an expression, and the words that stand beside what it finds, ask for that no scrape has.
func faults(known map[string][]string, expr string, words ...string) (out []string) {
	var labels []string // of all figures that the expression names
	for _, name := range figureName.FindAllString(expr, -1) {
		of, shown := known[name]
		if !shown {
			out = append(out, "there is no figure "+name)
		}
		labels = append(labels, of...)
	}
	if len(figureName.FindAllString(expr, -1)) == 0 {
		out = append(out, "no figure is named")
	}
	labels = append(labels, "instance", "job") // Prometheus's own
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(known[s[1]], m[1]) && m[1] != "instance" && m[1] != "job" {
				out = append(out, s[1]+" has no label "+m[1])
			}
		}
	}
	kept := labels
	if by := grouping.FindStringSubmatch(expr); by != nil {
		kept = nil
		for _, l := range strings.Split(by[1], ",") {
			l = strings.TrimSpace(l)
			if !slices.Contains(labels, l) {
				out = append(out, "grouped by "+l+", which nothing in it has")
			}
			kept = append(kept, l)
		}
	}
	for _, w := range words {
		for _, l := range legend.FindAllStringSubmatch(w, -1) {
			if !slices.Contains(kept, l[1]) {
				out = append(out, "the words name "+l[1]+", which is not there any more")
			}
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "[") != strings.Count(expr, "]") {
		out = append(out, "brackets do not match")
	}
	return out
}

func TestFaultsOfExpressionsAreSeen(t *testing.T) {
	known := allLabels(t, used(t))
	for expr, want := range map[string]string{
		`nudgewire_messages_wating`:                               "no figure nudgewire_messages_wating",
		`nudgewire_messages_waiting{line="urgent"}`:               "no label line",
		`sum by (lain) (nudgewire_messages_waiting)`:              "grouped by lain",
		`sum(nudgewire_events_total`:                              "brackets",
		`up`:                                                      "no figure",
		`rate(nudgewire_webhook_seconds_buckets{le="0.1"}[5m])`:   "no figure nudgewire_webhook_seconds_buckets",
		`sum by (account) (nudgewire_messages_waiting{lane="x"})`: "the words name lane",
	} {
		if got := strings.Join(faults(known, expr, "{{lane}}"), "; "); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// A dashboard is what is looked at of a Grafana dashboard.
type dashboard struct {
	UID           string
	Title         string
	SchemaVersion int
	Time          struct{ From, To string }
	Templating    struct{ List []struct{ Name, Type string } }
	Panels        []struct {
		ID         int
		Type       string
		Title      string
		GridPos    struct{ H, W, X, Y int }
		Datasource *struct{ Type, UID string }
		Targets    []struct{ RefID, Expr, LegendFormat string }
	}
}

func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 30 || d.Time.From == "" || len(d.Panels) < 10 {
		t.Errorf("a dashboard without what Grafana needs: %+v", d)
	}
	known, ids, taken, named := allLabels(t, used(t)), map[int]bool{}, map[[2]int]string{}, map[string]bool{}
	for _, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q has no number or title of its own", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies on %q or beyond the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource == nil || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q asks nobody", p.Title)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			for _, f := range faults(known, q.Expr, q.LegendFormat) {
				t.Errorf("panel %q: %s: %s", p.Title, q.Expr, f)
			}
			if refs[q.RefID] {
				t.Errorf("panel %q has two questions %q", p.Title, q.RefID)
			}
			refs[q.RefID] = true
			for _, n := range figureName.FindAllString(q.Expr, -1) {
				named[n] = true
			}
		}
	}
	if len(named) < 25 {
		t.Errorf("the dashboard shows %d figures", len(named))
	}
}

func TestTheAlertRulesAskForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("../../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	known, seen := allLabels(t, used(t)), map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || seen[r.Alert] || r.For == "" || r.Labels["severity"] == "" || r.Annotations["description"] == "" {
				t.Errorf("rule %q is not whole, or there twice", r.Alert)
			}
			seen[r.Alert] = true
			for _, f := range faults(known, r.Expr, r.Annotations["summary"]) {
				t.Errorf("%s: %s", r.Alert, f)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d rules were read", len(seen))
	}
}
