package connectors

import (
	"net/http"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// NeverCarries reports whether no event of a kind ever has a field, such as order.total or cart.items.image: nothing of the connector's map,
// which is all that fills events, leads to it. It is false where nobody can know: where somebody chooses the shape of the requests, and of a
// kind that the preset does not know.
func (c *Connector) NeverCarries(kind, field string) bool {
	if c.config.Open || !c.Knows(kind) || kind == mapping.ReceivedKind && field == "message.says" {
		return false
	}
	topics, all := c.topicsOf(kind)
	for _, source := range mapping.FilledFrom(field) {
		if c.mapper.MayFill(source, kind, topics, all) {
			return false
		}
	}
	return mapping.IsField(field)
}

// Carries are the fields that the connector's map may fill of an event of a kind.
func (c *Connector) Carries(kind string) (fields []string) {
	for _, t := range mapping.MapTargets() {
		if !c.NeverCarries(kind, t.Name) {
			fields = append(fields, t.Name)
		}
	}
	return fields
}

// A SampleEvent is an event that one of the connector's samples becomes.
type SampleEvent struct {
	Sample string // its name
	messaging.Event
}

// SampleEvents are the events of a kind among the samples, but for those that a look-up would complete: nobody knows what they will have.
func (c *Connector) SampleEvents(kind string) (events []SampleEvent) {
	for _, s := range c.Samples() {
		if s.Kind != kind {
			continue
		}
		r := Request{Method: s.Method, Header: http.Header{}, Body: s.Body, Now: sampleTime}
		for name, value := range s.Header {
			r.Header.Set(name, value)
		}
		got, err := c.take(&r, Received{})
		if err != nil {
			continue // of a body that is not taken nothing is known
		}
		for i := range got.Events {
			e := &got.Events[i]
			if l, _, err := c.next(e); e.Kind == kind && l == nil && err == nil {
				e.ReceivedAt = sampleTime
				events = append(events, SampleEvent{s.Name, *e})
			}
		}
	}
	return events
}
