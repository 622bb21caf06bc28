package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A need is a trouble with where to look at it, and what a person can do about it here.
type need struct {
	messaging.Trouble
	Link, LinkWords string
	Acts            []needAct
}

// A needAct is a button.
type needAct struct {
	Do, Words, Tone string
	Of              []any // names and values of what its form says
}

// Button is the form of it, nil for who may not.
func (s shown) Button(a needAct) *actForm { return s.Act(a.Do, a.Words, a.Tone, a.Of...) }

// remedy is what can be done here about a trouble; none where only its hint helps.
func remedy(t *messaging.Trouble, d *server.DaemonView) []needAct {
	run := []any{"run", t.Run}
	switch {
	case t.Code == messaging.TroubleInDoubt:
		return []needAct{{Do: "resolve-all", Words: "Say what became of them…"}}
	case t.Code == messaging.TroubleApproval:
		return []needAct{{"approve", "Approve…", "", run}, {"cancel-run", "Cancel…", "danger quiet", run}}
	case t.Code == messaging.TroubleFailing:
		return []needAct{{"retry-run", "Send again…", "", run}}
	case t.Code == messaging.TroublePaused && t.Run != 0:
		return []needAct{{"go-on", "Let it go on…", "", run}, {"cancel-run", "Cancel…", "danger quiet", run}}
	case t.Resumes != nil:
		return []needAct{{"resume", "Let it go on…", "", []any{"scope", t.Resumes.Scope, "name", t.Resumes.Name}}}
	case t.Code == messaging.TroubleRedaction:
		of := []any{"connector", t.Subject}
		return []needAct{{"redact", "Forget all of " + t.Subject + "…", "danger quiet", of}, {"refuse-redaction", "Keep it…", "quiet", of}}
	case t.Code == messaging.TroubleConfig && d != nil && d.TakesUp():
		return []needAct{{Do: "reload", Words: "See what would change…"}}
	}
	return nil
}

// places are where what a trouble is about is seen.
var places = map[messaging.TroubleCode][2]string{
	messaging.TroubleHalt:        {"/triggers", "Triggers"},
	messaging.TroublePaused:      {"/triggers", "Triggers"},
	messaging.TroubleReview:      {"/messages?state=waiting", "Messages that wait"},
	messaging.TroubleTemplate:    {"/messages?state=rejected", "Messages that were rejected"},
	messaging.TroubleBudget:      {"/numbers#points", "Points"},
	messaging.TroubleRejections:  {"/messages?state=rejected", "Messages that were rejected"},
	messaging.TroubleApproval:    {"/jobs", "Jobs"},
	messaging.TroubleFailing:     {"/jobs", "Jobs"},
	messaging.TroubleFiles:       {"/jobs", "Jobs"},
	messaging.TroubleInDoubt:     {"/messages?state=in_doubt", "Messages in doubt"},
	messaging.TroubleOverdue:     {"/messages?state=waiting", "Messages that wait"},
	messaging.TroubleFailedRate:  {"/messages?state=failed", "Messages that failed"},
	messaging.TroubleUnknownText: {"/messages?state=failed", "Messages that failed"},
	messaging.TroubleRejected:    {"/messages?state=failed", "Messages that failed"},
	messaging.TroubleTurnedAway:  {"/events/rejected", "Requests that were not taken"},
	messaging.TroubleUnverified:  {"/events/rejected", "Requests that were not taken"},
	messaging.TroubleSilent:      {"/events", "Events"},
	messaging.TroubleDrift:       {"/events", "Events"},
	messaging.TroubleNodes:       {"/system", "System"},
	messaging.TroubleClock:       {"/system", "System"},
	messaging.TroubleReader:      {"/system", "System"},
	messaging.TroubleAudit:       {"/audit", "Audit"},
	messaging.TroubleDisk:        {"/system", "System"},
	messaging.TroubleConfig:      {"/config", "Config"},
	messaging.TroubleBackup:      {"/system", "System"},
	messaging.TroubleCertificate: {"/system", "System"},
	messaging.TroubleReceiver:    {"/system", "System"},
	messaging.TroubleWebhooksOut: {"/system", "System"},
}

type overviewPage struct {
	Status  server.StatusView
	Health  string // in a sentence
	Tone    string
	Needs   []need // somebody has to do something
	Notes   []need // worth knowing
	Day     []dayNumber
	Counted time.Time        // since when there are counts, where that is later than a day ago
	Next    []server.JobView // that fire by themselves, the next first
	Lately  []server.EventView
}

// A dayNumber is how often something happened in the last 24 hours.
type dayNumber struct {
	Name, Link string
	N          int64
	Bars       string // of its hours, as a path in a box of 96 by 24
}

func (c *Console) overview(r *http.Request) (page, error) {
	ctx := r.Context()
	status, err := server.ShowStatus.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	v := overviewPage{Status: status}
	if err := c.lastDay(ctx, &v); err != nil {
		return page{}, err
	}
	for _, t := range status.Troubles {
		one := need{Trouble: t, Link: places[t.Code][0], LinkWords: places[t.Code][1], Acts: remedy(&t, status.Daemon)}
		if one.Link != "" {
			one.Hint = withoutCommands(t.Hint)
		}
		if t.Run != 0 {
			one.Link, one.LinkWords = fmt.Sprintf("/runs/%d", t.Run), fmt.Sprintf("Run %d", t.Run)
		}
		if t.Severity == messaging.Note && t.Code != messaging.TroubleRedaction { // that waits for a person from the first
			v.Notes = append(v.Notes, one)
			continue
		}
		v.Needs = append(v.Needs, one)
	}
	v.Health, v.Tone = health(v.Needs)
	v.Needs = slices.DeleteFunc(v.Needs, func(n need) bool { return n.Subject == messaging.Everything }) // it stands above, as on every page
	jobs, err := server.ListJobs.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	for _, j := range jobs {
		if !j.NextAt.IsZero() && !j.Off {
			v.Next = append(v.Next, j)
		}
	}
	slices.SortFunc(v.Next, func(a, b server.JobView) int { return a.NextAt.Compare(b.NextAt) })
	v.Next = v.Next[:min(len(v.Next), 6)]
	if v.Lately, err = server.ListEvents.Call(ctx, c.Ask, server.ListQuery{Limit: 5}); err != nil {
		return page{}, err
	}
	return page{Name: "overview", Title: "Overview", Here: "/", Data: v, Shows: status.Holds}, nil
}

// lastDay fills in what happened in the last 24 hours.
func (c *Console) lastDay(ctx context.Context, v *overviewPage) error {
	now := c.Now().In(c.Zone())
	from := now.Add(-23 * time.Hour).Truncate(time.Hour)
	of, err := server.ShowReport.Call(ctx, c.Ask, report.Query{Since: from, By: "hour", Only: report.OnlyRows})
	if err != nil {
		return err
	}
	if of.CountedSince.After(from) {
		v.Counted = of.CountedSince
	}
	for _, one := range []struct {
		name, link string
		of         func(*report.Row) int64
	}{
		{"Events", "/events?since=24h", func(r *report.Row) int64 { return r.Events }},
		{"Sent", "/messages?since=24h", func(r *report.Row) int64 { return r.Sent() }},
		{"Delivered", "/messages?state=delivered&since=24h", func(r *report.Row) int64 { return r.Delivered }},
		{"Failed or rejected", "/numbers?range=24h#ended", func(r *report.Row) int64 { return r.Failed + r.Rejected }},
	} {
		n := dayNumber{Name: one.name, Link: one.link}
		var hours [24]int64
		for i := range of.Rows {
			if at := int(of.Rows[i].At.Sub(from) / time.Hour); at >= 0 && at < len(hours) {
				hours[at] += one.of(&of.Rows[i])
				n.N += one.of(&of.Rows[i])
			}
		}
		n.Bars = bars(hours[:])
		v.Day = append(v.Day, n)
	}
	return nil
}

// bars are numbers as a path of bars in a box of 96 by 24, beside the largest of them; "" where all are 0.
func bars(of []int64) string {
	most := slices.Max(of)
	if most == 0 {
		return ""
	}
	wide := 96 / len(of)
	var path strings.Builder
	for i, n := range of {
		if n > 0 {
			fmt.Fprintf(&path, "M%d 24v-%dh%dV24z", i*wide, max(n*24/most, 2), wide-1)
		}
	}
	return path.String()
}

// withoutCommands is a hint without its parts that begin with a command: a page has a link to what such a command shows.
func withoutCommands(hint string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(hint, "; "), func(part string) bool { return strings.HasPrefix(part, `"nudgewire `) }), "; ")
}

// health is what the troubles come to, in two sentences.
func health(needs []need) (words, tone string) {
	if len(needs) == 0 {
		return "All is well.", "good"
	}
	if needs[0].Subject == messaging.Everything {
		return "Nothing is sent: everything is halted.", "bad"
	}
	words, tone = "Messages go out.", "warn"
	if slices.ContainsFunc(needs, func(n need) bool { return n.Severity == messaging.Stops }) {
		words, tone = "Some messages are held back.", "bad"
	}
	if len(needs) == 1 {
		return words + " One thing needs a person.", tone
	}
	return fmt.Sprintf("%s %d things need a person.", words, len(needs)), tone
}
