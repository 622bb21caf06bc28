package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// counting are operations of data in which each trigger sends three messages in each row, with one that wants to be markup.
type counting struct{ asked []url.Values }

func (c *counting) answers() answers {
	return answers{
		"GET /status": func(*http.Request) (any, error) { return server.StatusView{}, nil },
		"GET /jobs":   func(*http.Request) (any, error) { return []server.JobView{}, nil },
		"GET /events": func(*http.Request) (any, error) { return []server.EventView{}, nil },
		"GET /calendar": func(*http.Request) (any, error) {
			return []report.DueDayView{{From: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), Messages: 7}, {From: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), Messages: 10_000, More: true}}, nil
		},
		"GET /report": c.report,
	}
}

func (c *counting) report(r *http.Request) (any, error) {
	in := r.URL.Query()
	c.asked = append(c.asked, in)
	q := report.Query{By: in.Get("by"), Group: in.Get("group"), Trigger: in.Get("trigger")}
	q.Since, _ = time.Parse(time.RFC3339, in.Get("since")) // none is the beginning of time
	v := report.View{
		Since: q.Since, CountedSince: q.Since, Total: report.Stages{Events: 900, Queued: 400, Accepted: 200, Uploaded: 7654, Delivered: 150, Read: 50, Failed: 10},
		Ended:    []report.EndedCount{{State: "failed", Reason: "unknown", Messages: 10}},
		Arrivals: report.ArrivalsView{Messages: 150, P50: 4, P95: 400, Classes: []report.ArrivalView{{UpTo: 1}, {UpTo: 5, Messages: 150}, {}}, Times: []report.ArrivalTime{{At: q.Since, Messages: 150, P50: 4, P95: 400}}},
	}
	if q.By == "" {
		return v, nil
	}
	groups := []string{""}
	switch q.Group {
	case "trigger":
		groups = []string{"<script>alert(1)</script>", "b", "c", "d", "e", "f", "=cmd()"}
	case "connector":
		groups = []string{"shop"}
	case "job":
		groups = []string{"winback"}
	}
	for i, g := range groups {
		of := report.Stages{Accepted: int64(30 - i), Events: 5}
		if q.Group == "job" {
			of = report.Stages{Uploaded: 40}
		}
		v.Rows = append(v.Rows, report.Row{At: q.Since, Group: g, Stages: of})
	}
	return v, nil
}

var dataPlot = regexp.MustCompile(`data-plot="([^"]*)"`)

func TestNumbersArePicturesAndTables(t *testing.T) {
	ask := &counting{}
	r := newRoom(t, false, ask.answers())
	cookie := r.signIn(t)
	res, body := r.do(t, http.MethodGet, "/numbers?range=30d", nil, cookie)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "style=") {
		t.Error("markup of a name, or an inline style, is on the page")
	}
	plots := dataPlot.FindAllStringSubmatch(body, -1)
	if len(plots) != 4 {
		t.Fatalf("%d plots", len(plots))
	}
	var sent struct {
		Kind   string
		Labels []string
		Series []struct {
			Name   string
			Values []int64
			Color  int
		}
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(plots[0][1])), &sent); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, s := range sent.Series {
		names += fmt.Sprintf("%s=%d/%d ", s.Name, s.Values[0], s.Color)
	}
	if want := "winback=40/1 <script>alert(1)</script>=30/2 b=29/3 c=28/4 d=27/5 3 others=75/0 "; names != want || sent.Kind != "stack" || len(sent.Labels) != 30 || sent.Labels[29] != "24 Nov" {
		t.Errorf("series %q of %d times up to %s, want %q", names, len(sent.Labels), sent.Labels[29], want)
	}
	for _, want := range []string{
		"75&nbsp;%", "7,654", "words that no rule knows", "4.0 s", "7 min", "more than 10,000", `href="/report.csv?group=trigger&amp;range=30d"`, `<details class="numbers">`,
		"Today against the same day last week", `<a href="/jobs/winback">winback</a></th><td class="n" data-label="Queued">0</td><td class="n" data-label="Sent">40</td>`,
		`href="/messages?class=unknown&amp;since=30d&amp;state=failed"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	asked := len(ask.asked)
	if _, body := r.do(t, http.MethodGet, "/", nil, cookie); strings.Contains(body, "data-plot") || !strings.Contains(body, `d="M`) || len(ask.asked) != asked+1 {
		t.Errorf("Overview, which is made anew every five seconds, asks for %d reports", len(ask.asked)-asked)
	}
}

// One number is no picture: where counting began in the newest of the days, it is told so.
func TestNumbersOfOneDayAreNoPicture(t *testing.T) {
	ask := new(counting)
	all := ask.answers()
	all["GET /report"] = func(r *http.Request) (any, error) {
		v, err := ask.report(r)
		of := v.(report.View)
		of.CountedSince = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
		return of, err
	}
	r := newRoom(t, false, all)
	cookie := r.signIn(t)
	if _, body := r.do(t, http.MethodGet, "/numbers?range=7d", nil, cookie); strings.Count(body, "Counting began in this day") != 3 || !strings.Contains(body, "Today, sums of what was sent") {
		t.Errorf("a page of one day: %s", body)
	}
}

func TestTablesOfNumbersAreFilesToo(t *testing.T) {
	r := newRoom(t, false, new(counting).answers())
	cookie := r.signIn(t)
	_, page := r.do(t, http.MethodGet, "/numbers", nil, cookie)
	for table, want := range map[string]string{
		"ended": "reason,note,messages\nwords that no rule knows,", "arrivals": "time,note,messages\n", "calendar": "day,note,messages\nToday,with what is late,", "heat": "day,hour,messages\nMonday,00:00,",
	} {
		path := "/numbers.csv?range=7d&table=" + table
		if !strings.Contains(page, strings.ReplaceAll(path, "&", "&amp;")) {
			t.Errorf("the page has no link to %s", path)
		}
		res, body := r.do(t, http.MethodGet, path, nil, cookie)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(body, want) {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if _, body := r.do(t, http.MethodGet, "/numbers.csv?table=calendar", nil, cookie); !strings.Contains(body, ",\"more than 10,000\"\n") {
		t.Errorf("what was not counted to its end is told as a number: %s", body)
	}
	if res, body := r.do(t, http.MethodGet, "/numbers.csv?table=nothing", nil, cookie); res.StatusCode != http.StatusNotFound || !strings.Contains(body, "able is ended") {
		t.Errorf("a table that is none: %d", res.StatusCode)
	}
}

func TestNumbersOfAStretchAreAFileToo(t *testing.T) {
	r := newRoom(t, false, new(counting).answers())
	if res, _ := r.do(t, http.MethodGet, "/report.csv", nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("who is not signed in gets %d", res.StatusCode)
	}
	res, body := r.do(t, http.MethodGet, "/report.csv?range=7d&group=trigger", nil, r.signIn(t))
	if res.Header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(body, "day,trigger,events,") || !strings.Contains(body, "\n2026-11-18,b,5,0,0,0,29,") {
		t.Errorf("%s: %s", res.Header.Get("Content-Type"), body)
	}
	if strings.Contains(body, ",=cmd()") {
		t.Error("a name is a formula")
	}
}
