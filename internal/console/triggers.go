package console

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

type triggersPage struct {
	Rows  []ruleRow
	Other []messaging.Hold // what is held besides triggers
}

// A ruleRow is a trigger and what holds it.
type ruleRow struct {
	Rule
	Holds []messaging.Hold
}

// Halted reports whether a person halted this one.
func (r ruleRow) Halted() bool {
	return slices.ContainsFunc(r.Holds, func(h messaging.Hold) bool { return h.Kind == messaging.HoldHalt })
}

// State is what it does at present, in a word: how it is held, or its mode.
func (r ruleRow) State() string {
	if len(r.Holds) > 0 {
		return r.Holds[0].State()
	}
	return string(r.Mode)
}

// Told are its sentences by what they are about.
func (r ruleRow) Told() (out []toldAbout) {
	for _, about := range triggers.Abouts {
		one := toldAbout{About: about}
		for _, s := range r.Sentences {
			if s.About == about {
				one.Sentences = append(one.Sentences, s)
			}
		}
		if len(one.Sentences) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// Says reports whether the text of any of its messages is known.
func (r ruleRow) Says() bool {
	return slices.ContainsFunc(r.Stages, func(s triggers.Stage) bool { return s.Says != "" })
}

// toldAbout are sentences about one thing.
type toldAbout struct {
	About     string
	Sentences []triggers.Sentence
}

func ofTrigger(h messaging.Hold) bool { return h.Scope == messaging.ScopeTrigger }

// holdsOf are the holds of one trigger.
func holdsOf(name string, all []messaging.Hold) (out []messaging.Hold) {
	for _, h := range all {
		if ofTrigger(h) && h.Name == name {
			out = append(out, h)
		}
	}
	return out
}

func (c *Console) triggers(r *http.Request) (page, error) {
	status, err := server.ShowStatus.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	var v triggersPage
	for _, rule := range c.Rules() {
		v.Rows = append(v.Rows, ruleRow{rule, holdsOf(rule.Name, status.Holds)})
	}
	v.Other = slices.DeleteFunc(besides(status.Holds), ofTrigger)
	return page{Name: "triggers", Title: "Triggers", Here: "/triggers", Data: v, Shows: v.Other}, nil
}

type overlapPage struct {
	Since time.Time
	Pairs []report.OverlapView
}

// overlap says which triggers and jobs reach the same people.
func (c *Console) overlap(r *http.Request) (page, error) {
	v := overlapPage{Since: daysBack(30)(c.Now().In(c.Zone()))}
	var err error
	v.Pairs, err = server.ShowOverlap.Call(r.Context(), c.Ask, report.OverlapQuery{Since: v.Since})
	return page{Name: "overlap", Title: "Who hears from several", Here: "/triggers", Data: v}, err
}

// particulars are what differs between decisions that have one reason: numbers of ours, and times.
var particulars = regexp.MustCompile(`\b(message |event |run |attempt )\d+|\b\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: [A-Z]{2,5}\b)?`)

// lookedAt is how many of the newest events are looked at for why a trigger sent nothing.
const lookedAt = 100

type triggerPage struct {
	ruleRow
	Stretches []timeRange
	Stretch   timeRange
	Base, At  string    // see timeRanges in plots.html
	Began     time.Time // since when there are counts; zero for never
	Short     bool      // that is later than the timeRange begins
	Messages  []counted // what happened to them in the timeRange
	Outcomes  []counted // what it said in the timeRange
	Arrived   string    // how long they took to arrive
	Life      *plot
	OfEvents  int
	Reasons   []counted // why it said no to the newest events
}

func (c *Console) trigger(r *http.Request) (page, error) {
	name := r.PathValue("name")
	rules := c.Rules()
	i := slices.IndexFunc(rules, func(one Rule) bool { return one.Name == name })
	if i < 0 {
		return page{}, &refusal.Error{Status: http.StatusNotFound, Words: "the config has no trigger of that name", Hint: "the page Triggers lists those that it has"}
	}
	ctx := r.Context()
	status, err := server.ShowStatus.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	v := triggerPage{ruleRow: ruleRow{rules[i], holdsOf(name, status.Holds)}, Base: "/triggers/" + url.PathEscape(name), At: "numbers"}
	if err := c.lifeOf(r, name, &v); err != nil {
		return page{}, err
	}
	events, err := server.ListEvents.Call(ctx, c.Ask, server.ListQuery{Limit: lookedAt})
	if err != nil {
		return page{}, err
	}
	reasons := map[string]int64{}
	for i := range events {
		for _, d := range events[i].Decisions {
			if d.Trigger != name {
				continue
			}
			if d.Outcome == messaging.Skipped && len(d.Clauses) > 0 {
				if last := d.Clauses[len(d.Clauses)-1]; !last.Held {
					reasons[last.Text+" did not hold"]++
					continue
				}
			}
			if d.Outcome == messaging.Skipped || d.Outcome == messaging.Cancelled {
				reasons[particulars.ReplaceAllString(d.Reason, "$1…")]++
			}
		}
	}
	v.Reasons, v.OfEvents = byCount(reasons), len(events)
	v.Reasons = v.Reasons[:min(len(v.Reasons), 10)]
	return page{Name: "trigger", Title: "Trigger " + name, Here: "/triggers", Data: v, Shows: v.Holds}, nil
}

// lifeOf fills in what a trigger did in a timeRange of time.
func (c *Console) lifeOf(r *http.Request, name string, v *triggerPage) error {
	now := c.Now().In(c.Zone())
	v.Stretches, v.Stretch = timeRanges, timeRangeOf(r)
	since := v.Stretch.since(now)
	got, err := server.ShowReport.Call(r.Context(), c.Ask, report.Query{Since: since, By: v.Stretch.by, Trigger: name})
	if err != nil {
		return err
	}
	v.Began = got.CountedSince
	v.Short = v.Began.IsZero() || v.Began.After(got.Since)
	for _, col := range report.Columns {
		if n := int64(col.Of(&got.Total)); n > 0 && col.Name != "decisions" {
			v.Messages = append(v.Messages, counted{Word: col.Name, N: n})
		}
	}
	for _, o := range got.Outcomes {
		v.Outcomes = append(v.Outcomes, counted{Word: o.Outcome, N: o.Decisions})
	}
	if a := &got.Arrivals; a.Messages > 0 {
		v.Arrived = "Half arrived within " + report.SecondsWords(a.P50) + ", and 95 of 100 within " + report.SecondsWords(a.P95) + "."
	}
	at, labels := c.moments(&v.Stretch, now)
	v.Life = &plot{
		ID: "life", Title: "Queued, sent, delivered, read, failed", Kind: "lines", Labels: labels, Empty: "Nothing happened in this time.",
		CSV: "/report.csv?" + url.Values{"range": {v.Stretch.Key}, "trigger": {name}}.Encode(),
	}
	for i, one := range []struct {
		name string
		of   func(*report.Stages) int64
	}{
		{"queued", func(s *report.Stages) int64 { return s.Queued }},
		{"sent", func(s *report.Stages) int64 { return s.Accepted }},
		{"delivered", func(s *report.Stages) int64 { return s.Delivered }},
		{"read", func(s *report.Stages) int64 { return s.Read }},
		{"failed", func(s *report.Stages) int64 { return s.Failed }},
	} {
		series := plotSeries{Name: one.name, Values: make([]int64, len(at)), Color: []int{0, 1, 5, 3, 4}[i]}
		if found := seriesOf(at, one.of, &got); len(found) > 0 {
			series.Values, series.Total = found[0].Values, found[0].Total
		}
		v.Life.Series = append(v.Life.Series, series)
	}
	v.Life.begun(at, v.Began, v.Stretch.by)
	return nil
}
