package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/report"
)

// A timeRange is a time that numbers are shown for, as the address has it.
type timeRange struct {
	Key, Words string
	by         string
	since      func(now time.Time) time.Time
}

func daysBack(n int) func(time.Time) time.Time {
	return func(now time.Time) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()-n+1, 0, 0, 0, 0, now.Location())
	}
}

// timeRanges are those to choose from. The first is taken where none is chosen.
var timeRanges = []timeRange{
	{"7d", "7 days", "day", daysBack(7)},
	{"24h", "24 hours", "hour", func(now time.Time) time.Time { return now.Add(-23 * time.Hour).Truncate(time.Hour) }},
	{"30d", "30 days", "day", daysBack(30)},
}

func timeRangeOf(r *http.Request) timeRange {
	key := r.URL.Query().Get("range")
	i := slices.IndexFunc(timeRanges, func(s timeRange) bool { return s.Key == key })
	return timeRanges[max(i, 0)]
}

// A plot is series of numbers over time: a picture that a script draws, and a table that says the same.
type plot struct {
	ID, Title string
	Empty     string // what to say where all numbers are 0
	Begun     string // that counting began so lately that there is nothing to draw; "" else
	Kind      string // "stack" or "lines"
	Labels    []string
	Series    []plotSeries
	CSV       string // address of the numbers as a file
}

type plotSeries struct {
	Name   string  `json:"name"`
	Values []int64 `json:"values"`
	Total  int64   `json:"-"`
	Color  int     `json:"color"` // its place among the colours, from 1; 0 is grey
}

// Data is what the script draws, as JSON.
func (p *plot) Data() (string, error) {
	b, err := json.Marshal(map[string]any{"kind": p.Kind, "labels": p.Labels, "series": p.Series})
	return string(b), err
}

// Any reports whether a number of it is not 0.
func (p *plot) Any() bool {
	return slices.ContainsFunc(p.Series, func(s plotSeries) bool { return s.Total > 0 })
}

// begun says so where counting began in the last hour or day that there is a place for: one number is no picture.
func (p *plot) begun(at []time.Time, counted time.Time, by string) {
	if n := len(at); n > 1 && !counted.IsZero() && !counted.Before(at[n-1]) {
		p.Begun = "Counting began in this " + by + ": there is one " + by + " to show so far."
	}
}

// colors is how many series have a colour of their own; the others are one series.
const colors = 5

// moments are the times that the rows of a report fall on, with words for each.
func (c *Console) moments(s *timeRange, now time.Time) (at []time.Time, labels []string) {
	for t := s.since(now); t.Before(now); {
		at = append(at, t)
		if s.by == "hour" {
			labels = append(labels, t.Format("15:04"))
			t = t.Add(time.Hour)
			continue
		}
		labels = append(labels, t.Format("2 Jan"))
		t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
	}
	return at, labels
}

// seriesOf are the rows of reports as series, the largest first; those beyond the colours are one.
func seriesOf(at []time.Time, number func(*report.Stages) int64, reports ...*report.View) (out []plotSeries) {
	place := map[int64]int{}
	for i, t := range at {
		place[t.Unix()] = i
	}
	for _, v := range reports {
		own := map[string]int{}
		for i := range v.Rows {
			row := &v.Rows[i]
			x, known := place[row.At.Unix()]
			n := number(&row.Stages)
			if !known || n == 0 {
				continue
			}
			s, known := own[row.Group]
			if !known {
				s = len(out)
				own[row.Group] = s
				out = append(out, plotSeries{Name: cmp.Or(row.Group, "without a name"), Values: make([]int64, len(at))})
			}
			out[s].Values[x] += n
			out[s].Total += n
		}
	}
	slices.SortStableFunc(out, func(a, b plotSeries) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name)) })
	if len(out) > colors {
		rest := plotSeries{Name: fmt.Sprintf("%d others", len(out)-colors), Values: make([]int64, len(at))}
		for _, s := range out[colors:] {
			for i, n := range s.Values {
				rest.Values[i] += n
			}
			rest.Total += s.Total
		}
		out = append(out[:colors:colors], rest)
	}
	for i := range out {
		out[i].Color = (i + 1) % (colors + 1)
	}
	return out
}

// A bar is a number beside others, with a link to what it counts.
type bar struct {
	Name, Note, Link string
	N                int64
	Words            string // in place of the number
	Width            int    // of 1000, beside the longest
}

func widths(all []bar) []bar {
	var most int64
	for i := range all {
		most = max(most, all[i].N)
	}
	for i := range all {
		if all[i].N > 0 {
			all[i].Width = max(int(all[i].N*1000/most), 4)
		}
	}
	return all
}

// csvOf is the address of a report as a file.
func csvOf(s *timeRange, group string) string {
	return "/report.csv?" + url.Values{"range": {s.Key}, "group": {group}}.Encode()
}
