package console

import (
	"net/http"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

type eventsPage struct {
	list
	Rows       []server.EventView
	Connectors []string
	Triggers   []string
	Outcomes   []string
}

func (c *Console) events(r *http.Request) (page, error) {
	l, q, err := c.newList(r, "phone", "connector", "kind", "trigger", "outcome")
	if err != nil {
		return page{}, err
	}
	q.Phone, q.Connector, q.Kind = l.Query.Get("phone"), l.Query.Get("connector"), l.Query.Get("kind")
	q.Trigger, q.Outcome = l.Query.Get("trigger"), l.Query.Get("outcome")
	all := q // that match, and not of this page alone
	all.Limit, all.Before = 0, 0
	l.Export = server.ExportEvents.Address(all)
	newest := func(q server.ListQuery) ([]int64, error) {
		rows, err := server.ListEvents.Call(r.Context(), c.Ask, q)
		return idsOf(rows, eventNumber), err
	}
	if err := l.bounded(&q, newest); err != nil {
		return page{}, err
	}
	rows, err := server.ListEvents.Call(r.Context(), c.Ask, q)
	if err != nil {
		return page{}, err
	}
	rows = cut(&l, r, rows, eventNumber)
	if err := l.further(r, q, newest); err != nil {
		return page{}, err
	}
	d, err := c.daemon(r)
	return page{Name: "events", Title: "Events", Here: "/events", Data: eventsPage{l, rows, d.Connectors, d.Triggers, server.OutcomeWords()}}, err
}

func eventNumber(e *server.EventView) int64 { return int64(e.ID) }

// daemon is what runs: the names that lists are narrowed by are of its config.
func (c *Console) daemon(r *http.Request) (server.DaemonView, error) {
	status, err := server.ShowStatus.Call(r.Context(), c.Ask, server.None{})
	if err != nil || status.Daemon == nil {
		return server.DaemonView{}, err
	}
	return *status.Daemon, nil
}

type rejectedPage struct {
	list
	Rows       []messaging.RejectedRequest
	Connectors []string
}

func (c *Console) rejected(r *http.Request) (page, error) {
	l, q, err := c.newList(r, "connector")
	if err != nil {
		return page{}, err
	}
	q.Connector = l.Query.Get("connector")
	rows, err := server.ListRejectedRequests.Call(r.Context(), c.Ask, q)
	if err != nil {
		return page{}, err
	}
	rows = cut(&l, r, rows, func(e *messaging.RejectedRequest) int64 { return e.ID })
	d, err := c.daemon(r)
	return page{Name: "rejected", Title: "Requests that were not taken", Here: "/events", Data: rejectedPage{l, rows, d.Connectors}}, err
}

func (c *Console) event(r *http.Request) (page, error) {
	id, err := number(r, "an event")
	if err != nil {
		return page{}, err
	}
	story, err := server.ShowEvent.Call(r.Context(), c.Ask, messaging.EventID(id))
	return page{Name: "event", Title: "Event " + r.PathValue("id"), Here: "/events", Data: story}, err
}
