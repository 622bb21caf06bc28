package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

type messagesPage struct {
	list
	Rows     []server.MessageView
	From     string // the time that the list goes back to, "" for any
	States   []string
	Triggers []string
	Accounts []string
	Classes  []string
	Reasons  []server.GroupView // why those of the state are in it, the most first, where the list is of one that has reasons
	Others   int64              // messages of further reasons
	Counted  string             // how many of the newest messages were looked at for that; "" for all
	Plan     againPlan          // of those of Rows that ended and surely did not arrive
}

// messageFilters are what the list is narrowed by, besides the time.
var messageFilters = []string{"phone", "state", "trigger", "template", "account", "class", "words"}

// All is a button for all that the list is narrowed to, or for those of one reason among them.
func (v messagesPage) All(do, words, tone, reason string) needAct {
	of := []any{"since", v.From}
	for _, key := range messageFilters {
		value := v.Query.Get(key)
		if key == "words" {
			value = cmp.Or(reason, value)
		}
		of = append(of, key, value)
	}
	return needAct{Do: do, Words: words, Tone: tone, Of: of}
}

// reasonsShown is how many reasons stand above a list.
const reasonsShown = 8

func (c *Console) messages(r *http.Request) (page, error) {
	l, q, err := c.newList(r, messageFilters...)
	if err != nil {
		return page{}, err
	}
	q.Phone, q.State, q.Trigger, q.Account = l.Query.Get("phone"), l.Query.Get("state"), l.Query.Get("trigger"), l.Query.Get("account")
	q.Template, q.Class, q.Words = l.Query.Get("template"), l.Query.Get("class"), l.Query.Get("words")
	all := q // that match, and not of this page alone
	all.Limit, all.Before = 0, 0
	l.Export = server.ExportMessages.Address(all)
	newest := func(q server.ListQuery) ([]int64, error) {
		rows, err := server.ListMessages.Call(r.Context(), c.Ask, q)
		return idsOf(rows, messageNumber), err
	}
	if err := l.bounded(&q, newest); err != nil {
		return page{}, err
	}
	rows, err := server.ListMessages.Call(r.Context(), c.Ask, q)
	if err != nil {
		return page{}, err
	}
	v := messagesPage{list: l, From: from(q.Since), States: server.StateWords(), Classes: messaging.ErrorClassWords()}
	v.Rows = cut(&v.list, r, rows, messageNumber)
	if err := v.further(r, q, newest); err != nil {
		return page{}, err
	}
	if err := c.reasons(r, &v, q, newest); err != nil {
		return page{}, err
	}
	v.Plan = c.planAgain(r, v.Rows)
	status, err := server.ShowStatus.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	jobs, err := server.ListJobs.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	if d := status.Daemon; d != nil {
		v.Triggers = append(v.Triggers, d.Triggers...)
		for _, a := range d.Accounts {
			v.Accounts = append(v.Accounts, a.Name)
		}
	}
	for _, j := range jobs {
		v.Triggers = append(v.Triggers, j.Name)
	}
	return page{Name: "messages", Title: "Messages", Here: "/messages", Data: v}, nil
}

// reasons fills in why the messages of the list's state are in it. The list is made anew every few seconds without them.
func (c *Console) reasons(r *http.Request, v *messagesPage, q server.ListQuery, newest numbered) error {
	if q.Phone != "" || q.Words != "" || !slices.Contains(server.StatesWithReasons, q.State) || r.Header.Get("HX-Request") != "" {
		return nil
	}
	q.Limit, q.Before, q.DownTo = 0, 0, 0
	ids, err := newest(server.ListQuery{Limit: 1})
	if err != nil {
		return err
	}
	if len(ids) > 0 && ids[0] > mostLooked {
		q.DownTo, v.Counted = ids[0]-mostLooked+1, units.Number(mostLooked)
	}
	all, err := server.MessageReasons.Call(r.Context(), c.Ask, q)
	v.Reasons = all.Groups[:min(len(all.Groups), reasonsShown)]
	for _, one := range all.Groups[len(v.Reasons):] {
		v.Others += one.Count
	}
	return err
}

// OfReason is the address of the list of one reason.
func (v messagesPage) OfReason(words string) string {
	q := url.Values{"words": {words}}
	for _, key := range append([]string{"since"}, messageFilters...) {
		if is := v.Query.Get(key); is != "" && key != "words" {
			q.Set(key, is)
		}
	}
	return "/messages?" + q.Encode()
}

func messageNumber(m *server.MessageView) int64 { return int64(m.ID) }

// from is a time as a form hands it on; "" for none.
func from(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Bulk reports whether what the list shows may hold messages in one of the states. The service said nothing of these, so none is of a class.
func (v messagesPage) Bulk(states ...string) bool {
	return len(v.Rows) > 0 && v.Query.Get("class") == "" && (v.Query.Get("state") == "" || slices.Contains(states, v.Query.Get("state")))
}

// Again reports whether what the list shows may go again.
func (v messagesPage) Again() bool {
	return len(v.Rows) > 0 && slices.Contains([]string{string(messaging.StateRejected), string(messaging.StateDropped), string(messaging.StatusFailed)}, v.Query.Get("state"))
}

// An againPlan says which messages could be sent again now, and why others could not.
type againPlan struct {
	by      map[messaging.MessageID]server.AgainView
	unknown bool
}

// planAgain asks it of those that surely did not arrive. A page that cannot know it is shown all the same, and says so.
func (c *Console) planAgain(r *http.Request, rows []server.MessageView) againPlan {
	var in server.RetryPlanRequest
	for i := range rows {
		if m := &rows[i]; lost(m) {
			in.Messages = append(in.Messages, m.ID)
		}
	}
	if len(in.Messages) == 0 {
		return againPlan{}
	}
	all, err := server.PlanRetry.Call(r.Context(), c.Ask, in)
	if err != nil {
		c.Log.Error("console: whether messages could be sent again is not known", zap.Error(err))
	}
	p := againPlan{by: map[messaging.MessageID]server.AgainView{}, unknown: err != nil}
	for _, one := range all {
		p.by[one.Message] = one
	}
	return p
}

// lost reports whether a message surely did not arrive.
func lost(m *server.MessageView) bool {
	return m.State == messaging.StateRejected || m.State == messaging.StateDropped || m.Status == messaging.StatusFailed
}

// Goes reports whether a message could be sent again now.
func (p againPlan) Goes(id messaging.MessageID) bool { return p.by[id].Goes }

// Any reports whether any could.
func (p againPlan) Any() bool {
	for _, one := range p.by {
		if one.Goes {
			return true
		}
	}
	return false
}

// Against is why a message that surely did not arrive could not be sent again; "" where it could, and for every other.
func (p againPlan) Against(m *server.MessageView) string {
	one, planned := p.by[m.ID]
	switch {
	case planned && !one.Goes:
		return one.Why
	case p.unknown && lost(m):
		return "whether it could is not known at present; the daemon's log says why"
	}
	return ""
}

type messagePage struct {
	Message   server.MessageView
	Timeline  []server.Moment
	Decision  *messaging.Decision // that queued it; nil where none is kept
	Unsaid    bool                // it is not kept any more
	EventKind string
	Again     bool   // it could be sent again now
	Against   string // why not, where it surely did not arrive
}

func (c *Console) message(r *http.Request) (page, error) {
	m, err := server.ShowMessage.Call(r.Context(), c.Ask, r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	plan := c.planAgain(r, []server.MessageView{m})
	v := messagePage{Message: m, Timeline: c.timeline(&m), Again: plan.Goes(m.ID), Against: plan.Against(&m)}
	if m.EventID != 0 {
		story, err := server.ShowEvent.Call(r.Context(), c.Ask, m.EventID)
		if err != nil {
			return page{}, err
		}
		v.EventKind, v.Unsaid = story.Event.Event, story.Event.Unsaid
		v.Decision = decisionOn(&m, story.Event.Decisions)
	}
	return page{Name: "message", Title: "Message " + r.PathValue("id"), Here: "/messages", Data: v}, nil
}

// decisionOn is what the message's trigger said when it was queued, or renewed; nil where that is not known.
func decisionOn(m *server.MessageView, all []messaging.Decision) *messaging.Decision {
	for i := range all {
		if d := &all[i]; d.Trigger == m.Trigger && (d.Outcome == messaging.Planned || d.Outcome == messaging.Restarted) {
			return d
		}
	}
	return nil
}

// timeline is the life of a message, with the times in its words marked for the page.
func (c *Console) timeline(m *server.MessageView) []server.Moment {
	return m.Timeline(markTime)
}

// clock is a time in words, in the zone of the config, which it names.
func (c *Console) clock(t time.Time) string {
	zone := c.Zone()
	return exact(t, zone) + " (" + zone.String() + ")"
}
