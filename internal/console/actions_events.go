package console

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What can be done about events.
var eventActions = map[string]action{
	"replay": {server.ReplayEvents.Scope, (*Console).confirmReplay, (*Console).replay},
}

func (f form) replayed() preview.ReplayEventsRequest {
	return preview.ReplayEventsRequest{Events: []messaging.EventID{messaging.EventID(f.number("id"))}, Again: f.Get("again") != ""}
}

func (c *Console) confirmReplay(ctx context.Context, f form) (confirmPage, error) {
	in := f.replayed()
	in.DryRun = true
	found, err := server.ReplayEvents.Call(ctx, c.Ask, in)
	if err != nil {
		return confirmPage{}, err
	}
	p := confirmPage{
		Title: fmt.Sprintf("Decide about event %d again?", in.Events[0]), Yes: "Decide again",
		Words:  []string{"It is stored as a new event, and met by the rules of now. A trigger that queued a message for it passes it over, so nobody gets one twice."},
		Fields: []field{{Name: "again", Label: "Also if it was replayed before", Check: "yes"}},
	}
	for _, e := range found.Events {
		if e.Refused != "" {
			p.Words, p.Nothing = append(p.Words, "It is not replayed: "+e.Refused+"."), true
			continue
		}
		for _, d := range e.Would.Decisions {
			p.Words = append(p.Words, sentence(d.Trigger+": "+string(d.Outcome)+": "+d.Reason))
		}
		if len(e.Would.Decisions) == 0 {
			p.Words = append(p.Words, "No trigger listens to it.")
		}
	}
	return p, nil
}

func (c *Console) replay(ctx context.Context, f form) (did, error) {
	done, err := server.ReplayEvents.Call(ctx, c.Ask, f.replayed())
	if err != nil {
		return did{}, err
	}
	e := done.Events[0]
	switch {
	case e.Refused != "":
		return did{words: "Not replayed: " + e.Refused}, nil
	case e.Before != 0:
		return did{words: fmt.Sprintf("It was replayed before, as this event %d", e.Before), place: fmt.Sprintf("/events/%d", e.Before)}, nil
	}
	return did{words: fmt.Sprintf("Event %d was decided about again, as this event %d", e.ID, e.As), place: fmt.Sprintf("/events/%d", e.As)}, nil
}
