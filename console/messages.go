package console

import (
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
)

type messagesPage struct {
	list
	Rows     []server.MessageView
	States   []string
	Triggers []string
	Accounts []string
}

func (c *Console) messages(r *http.Request) (page, error) {
	l, q, err := c.newList(r, "phone", "state", "trigger", "account")
	if err != nil {
		return page{}, err
	}
	q.Phone, q.State, q.Trigger, q.Account = l.Query.Get("phone"), l.Query.Get("state"), l.Query.Get("trigger"), l.Query.Get("account")
	rows, err := c.Ask.Messages(r.Context(), q)
	if err != nil {
		return page{}, err
	}
	v := messagesPage{list: l, States: server.StateWords()}
	v.Rows = cut(&v.list, r, rows, func(m *server.MessageView) int64 { return int64(m.ID) })
	status, err := c.Ask.Status(r.Context())
	if err != nil {
		return page{}, err
	}
	jobs, err := c.Ask.Jobs(r.Context())
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

type messagePage struct {
	Message   server.MessageView
	Timeline  []server.Moment
	Decision  *server.DecisionView // that queued it; nil where none is kept
	Unsaid    bool                 // it is not kept any more
	EventKind string
}

func (c *Console) message(r *http.Request) (page, error) {
	m, err := c.Ask.Message(r.Context(), r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	v := messagePage{Message: m, Timeline: c.timeline(&m)}
	if m.EventID != 0 {
		story, err := c.Ask.Event(r.Context(), m.EventID)
		if err != nil {
			return page{}, err
		}
		v.EventKind, v.Unsaid = story.Event.Event, story.Event.Unsaid
		v.Decision = decisionOn(&m, story.Event.Decisions)
	}
	return page{Name: "message", Title: "Message " + r.PathValue("id"), Here: "/messages", Data: v}, nil
}

// decisionOn is what the message's trigger said when it was queued, or renewed; nil where that is not known.
func decisionOn(m *server.MessageView, all []server.DecisionView) *server.DecisionView {
	for i := range all {
		if d := &all[i]; d.Trigger == m.Trigger && (d.Outcome == nudgewire.Planned || d.Outcome == nudgewire.Restarted) {
			return d
		}
	}
	return nil
}

// timeline is the life of a message, with the times in its words in the zone of the page.
func (c *Console) timeline(m *server.MessageView) []server.Moment {
	zone := c.Zone()
	return m.Timeline(func(t time.Time) string { return t.In(zone).Format("2 Jan 2006, 15:04:05") })
}
