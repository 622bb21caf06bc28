package report

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Reports are the numbers for people.
type Reports struct {
	Records
	Zone func() *time.Location // whose days they mean
	Now  func() time.Time

	Spend func(context.Context) (SpendView, error) // by the config in use; nil where none is known
}

// A Query says what a report is about. Zero fields ask for the usual.
type Query struct {
	Since   time.Time `json:"since"` // hours that begin in this time; the last seven days, today among them
	Until   time.Time `json:"until"`
	By      string    `json:"by"`    // "hour" or "day": a row for each; "" for none
	Group   string    `json:"group"` // "trigger", "job", "template", "country" or "connector": a row for each; "" for none
	Trigger string    `json:"trigger"`
	Job     string    `json:"job"`  // only of this one
	Only    string    `json:"only"` // OnlyRows, or ""
}

// OnlyRows asks for the rows alone, which costs a quarter.
const OnlyRows = "rows"

// A View is what happened in a time. Each number says how often something happened in it, and not what became later of what began
// in it.
type View struct {
	Zone         string    `json:"zone" kind:"ours"` // whose days they are
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
	CountedSince time.Time `json:"counted_since,omitzero"` // before this nothing was counted; absent where nothing was yet

	Total  Stages `json:"total"`
	Before Stages `json:"week_before"` // in the same time, seven days earlier

	Rows     []Row          `json:"rows"`  // by time, then by group; those in which nothing happened are left out
	Ended    []EndedCount   `json:"ended"` // why messages ended that did not arrive, the most first
	Arrivals ArrivalsView   `json:"arrivals"`
	Outcomes []OutcomeCount `json:"outcomes"` // what triggers said to events

	Spend *SpendView `json:"spend,omitempty"` // now, whatever the time of the report; absent where no config is known
}

// Stages are how far things came.
type Stages struct {
	Events     int64   `json:"events"`
	Duplicates int64   `json:"duplicates"` // events that were known already
	Refused    int64   `json:"refused"`    // requests that were not taken
	Decisions  int64   `json:"decisions"`  // that triggers made
	Queued     int64   `json:"queued"`
	Shadowed   int64   `json:"shadowed"`        // would have been queued, but for the mode of their trigger
	Accepted   int64   `json:"accepted"`        // by the service: they were sent
	Uploaded   int64   `json:"uploaded"`        // rows in files that the service took without naming messages
	Spent      float64 `json:"points"`          // what messages, files and tests cost that the service took, by the prices of the config when they left
	Points     float64 `json:"uploaded_points"` // what the files cost of that
	Delivered  int64   `json:"delivered"`
	Read       int64   `json:"read"`
	Failed     int64   `json:"failed"`   // after they were accepted
	Rejected   int64   `json:"rejected"` // by the service
	InDoubt    int64   `json:"in_doubt"`
	Cancelled  int64   `json:"cancelled"`
	Dropped    int64   `json:"dropped"`
	Expired    int64   `json:"expired"` // nothing was heard of them in time

	// Tests of triggers (send-test) are in none of the numbers above but points.
	Tests      int64   `json:"tests"`       // that the service took
	TestPoints float64 `json:"test_points"` // what these cost; points has it, too
}

func (s *Stages) add(what string, n int64) {
	into := map[string]*int64{
		"event": &s.Events, "duplicate": &s.Duplicates, "refused": &s.Refused, "decision": &s.Decisions, "queued": &s.Queued, "shadowed": &s.Shadowed,
		"accepted": &s.Accepted, "uploaded": &s.Uploaded, "delivered": &s.Delivered, "read": &s.Read, "failed": &s.Failed, "rejected": &s.Rejected,
		"in_doubt": &s.InDoubt, "cancelled": &s.Cancelled, "dropped": &s.Dropped, "expired": &s.Expired,
		"tested": &s.Tests,
	}[what]
	switch what {
	case tally.HourSpent, tally.HourPoints, tally.HourTestCost:
		s.Spent = addPoints(s.Spent, n)
	}
	switch {
	case into != nil:
		*into += n
	case what == tally.HourPoints:
		s.Points = addPoints(s.Points, n)
	case what == tally.HourTestCost:
		s.TestPoints = addPoints(s.TestPoints, n)
	}
}

// addPoints adds thousandths of points.
func addPoints(points float64, n int64) float64 { return (math.Round(points*1000) + float64(n)) / 1000 }

// Sent is how many were given to the service, one by one or in files.
func (s *Stages) Sent() int64 { return s.Accepted + s.Uploaded }

// size is what rows of one time are put in order by.
func (s *Stages) size() int64 { return s.Queued + s.Sent() + s.Events }

// A Row is a time, or a group, or a group in a time.
type Row struct {
	At    time.Time `json:"at,omitzero"`                 // when the hour, or the day, begins
	Group string    `json:"group,omitempty" kind:"ours"` // its name; absent where it has none; (jobs) for those of jobs beside triggers, (triggers) for the other way round
	Stages
}

// An EndedCount is how many messages ended so.
type EndedCount struct {
	State    string `json:"state" kind:"ours"`  // rejected, failed, dropped or cancelled
	Reason   string `json:"reason" kind:"ours"` // class of the error, "unknown" where no rule knows its words; or the rule that dropped it, or who ended it
	Messages int64  `json:"messages"`
}

// An OutcomeCount is how often triggers said something.
type OutcomeCount struct {
	Outcome   string `json:"outcome" kind:"ours"`
	Decisions int64  `json:"decisions"`
}

// ArrivalsView is how long messages took from accepted to delivered.
type ArrivalsView struct {
	Messages int64         `json:"messages"`
	P50      float64       `json:"p50_seconds"` // half took no longer; 0 where none was delivered
	P95      float64       `json:"p95_seconds"`
	Classes  []ArrivalView `json:"classes"`
	Times    []ArrivalTime `json:"times,omitempty"` // of a report by hour or day: those in which a message was delivered
}

// An ArrivalTime is how long messages took that were delivered in an hour or a day.
type ArrivalTime struct {
	At       time.Time `json:"at"` // when the hour, or the day, begins
	Messages int64     `json:"messages"`
	P50      float64   `json:"p50_seconds"`
	P95      float64   `json:"p95_seconds"`
}

// An ArrivalView is how many messages took at most so long, and longer than the class before.
type ArrivalView struct {
	UpTo     float64 `json:"up_to_seconds"` // 0 for what took longer than all others
	Messages int64   `json:"messages"`
}

const (
	mostReportHours = 62 * 24
	mostReportRows  = 50_000
)

// read is a report as it is asked for, with what is meant where nothing was said.
func (s Reports) read(q Query) (_ Query, err error) {
	zone := s.Zone()
	now := s.Now().In(zone)
	if q.Until.IsZero() || q.Until.After(now) {
		q.Until = now
	}
	if q.Since.IsZero() {
		of := q.Until.In(zone)
		q.Since = time.Date(of.Year(), of.Month(), of.Day()-6, 0, 0, 0, 0, zone)
	}
	q.Since, q.Until = q.Since.In(zone), q.Until.In(zone)
	switch {
	case !slices.Contains([]string{"", OnlyRows}, q.Only):
		err = refusal.Fieldf("only", "", "only %q: want rows", q.Only)
	case !slices.Contains([]string{"", "hour", "day"}, q.By):
		err = refusal.Fieldf("by", "", "by %q: want hour or day", q.By)
	case !slices.Contains([]string{"", "trigger", "job", "template", "country", "connector"}, q.Group):
		err = refusal.Fieldf("group", "", "group %q: want trigger, job, template, country or connector", q.Group)
	case q.Trigger != "" && q.Job != "":
		err = refusal.Fieldf("job", "ask for one of them", "a message is of a trigger or of a job, and not of both")
	case !q.Since.Before(q.Until):
		err = refusal.Fieldf("since", "", "since %s is not before until %s", q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	case q.Until.Sub(q.Since) > tally.HoursKept:
		err = refusal.Fieldf("since", "counts are kept for that long", "a report is about 400 days at the most")
	case q.By == "hour" && q.Until.Sub(q.Since) > mostReportHours*time.Hour:
		err = refusal.Fieldf("by", "ask by day, or for less", "a report by hour is about 62 days at the most")
	}
	return q, err
}

// by is how long the times are that a report tells apart.
func (q *Query) by() By {
	switch q.By {
	case "hour":
		return ByHour
	case "day":
		return ByDay
	default:
		return ByAll
	}
}

// hours is a query of counts in the time of a report.
func (q *Query) hours() HourQuery {
	h := HourQuery{From: q.Since, Until: q.Until, Zone: q.Since.Location()}
	switch {
	case q.Trigger != "":
		h.About, h.Name = "trigger", q.Trigger
	case q.Job != "":
		h.About, h.Name = "job", q.Job
	}
	return h
}

func (s Reports) Report(ctx context.Context, in Query) (View, error) {
	q, err := s.read(in)
	if err != nil {
		return View{}, err
	}
	v := View{Zone: q.Since.Location().String(), Since: q.Since.UTC(), Until: q.Until.UTC(), Ended: []EndedCount{}, Outcomes: []OutcomeCount{}}
	if v.CountedSince, _, err = s.HoursSince(ctx); err != nil {
		return View{}, err
	}
	if q.Only == OnlyRows {
		v.Arrivals.Classes = []ArrivalView{}
		v.Rows, err = s.rows(ctx, &q)
		return v, err
	}
	if s.Spend != nil {
		spend, err := s.Spend(ctx)
		if err != nil {
			return View{}, err
		}
		v.Spend = &spend
	}
	h := q.hours()
	h.Classes = true
	all, err := s.Hours(ctx, h)
	if err != nil {
		return View{}, err
	}
	v.Arrivals = newArrivals()
	for i := range all {
		one := &all[i]
		v.Total.add(one.What, one.N)
		switch one.What {
		case "failed", "rejected", "dropped", "cancelled":
			v.addEnded(one.What, cmp.Or(one.Class, "unknown"), one.N)
		case "delivered":
			v.Arrivals.add(one)
		}
	}
	v.Arrivals.P50, v.Arrivals.P95 = v.Arrivals.percentile(0.5), v.Arrivals.percentile(0.95)
	if v.Arrivals.Times, err = s.arrivalTimes(ctx, &q); err != nil {
		return View{}, err
	}
	slices.SortFunc(v.Ended, func(a, b EndedCount) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	h = q.hours()
	h.What, h.Details = []string{"decision"}, true
	if all, err = s.Hours(ctx, h); err != nil {
		return View{}, err
	}
	for i := range all {
		at := slices.IndexFunc(v.Outcomes, func(o OutcomeCount) bool { return o.Outcome == all[i].Detail })
		if at < 0 {
			at = len(v.Outcomes)
			v.Outcomes = append(v.Outcomes, OutcomeCount{Outcome: all[i].Detail})
		}
		v.Outcomes[at].Decisions += all[i].N
	}
	slices.SortFunc(v.Outcomes, func(a, b OutcomeCount) int {
		return cmp.Or(cmp.Compare(b.Decisions, a.Decisions), cmp.Compare(a.Outcome, b.Outcome))
	})
	h = q.hours()
	h.From, h.Until = h.From.AddDate(0, 0, -7), h.Until.AddDate(0, 0, -7)
	if all, err = s.Hours(ctx, h); err != nil {
		return View{}, err
	}
	for i := range all {
		v.Before.add(all[i].What, all[i].N)
	}
	v.Rows, err = s.rows(ctx, &q)
	return v, err
}

func (v *View) addEnded(state, reason string, n int64) {
	i := slices.IndexFunc(v.Ended, func(e EndedCount) bool { return e.State == state && e.Reason == reason })
	if i < 0 {
		i = len(v.Ended)
		v.Ended = append(v.Ended, EndedCount{State: state, Reason: reason})
	}
	v.Ended[i].Messages += n
}

// endedWords are reasons for people, where the word of the config or of the class does not say it.
var endedWords = map[string]string{
	messaging.RuleExpires:      "too late (expires)",
	messaging.RuleBlock:        "the contact is blocked",
	messaging.RuleConsent:      "no consent",
	messaging.RuleLimit:        "over a limit",
	messaging.RuleAccount:      "over a limit of the account",
	messaging.RuleBudget:       "no budget left",
	messaging.RuleStep:         "the condition of its step",
	messaging.RuleOnChange:     "an edit of the config (on_change)",
	messaging.EndedByEvent:     "an event that cancels it",
	messaging.EndedByPerson:    "a person",
	messaging.EndedByRun:       "its run was cancelled",
	messaging.EndedByTries:     "given up after too many tries",
	messaging.EndedByDoubt:     "in doubt (on_doubt)",
	messaging.EndedByForgotten: "the contact is forgotten",
	"unknown":                  "words that no rule knows",
}

// EndedWords is the reason of an EndedCount for people.
func EndedWords(reason string) string {
	return cmp.Or(endedWords[reason], strings.ReplaceAll(reason, "_", " "))
}

func newArrivals() ArrivalsView {
	v := ArrivalsView{Classes: make([]ArrivalView, len(tally.ArrivalTimes)+1)}
	for i, upTo := range tally.ArrivalTimes {
		v.Classes[i].UpTo = upTo.Seconds()
	}
	return v
}

// add counts messages that were delivered.
func (v *ArrivalsView) add(c *HourCount) {
	if class, err := strconv.Atoi(c.Class); err == nil && class >= 0 && class < len(v.Classes) {
		v.Classes[class].Messages += c.N
		v.Messages += c.N
	}
}

// arrivalTimes are how long messages took in each hour or day, nil where a report is by none.
func (s Reports) arrivalTimes(ctx context.Context, q *Query) (out []ArrivalTime, err error) {
	h := q.hours()
	if h.By = q.by(); h.By == ByAll {
		return nil, nil
	}
	h.What, h.Classes = []string{"delivered"}, true
	all, err := s.Hours(ctx, h)
	of := map[int64]ArrivalsView{}
	for i := range all {
		at := all[i].At.Unix()
		v, known := of[at]
		if !known {
			v = newArrivals()
			out = append(out, ArrivalTime{At: all[i].At.UTC()})
		}
		v.add(&all[i])
		of[at] = v
	}
	for i := range out {
		v := of[out[i].At.Unix()]
		out[i].Messages, out[i].P50, out[i].P95 = v.Messages, v.percentile(0.5), v.percentile(0.95)
	}
	slices.SortFunc(out, func(a, b ArrivalTime) int { return a.At.Compare(b.At) })
	return out, err
}

// percentile is the time in seconds that such a part of the messages took at the most, as if those of a class were spread evenly over it.
func (v *ArrivalsView) percentile(part float64) float64 {
	rest := part * float64(v.Messages)
	from := 0.0
	for _, c := range v.Classes {
		if n := float64(c.Messages); n > 0 && rest <= n {
			if c.UpTo == 0 {
				return from
			}
			return from + (c.UpTo-from)*rest/n
		}
		rest -= float64(c.Messages)
		from = c.UpTo
	}
	return 0
}

// rows are the rows that a report was asked for.
func (s Reports) rows(ctx context.Context, q *Query) ([]Row, error) {
	rows := []Row{}
	if q.By == "" && q.Group == "" {
		return rows, nil
	}
	h := q.hours()
	h.By = q.by()
	var group func(*HourCount) string
	switch q.Group {
	case "trigger", "job", "connector":
		if h.About != "" && h.About != q.Group {
			return rows, nil
		}
		others := map[string]string{"trigger": "job", "job": "trigger"}[q.Group]
		if h.Names = true; q.Only == OnlyRows || others == "" {
			h.About = q.Group
		}
		group = func(c *HourCount) string {
			if c.About == others {
				return "(" + others + "s)" // so that the rows add up to all messages
			}
			return c.Name
		}
	case "template":
		h.Details, h.What = true, messageCounts
		group = func(c *HourCount) string { return c.Detail }
	case "country":
		h.Countries, h.What = true, messageCounts
		group = func(c *HourCount) string { return c.Country }
	default:
		group = func(*HourCount) string { return "" }
	}
	all, err := s.Hours(ctx, h)
	if err != nil {
		return nil, err
	}
	type key struct {
		at    int64
		group string
	}
	place := map[key]int{}
	for i := range all {
		one := &all[i]
		if h.Names && one.About == "connector" && q.Group != "connector" {
			continue // of events, which are of no trigger and no job
		}
		k := key{group: group(one)}
		if h.By != ByAll {
			k.at = one.At.Unix()
		}
		at, known := place[k]
		if !known {
			if len(rows) >= mostReportRows {
				return nil, refusal.Fieldf("since", "ask for less time, by day, or without a group", "that is more than %d rows", mostReportRows)
			}
			at = len(rows)
			place[k] = at
			rows = append(rows, Row{Group: k.group})
			if h.By != ByAll {
				rows[at].At = one.At.UTC()
			}
		}
		rows[at].add(one.What, one.N)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(b.size(), a.size()), cmp.Compare(a.Group, b.Group))
	})
	return rows, nil
}

// messageCounts are the counts that have a template and a country.
var messageCounts = []string{"queued", "shadowed", "accepted", "message_points", "uploaded", "uploaded_points", "delivered", "read", "failed", "rejected", "in_doubt", "cancelled", "dropped", "expired", "tested", "test_points"}

// SecondsWords are seconds for people: "4 s", "3 min".
func SecondsWords(seconds float64) string {
	switch {
	case seconds < 10:
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	case seconds < 120:
		return strconv.FormatFloat(seconds, 'f', 0, 64) + " s"
	case seconds < 2*3600:
		return strconv.FormatFloat(seconds/60, 'f', 0, 64) + " min"
	default:
		return strconv.FormatFloat(seconds/3600, 'f', 0, 64) + " h"
	}
}
