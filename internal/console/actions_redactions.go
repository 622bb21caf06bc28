package console

import (
	"context"
	"net/http"
	"slices"

	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What a person decides about a sender's request that all that came by it is forgotten. The form names the connector.
var redactionActions = map[string]action{
	"redact":           {server.CarryOutRedaction.Scope, (*Console).confirmRedact, (*Console).redact},
	"refuse-redaction": {server.RefuseRedaction.Scope, (*Console).confirmRefuseRedaction, (*Console).refuseRedaction},
}

// openRedaction is the request that a form is about.
func (c *Console) openRedaction(ctx context.Context, f form) (privacy.RedactionView, error) {
	all, err := server.ListRedactions.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return privacy.RedactionView{}, err
	}
	if i := slices.IndexFunc(all, func(v privacy.RedactionView) bool { return v.Connector == f.Get("connector") }); i >= 0 {
		return all[i], nil
	}
	return privacy.RedactionView{}, &refusal.Error{Status: http.StatusNotFound, Words: "no request to forget all of " + f.Get("connector") + " is open any more"}
}

func (c *Console) confirmRedact(ctx context.Context, f form) (confirmPage, error) {
	v, err := c.openRedaction(ctx, f)
	return confirmPage{
		Title: "Forget all that came by " + v.Connector + "?",
		Words: []string{
			sentence(v.Words()),
			"Forgotten are " + units.Count(v.Events, "event") + " of " + units.Count(v.Contacts, "contact") + ", with the messages that they led to. What waits for them is cancelled.",
			"What is left are counts, and states without phone and words. It takes a moment, and is not taken back.",
		},
		Fields: []field{{Name: "meant", Label: "Yes, forget all of it", Check: "yes", Required: true}}, Yes: "Forget all of " + v.Connector, Danger: true,
	}, err
}

func (c *Console) redact(ctx context.Context, f form) (did, error) {
	if f.Get("meant") != "yes" {
		return did{}, &refusal.Error{Status: http.StatusBadRequest, Words: "the box was not ticked"}
	}
	v, err := server.CarryOutRedaction.Call(ctx, c.Ask, f.Get("connector"))
	return did{words: "All that came by " + v.Connector + " is being forgotten"}, err
}

func (c *Console) confirmRefuseRedaction(ctx context.Context, f form) (confirmPage, error) {
	v, err := c.openRedaction(ctx, f)
	return confirmPage{
		Title: "Keep what came by " + v.Connector + "?",
		Words: []string{sentence(v.Words()), "Nothing is forgotten, and its contacts get their marketing again. The audit has who refused it."},
		Yes:   "Keep what is of " + v.Connector,
	}, err
}

func (c *Console) refuseRedaction(ctx context.Context, f form) (did, error) {
	v, err := server.RefuseRedaction.Call(ctx, c.Ask, f.Get("connector"))
	return did{words: "What came by " + v.Connector + " stays, and marketing to its contacts goes on"}, err
}
