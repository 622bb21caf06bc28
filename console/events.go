package console

import (
	"net/http"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
)

type eventsPage struct {
	list
	Rows       []server.EventView
	Connectors []string
}

func (c *Console) events(r *http.Request) (page, error) {
	l, q, err := c.newList(r, "phone", "connector", "kind")
	if err != nil {
		return page{}, err
	}
	q.Phone, q.Connector, q.Kind = l.Query.Get("phone"), l.Query.Get("connector"), l.Query.Get("kind")
	l.Export = exported("events", q)
	newest := func(q server.ListQuery) ([]int64, error) {
		rows, err := c.Ask.Events(r.Context(), q)
		return idsOf(rows, eventNumber), err
	}
	if err := l.bounded(&q, newest); err != nil {
		return page{}, err
	}
	rows, err := c.Ask.Events(r.Context(), q)
	if err != nil {
		return page{}, err
	}
	rows = cut(&l, r, rows, eventNumber)
	if err := l.further(r, q, newest); err != nil {
		return page{}, err
	}
	names, err := c.connectors(r)
	return page{Name: "events", Title: "Events", Here: "/events", Data: eventsPage{l, rows, names}}, err
}

func eventNumber(e *server.EventView) int64 { return int64(e.ID) }

// connectors are the names of those of the config.
func (c *Console) connectors(r *http.Request) ([]string, error) {
	status, err := c.Ask.Status(r.Context())
	if err != nil || status.Daemon == nil {
		return nil, err
	}
	return status.Daemon.Connectors, nil
}

type rejectedPage struct {
	list
	Rows       []server.RejectedRequestView
	Connectors []string
}

func (c *Console) rejected(r *http.Request) (page, error) {
	l, q, err := c.newList(r, "connector")
	if err != nil {
		return page{}, err
	}
	q.Connector = l.Query.Get("connector")
	rows, err := c.Ask.RejectedRequests(r.Context(), q)
	if err != nil {
		return page{}, err
	}
	rows = cut(&l, r, rows, func(e *server.RejectedRequestView) int64 { return e.ID })
	names, err := c.connectors(r)
	return page{Name: "rejected", Title: "Requests that were not taken", Here: "/events", Data: rejectedPage{l, rows, names}}, err
}

func (c *Console) event(r *http.Request) (page, error) {
	id, err := number(r, "an event")
	if err != nil {
		return page{}, err
	}
	story, err := c.Ask.Event(r.Context(), nudgewire.EventID(id))
	return page{Name: "event", Title: "Event " + r.PathValue("id"), Here: "/events", Data: story}, err
}
