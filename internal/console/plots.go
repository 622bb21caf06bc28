package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
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

// numbers is what Overview shows of a timeRange of time.
type numbers struct {
	Stretches []timeRange
	Stretch   timeRange
	Report    report.View
	Funnel    []stage
	Plots     []plot
	Ended     []bar
	Arrivals  []bar
	Half      string // how long half of the messages took at the most
	Most      string // how long 95 of 100 took at the most
	Heat      heat
	Calendar  []bar
	More      bool // the address asks for no less than all of it
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

// numbers asks for what Overview shows. less leaves out all but the funnel, where a part of the page is made anew.
func (c *Console) numbers(r *http.Request, less bool) (v numbers, err error) {
	ctx := r.Context()
	now := c.Now().In(c.Zone())
	v.Stretches, v.Stretch = timeRanges, timeRangeOf(r)
	since := v.Stretch.since(now)
	if v.Report, err = server.ShowReport.Call(ctx, c.Ask, report.Query{Since: since}); err != nil {
		return v, err
	}
	v.Funnel = funnel(&v.Report.Total)
	if less {
		return v, nil
	}
	v.More = true
	at, labels := c.moments(&v.Stretch, now)
	var by [3]report.View
	for i, group := range []string{"trigger", "job", "connector"} {
		if by[i], err = server.ShowReport.Call(ctx, c.Ask, report.Query{Since: since, By: v.Stretch.by, Group: group, Only: report.OnlyRows}); err != nil {
			return v, err
		}
	}
	today, before, err := c.todayAndBefore(ctx, now)
	if err != nil {
		return v, err
	}
	v.Plots = []plot{
		{
			ID: "sent", Title: "Messages that were sent or uploaded, by trigger and job", Kind: "stack", Labels: labels, CSV: csvOf(&v.Stretch, "trigger"),
			Series: seriesOf(at, (*report.Stages).Sent, &by[0], &by[1]),
			Empty:  "No message was sent in this time.",
		},
		{
			ID: "events", Title: "Events, by connector", Kind: "stack", Labels: labels, CSV: csvOf(&v.Stretch, "connector"),
			Series: seriesOf(at, func(s *report.Stages) int64 { return s.Events }, &by[2]),
			Empty:  "No event came in this time.",
		},
		today.against(&before, now),
	}
	for _, e := range v.Report.Ended {
		v.Ended = append(v.Ended, bar{Name: report.EndedWords(e.Reason), Note: e.State, N: e.Messages, Link: "/messages?state=" + e.State})
	}
	v.Ended = widths(v.Ended)
	a := &v.Report.Arrivals
	if a.Messages > 0 {
		v.Half, v.Most = report.SecondsWords(a.P50), report.SecondsWords(a.P95)
	}
	from := "0 s"
	for _, class := range a.Classes {
		to := shortTime(class.UpTo)
		name := from + " to " + to
		if class.UpTo == 0 {
			name = "longer"
		}
		v.Arrivals = append(v.Arrivals, bar{Name: name, N: class.Messages})
		from = to
	}
	none := func(b bar) bool { return b.N == 0 }
	for len(v.Arrivals) > 0 && none(v.Arrivals[0]) {
		v.Arrivals = v.Arrivals[1:]
	}
	for n := len(v.Arrivals); n > 0 && none(v.Arrivals[n-1]); n = len(v.Arrivals) {
		v.Arrivals = v.Arrivals[:n-1]
	}
	v.Arrivals = widths(v.Arrivals)
	if v.Heat, err = c.heat(ctx, now); err != nil {
		return v, err
	}
	days, err := server.ShowCalendar.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return v, err
	}
	for i, d := range days {
		one := bar{Name: d.From.In(c.Zone()).Format("Mon 2 Jan"), N: d.Messages}
		if i == 0 {
			one.Name, one.Note = "Today", "with what is late"
		}
		if d.More {
			one.Words = "more than 10,000"
		}
		v.Calendar = append(v.Calendar, one)
	}
	v.Calendar = widths(v.Calendar)
	return v, nil
}

// shortTime is the end of a class of arrivals.
func shortTime(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}

// A dayByHour is what was sent in each hour of a day, up to now.
type dayByHour struct {
	name  string
	hours []int64 // by the clock of the zone
}

// todayAndBefore are today and the same weekday a week before.
func (c *Console) todayAndBefore(ctx context.Context, now time.Time) (today, before dayByHour, err error) {
	day := func(back int) (d dayByHour, err error) {
		from := time.Date(now.Year(), now.Month(), now.Day()-back, 0, 0, 0, 0, now.Location())
		v, err := server.ShowReport.Call(ctx, c.Ask, report.Query{Since: from, Until: from.AddDate(0, 0, 1), By: "hour", Only: report.OnlyRows})
		d = dayByHour{from.Format("Monday 2 Jan"), make([]int64, 24)}
		for i := range v.Rows {
			d.hours[v.Rows[i].At.In(now.Location()).Hour()] += v.Rows[i].Sent()
		}
		return d, err
	}
	if today, err = day(0); err == nil {
		before, err = day(7)
	}
	return today, before, err
}

// against is a day beside another, as sums up to each hour; those of today end now.
func (d *dayByHour) against(before *dayByHour, now time.Time) plot {
	p := plot{
		ID: "today", Title: "Today against the same day last week, sums of what was sent", Kind: "lines", Empty: "No message was sent on either day.",
		CSV: "/report.csv?" + url.Values{"range": {"24h"}}.Encode(),
	}
	for hour := range 24 {
		p.Labels = append(p.Labels, fmt.Sprintf("%02d:59", hour))
	}
	for i, one := range []*dayByHour{d, before} {
		s := plotSeries{Name: one.name, Color: 1 - i}
		if i == 0 {
			s.Name = "Today"
		}
		for hour, n := range one.hours {
			if i == 0 && hour > now.Hour() {
				break
			}
			s.Total += n
			s.Values = append(s.Values, s.Total)
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// A heat is how much was sent in each hour of the week, over four weeks.
type heat struct {
	Rows []heatRow
	Most int64
}

type heatRow struct {
	Day   string
	Hours []heatCell
}

type heatCell struct {
	N     int64
	Level int // 0 to 5
}

const heatDays = 28

func (c *Console) heat(ctx context.Context, now time.Time) (h heat, err error) {
	v, err := server.ShowReport.Call(ctx, c.Ask, report.Query{Since: daysBack(heatDays)(now), By: "hour", Only: report.OnlyRows})
	if err != nil {
		return h, err
	}
	for i := range 7 {
		day := time.Weekday((i + 1) % 7) // a week begins on Monday
		h.Rows = append(h.Rows, heatRow{day.String(), make([]heatCell, 24)})
	}
	for i := range v.Rows {
		at := v.Rows[i].At.In(now.Location())
		cell := &h.Rows[(int(at.Weekday())+6)%7].Hours[at.Hour()]
		cell.N += v.Rows[i].Sent()
		h.Most = max(h.Most, cell.N)
	}
	for _, row := range h.Rows {
		for i := range row.Hours {
			if cell := &row.Hours[i]; cell.N > 0 {
				// By the root: one hour with a list of thousands leaves the others to be told apart.
				cell.Level = min(5, 1+int(5*math.Sqrt(float64(cell.N)/float64(h.Most+1))))
			}
		}
	}
	return h, nil
}

// reportFile is a report as a file.
func (c *Console) reportFile(r *http.Request, begin func(kind, name string) io.Writer) error {
	zone := c.Zone()
	s := timeRangeOf(r)
	q := report.Query{Since: s.since(c.Now().In(zone)), By: s.by, Group: r.URL.Query().Get("group"), Trigger: r.URL.Query().Get("trigger"), Only: report.OnlyRows}
	v, err := server.ShowReport.Call(r.Context(), c.Ask, q)
	if err != nil {
		return err
	}
	return report.WriteCSV(begin("text/csv; charset=utf-8", "report.csv"), &v, &q, zone)
}
