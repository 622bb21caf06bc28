package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A RedactionView is a sender's request that all that came by a connector is forgotten. Nobody carries it out but a person.
type RedactionView struct {
	Connector string            `json:"connector" kind:"ours"`
	Event     messaging.EventID `json:"event"` // that asked first
	Since     time.Time         `json:"since"`
	Contacts  int64             `json:"contacts"` // different phones, and events, that came by it until the newest request
	Events    int64             `json:"events"`
}

// Words is the request in words.
func (v *RedactionView) Words() string {
	return fmt.Sprintf("%s asks since %s that all that came by it is forgotten, %s of %s (event %d): a person has to decide, and its contacts get no marketing meanwhile",
		v.Connector, v.Since.Format("2006-01-02 15:04 UTC"), units.Count(v.Events, "event"), units.Count(v.Contacts, "contact"), v.Event)
}

func redactionView(r *store.Redaction) RedactionView {
	return RedactionView{Connector: r.Connector, Event: r.Event, Since: r.At.UTC(), Contacts: r.Contacts, Events: r.Events}
}

// openRedactions are the requests that wait for a person.
func (a admin) openRedactions(ctx context.Context) (out []RedactionView, err error) {
	all, err := a.Store.Redactions(ctx)
	for i := range all {
		out = append(out, redactionView(&all[i]))
	}
	return out, err
}

func (a admin) redactions(r *http.Request) (any, error) {
	out, err := a.openRedactions(r.Context())
	if out == nil {
		out = []RedactionView{}
	}
	return out, err
}

// decideRedaction carries out the open request of a connector, or refuses it. What waited for that is asked about again at once.
func (a admin) decideRedaction(carryOut bool) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		connector := r.PathValue("connector")
		who, _ := WhoOf(r.Context())
		order := store.AuditEntry{At: a.Now(), Who: noPhone(who.Name), Via: string(who.From), Action: "refuse to forget", Subject: "connector " + noPhone(connector)}
		if carryOut {
			order.Action = "forget"
		}
		done, err := privacy.Records{Store: a.Store}.DecideRedaction(r.Context(), connector, carryOut, order)
		if errors.Is(err, messaging.ErrNotFound) {
			return nil, rejectf(http.StatusNotFound, `"nudgewire contacts redactions" shows those that are open`, "no request to forget all that came by %q is open", connector)
		}
		if err != nil {
			return nil, err
		}
		if _, err := a.Store.ReviewDeferred(r.Context()); err != nil {
			return nil, err
		}
		return redactionView(&done), nil
	}
}

// Redactions are the connectors all of which is asked to be forgotten.
func (c *Client) Redactions(ctx context.Context) ([]RedactionView, error) {
	return get[[]RedactionView](ctx, c, "/redactions", nil)
}

// DecideRedaction has all forgotten that came by a connector, or refuses it.
func (c *Client) DecideRedaction(ctx context.Context, connector string, carryOut bool) (RedactionView, error) {
	do := "refuse"
	if carryOut {
		do = "do"
	}
	return post[RedactionView](ctx, c, "/redactions/"+url.PathEscape(connector)+"/"+do, struct{}{})
}
