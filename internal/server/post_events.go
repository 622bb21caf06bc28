package server

import (
	"context"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// PostedView is what came of events that were posted.
type PostedView struct {
	Events  []PostedEvent `json:"events"`
	Skipped []string      `json:"skipped,omitempty" kind:"text"` // why what was in it is no event
}

// A PostedEvent is one of them.
type PostedEvent struct {
	ID        messaging.EventID    `json:"id"`
	Duplicate bool                 `json:"duplicate,omitempty"` // it was stored before, and nothing came of it now
	Decisions []messaging.Decision `json:"decisions"`
}

// A PostedRequest is what the sender of a connector would post.
type PostedRequest struct {
	Connector string      `json:"-" path:"connector"`
	Header    http.Header `json:"-" header:"*"`
	Body      []byte      `json:"-" body:"raw"`
}

// postEvents takes what a connector's sender would post, from a program that has proven who it is by its token. It goes the way of
// a webhook from there on: the connector's map, the triggers, one commit.
func (a admin) postEvents(ctx context.Context, in PostedRequest) (PostedView, error) {
	rules := a.Rules.Load()
	to := rules.Receivers[in.Connector]
	if to == nil {
		return PostedView{}, preview.NoConnector(in.Connector, rules.Receivers)
	}
	header := in.Header.Clone()
	header.Del("Authorization") // it is ours, and no part of the event
	header.Del("Cookie")
	got, err := to.Receive(connectors.Request{Method: http.MethodPost, Path: "/hooks/" + in.Connector, Header: header, Body: in.Body, Now: a.Now(), Proven: true})
	if no, is := errors.AsType[*connectors.Rejected](err); is {
		return PostedView{}, refusal.Newf(no.Status, "nudgewire connectors show "+in.Connector+" says what it takes", "%s", no.Reason)
	}
	if err != nil {
		return PostedView{}, err
	}
	v := PostedView{Events: []PostedEvent{}}
	for _, s := range got.Skipped {
		v.Skipped = append(v.Skipped, s.Reason)
	}
	if len(got.Events) == 0 {
		return v, nil
	}
	id := listeners.NewRequestID()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), webhooks.AcceptFor) // as with a webhook
	defer cancel()
	plans := enricher.Plans(to, rules.Triggers, got.Events, id, a.Now())
	receipts, err := a.Store.Accept(ctx, plans)
	if err != nil {
		return PostedView{}, err
	}
	a.repeats.Count(ctx, a.Store, to, plans, receipts)
	a.Log.Info("events posted by the API", zap.String("who", access.NameOf(ctx)), zap.String("request", id), zap.String("connector", in.Connector), zap.Int("events", len(receipts)))
	for i := range receipts {
		one := PostedEvent{ID: receipts[i].EventID, Duplicate: receipts[i].Duplicate, Decisions: listed(receipts[i].Decisions)}
		v.Events = append(v.Events, one)
	}
	return v, nil
}
