package console

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A need is a trouble with where to look at it.
type need struct {
	messaging.Trouble
	Link, LinkWords string
}

// Redaction reports whether a person has to say whether all of a connector is forgotten.
func (n need) Redaction() bool { return n.Code == messaging.TroubleRedaction }

// places are where what a trouble is about is seen.
var places = map[messaging.TroubleCode][2]string{
	messaging.TroubleHalt:        {"/triggers", "Triggers"},
	messaging.TroublePaused:      {"/triggers", "Triggers"},
	messaging.TroubleReview:      {"/messages?state=waiting", "Messages that wait"},
	messaging.TroubleTemplate:    {"/messages?state=rejected", "Messages that were rejected"},
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
	messaging.TroubleConfig:      {"/system", "System"},
	messaging.TroubleBackup:      {"/system", "System"},
	messaging.TroubleCertificate: {"/system", "System"},
	messaging.TroubleReceiver:    {"/system", "System"},
	messaging.TroubleWebhooksOut: {"/system", "System"},
}

// A stage is one step of the funnel.
type stage struct {
	Name, Words, Link string
	N                 int64
	Width             int // of 1000, beside the longest
	Percent           int // of those that the service took; 0 for the stages before
}

type overviewPage struct {
	Status server.StatusView
	Health string // in a sentence
	Tone   string
	Needs  []need // somebody has to do something
	Notes  []need // worth knowing
	numbers
	Base   string           // address of this page
	At     string           // where on it the numbers begin
	Next   []server.JobView // that fire by themselves, the next first
	Lately []server.EventView
}

func (c *Console) overview(r *http.Request) (page, error) {
	ctx := r.Context()
	status, err := server.ShowStatus.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	v := overviewPage{Status: status, Base: "/", At: "numbers"}
	if v.numbers, err = c.numbers(r, r.Header.Get("HX-Request") != ""); err != nil {
		return page{}, err
	}
	for _, t := range status.Troubles {
		one := need{Trouble: t, Link: places[t.Code][0], LinkWords: places[t.Code][1]}
		if t.Severity == messaging.Note && !one.Redaction() { // that waits for a person from the first
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
	v.Next = v.Next[:min(len(v.Next), 8)]
	if v.Lately, err = server.ListEvents.Call(ctx, c.Ask, server.ListQuery{Limit: 8}); err != nil {
		return page{}, err
	}
	return page{Name: "overview", Title: "Overview", Here: "/", Data: v}, nil
}

// health is what the troubles come to, in a sentence.
func health(needs []need) (words, tone string) {
	stops := 0
	for i := range needs {
		if needs[i].Severity == messaging.Stops {
			stops++
		}
	}
	switch {
	case len(needs) > 0 && needs[0].Subject == messaging.Everything:
		return "Nothing is sent: everything is halted.", "bad"
	case stops == 1:
		return "Something that should be sent is not.", "bad"
	case stops > 1:
		return "Things that should be sent are not.", "bad"
	case len(needs) == 1:
		return "Messages go out. One thing needs a person.", "warn"
	case len(needs) > 1:
		return "Messages go out. A few things need a person.", "warn"
	default:
		return "All is well.", "good"
	}
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
