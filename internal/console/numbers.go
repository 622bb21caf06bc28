package console

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// numbersPage is what happened in a time.
type numbersPage struct {
	Base      string // address of this page
	At        string // where on it the numbers begin
	Stretches []timeRange
	Stretch   timeRange
	Report    report.View
	Funnel    []stage
	Plots     []plot
	Rules     []ruleNumbers
	Budget    []bar
	Countries []bar // by what messages to them cost
	Ended     []bar
	Failed    []server.RejectedView // of the last 24 hours, in the service's words
	Arrivals  []bar
	Half      string // how long half of the messages took at the most
	Most      string // how long 95 of 100 took at the most
	Heat      heat
	Calendar  []bar
}

// ruleNumbers are how far the messages of a trigger or job came.
type ruleNumbers struct {
	Name, Link                            string
	Queued, Sent, Delivered, Read, Failed int64 // failed ones that the service did not take, too
	Points                                float64
}

func (c *Console) numbers(r *http.Request) (page, error) {
	v, err := c.askNumbers(r)
	return page{Name: "numbers", Title: "Numbers", Here: "/numbers", Data: v}, err
}

// askNumbers asks for what the page shows.
func (c *Console) askNumbers(r *http.Request) (v numbersPage, err error) {
	ctx, now := r.Context(), c.Now().In(c.Zone())
	v.Base, v.At, v.Stretches, v.Stretch = "/numbers", "main", timeRanges, timeRangeOf(r)
	since := v.Stretch.since(now)
	if v.Report, err = server.ShowReport.Call(ctx, c.Ask, report.Query{Since: since, By: v.Stretch.by}); err != nil {
		return v, err
	}
	status, err := server.ShowStatus.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return v, err
	}
	v.Failed = status.Rejected
	v.Funnel = funnel(&v.Report.Total)
	if err = c.numbersByRule(ctx, &v, now); err != nil {
		return v, err
	}
	if err = c.spent(ctx, &v, since); err != nil {
		return v, err
	}
	for _, e := range v.Report.Ended {
		v.Ended = append(v.Ended, bar{Name: report.EndedWords(e.Reason), Note: e.State, N: e.Messages, Link: endedLink(&e, v.Stretch.Key)})
	}
	v.Ended = widths(v.Ended)
	v.arrivals()
	if v.Heat, err = c.heat(ctx, now); err != nil {
		return v, err
	}
	days, err := server.ShowCalendar.Call(ctx, c.Ask, server.None{})
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
	return v, err
}

// spent fills in what messages cost.
func (c *Console) spent(ctx context.Context, v *numbersPage, since time.Time) error {
	by, err := server.ShowReport.Call(ctx, c.Ask, report.Query{Since: since, Group: "country", Only: report.OnlyRows})
	for i := range by.Rows {
		if row := &by.Rows[i]; row.Spent > 0 {
			v.Countries = append(v.Countries, bar{Name: cmp.Or(row.Group, "no country known"), N: messaging.Thousandths(row.Spent), Words: report.PointsWords(row.Spent)})
		}
	}
	slices.SortStableFunc(v.Countries, func(a, b bar) int { return cmp.Compare(b.N, a.N) })
	v.Countries = widths(v.Countries)
	if v.Report.Spend == nil {
		return err
	}
	for _, b := range v.Report.Spend.Budget {
		one := bar{Name: "Today", Note: "until " + b.Until.In(c.Zone()).Format("15:04"), Words: report.PointsWords(b.Spent) + " of " + report.PointsWords(b.Most), Width: min(1000, 10*b.Percent())}
		if b.Of == "month" {
			one.Name, one.Note = "This month", "until "+b.Until.In(c.Zone()).Format("2 Jan 15:04")
		}
		if b.Met {
			one.Note += "; marketing waits"
		}
		v.Budget = append(v.Budget, one)
	}
	return err
}

// endedLink leads to the messages that ended so.
func endedLink(e *report.EndedCount, since string) string {
	to := url.Values{"state": {e.State}, "since": {since}}
	if slices.Contains(messaging.ErrorClassWords(), e.Reason) {
		to.Set("class", e.Reason)
	}
	return "/messages?" + to.Encode()
}

// A stage is one step of the funnel.
type stage struct {
	Name, Words, Link string
	N                 int64
	Width             int // of 1000, beside the longest
	Percent           int // of those that the service took; 0 for the stages before
}

// funnel is how far messages came in a time.
func funnel(of *report.Stages) []stage {
	out := []stage{
		{Name: "Events", Words: "webhooks that were stored", Link: "/events", N: of.Events},
		{Name: "Queued", Words: "messages that were planned", Link: "/messages", N: of.Queued},
		{Name: "Uploaded", Words: "rows in files that the service took, and named no messages for", Link: "/jobs", N: of.Uploaded},
		{Name: "Sent", Words: "messages that the service took", Link: "/messages?state=accepted", N: of.Accepted},
		{Name: "Delivered", Words: "reached the phone", Link: "/messages?state=delivered", N: of.Delivered},
		{Name: "Read", Words: "were opened", Link: "/messages?state=read", N: of.Read},
		{Name: "Failed", Words: "were taken and did not arrive", Link: "/messages?state=failed", N: of.Failed},
		{Name: "Rejected", Words: "were not taken by the service", Link: "/messages?state=rejected", N: of.Rejected},
		{Name: "Cancelled", Words: "were ended before they were sent", Link: "/messages?state=cancelled", N: of.Cancelled},
	}
	var most int64
	for _, s := range out {
		most = max(most, s.N)
	}
	for i := range out {
		s := &out[i]
		s.Width = int(s.N * 1000 / cmp.Or(most, 1))
		if s.N > 0 {
			s.Width = max(s.Width, 4)
		}
		if i >= 4 && i <= 6 && of.Accepted > 0 {
			s.Percent = int(100 * s.N / of.Accepted)
		}
	}
	return out
}

// numbersByRule fills in what triggers, jobs and connectors did, over time and in all.
func (c *Console) numbersByRule(ctx context.Context, v *numbersPage, now time.Time) (err error) {
	since := v.Stretch.since(now)
	at, labels := c.moments(&v.Stretch, now)
	var by [3]report.View
	for i, group := range []string{"trigger", "job", "connector"} {
		if by[i], err = server.ShowReport.Call(ctx, c.Ask, report.Query{Since: since, By: v.Stretch.by, Group: group, Only: report.OnlyRows}); err != nil {
			return err
		}
	}
	today, before, err := c.todayAndBefore(ctx, now)
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
		arrivalPlot(at, labels, v.Report.Arrivals.Times, csvOf(&v.Stretch, "")),
		today.against(&before, v.Report.CountedSince, now),
	}
	points := plot{
		ID: "spent", Title: "Points, by trigger and job", Kind: "stack", Labels: labels, CSV: csvOf(&v.Stretch, "trigger"),
		Series: seriesOf(at, func(s *report.Stages) int64 { return int64(math.Round(s.Spent)) }, &by[0], &by[1]),
		Empty:  "Nothing was spent in this time.",
	}
	points.begun(at, v.Report.CountedSince, v.Stretch.by)
	for i := range v.Plots[:3] {
		v.Plots[i].begun(at, v.Report.CountedSince, v.Stretch.by)
	}
	v.Plots[3].begun([]time.Time{daysBack(1)(now), now.Truncate(time.Hour)}, v.Report.CountedSince, "hour")
	if v.Report.Total.Spent > 0 {
		v.Plots = append(v.Plots, points)
	}
	for i, path := range []string{"/triggers/", "/jobs/"} {
		v.Rules = addRules(v.Rules, by[i].Rows, path)
	}
	slices.SortStableFunc(v.Rules, func(a, b ruleNumbers) int { return cmp.Compare(b.Sent, a.Sent) })
	return err
}

// addRules adds up the rows of each trigger or job.
func addRules(all []ruleNumbers, rows []report.Row, path string) []ruleNumbers {
	for i := range rows {
		row := &rows[i]
		if row.Group == "" || strings.HasPrefix(row.Group, "(") {
			continue
		}
		link := path + url.PathEscape(row.Group)
		at := slices.IndexFunc(all, func(one ruleNumbers) bool { return one.Link == link })
		if at < 0 {
			at = len(all)
			all = append(all, ruleNumbers{Name: row.Group, Link: link})
		}
		one := &all[at]
		one.Queued, one.Sent, one.Delivered, one.Read = one.Queued+row.Queued, one.Sent+row.Sent(), one.Delivered+row.Delivered, one.Read+row.Read
		one.Failed += row.Failed + row.Rejected
		one.Points += row.Spent
	}
	return all
}

// arrivalPlot is how long messages took over time, in seconds.
func arrivalPlot(at []time.Time, labels []string, of []report.ArrivalTime, csv string) plot {
	p := plot{ID: "arrival", Title: "Seconds from sent to delivered, over time", Kind: "lines", Labels: labels, CSV: csv, Empty: "No message was delivered in this time."}
	half, most := plotSeries{Name: "half, at most", Values: make([]int64, len(at)), Color: 1}, plotSeries{Name: "95 of 100, at most", Values: make([]int64, len(at)), Color: 2}
	for i, t := range at {
		n := slices.IndexFunc(of, func(one report.ArrivalTime) bool { return one.At.Equal(t) })
		if n < 0 {
			continue
		}
		half.Values[i], most.Values[i] = int64(of[n].P50+.5), int64(of[n].P95+.5)
		half.Total, most.Total = max(half.Total, half.Values[i]), max(most.Total, most.Values[i], 1)
	}
	p.Series = []plotSeries{half, most}
	return p
}

// arrivals fills in how long messages took, without classes at either end that none is of.
func (v *numbersPage) arrivals() {
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
	some := func(b bar) bool { return b.N > 0 }
	v.Arrivals = v.Arrivals[max(slices.IndexFunc(v.Arrivals, some), 0):]
	slices.Reverse(v.Arrivals)
	v.Arrivals = v.Arrivals[max(slices.IndexFunc(v.Arrivals, some), 0):]
	slices.Reverse(v.Arrivals)
	if a.Messages == 0 {
		v.Arrivals = nil
	}
	v.Arrivals = widths(v.Arrivals)
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
	until time.Time
	hours []int64 // by the clock of the zone
}

// todayAndBefore are today and the same weekday a week before.
func (c *Console) todayAndBefore(ctx context.Context, now time.Time) (today, before dayByHour, err error) {
	day := func(back int) (d dayByHour, err error) {
		from := time.Date(now.Year(), now.Month(), now.Day()-back, 0, 0, 0, 0, now.Location())
		v, err := server.ShowReport.Call(ctx, c.Ask, report.Query{Since: from, Until: from.AddDate(0, 0, 1), By: "hour", Only: report.OnlyRows})
		d = dayByHour{from.Format("Monday 2 Jan"), from.AddDate(0, 0, 1), make([]int64, 24)}
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

// against is a day beside another, as sums up to each hour; those of today end now. A day before anything was counted is left out.
func (d *dayByHour) against(before *dayByHour, counted, now time.Time) plot {
	p := plot{
		ID: "today", Title: "Today against the same day last week, sums of what was sent", Kind: "lines", Empty: "No message was sent on either day.",
		CSV: "/report.csv?" + url.Values{"range": {"24h"}}.Encode(),
	}
	for hour := range 24 {
		p.Labels = append(p.Labels, fmt.Sprintf("%02d:59", hour))
	}
	days := []*dayByHour{d, before}
	if !counted.Before(before.until) {
		days, p.Title = days[:1], "Today, sums of what was sent"
	}
	for i, one := range days {
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
