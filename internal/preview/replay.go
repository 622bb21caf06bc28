package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// A replay decides again about a stored event, by the rules of now. It is stored as a new event whose dedupe key names the one that it repeats:
// so no event is replayed twice, by whomever and at however many nodes. A trigger that queued a message because of the event, or of an earlier
// replay of it, queues no other. What was decided is never changed afterwards, so there is nothing to race with.

// ReplayEventsRequest names events to decide about again: by their numbers, or all that match.
type ReplayEventsRequest struct {
	Events    []messaging.EventID `json:"events,omitempty"`
	Since     time.Time           `json:"since,omitzero"`
	Connector string              `json:"connector,omitempty"`
	Kind      string              `json:"kind,omitempty"`
	Again     bool                `json:"again,omitempty"`   // also what was replayed before
	DryRun    bool                `json:"dry_run,omitempty"` // say what would be, and store nothing
}

// ReplayedEvents is what came of a replay, the oldest event first.
type ReplayedEvents struct {
	Count  int64           `json:"count"` // events that were stored anew, or would be
	Events []ReplayedEvent `json:"events"`
}

// A ReplayedEvent is one event that was to be decided about again.
type ReplayedEvent struct {
	ID        messaging.EventID    `json:"id"`
	As        messaging.EventID    `json:"as,omitempty"`                  // the new event
	Before    messaging.EventID    `json:"before,omitempty"`              // the event as which it was replayed before; nothing was done
	Refused   string               `json:"refused,omitempty" kind:"text"` // why it is not replayed
	Decisions []messaging.Decision `json:"decisions,omitempty"`           // of the new event
	Would     *TriedEvent          `json:"would,omitempty"`               // with dry_run
}

const (
	// maxReplayed is how many events one request may name or match.
	maxReplayed = 1000
	// replayable is how long ago an event may have arrived. That it was replayed is remembered as long.
	replayable = 400 * 24 * time.Hour
	// maxReplays is how often one event may be replayed.
	maxReplays = 20
)

func (p Preview) ReplayEvents(ctx context.Context, in ReplayEventsRequest) (ReplayedEvents, error) {
	ids, err := p.toReplay(ctx, &in)
	if err != nil {
		return ReplayedEvents{}, err
	}
	out := ReplayedEvents{Events: []ReplayedEvent{}}
	for _, id := range ids {
		one, err := p.replayOne(ctx, id, &in)
		if err != nil {
			return ReplayedEvents{}, err // what was replayed until then is; the same order goes on behind it
		}
		if one.As != 0 || one.Would != nil {
			out.Count++
		}
		out.Events = append(out.Events, one)
	}
	if !in.DryRun {
		p.Log.Info("events replayed", zap.String("who", access.NameOf(ctx)), zap.Int64("events", out.Count))
	}
	return out, nil
}

// toReplay are the numbers of the events that a request means, the oldest first.
func (p Preview) toReplay(ctx context.Context, in *ReplayEventsRequest) (ids []messaging.EventID, err error) {
	narrowed := !in.Since.IsZero() || in.Connector != "" || in.Kind != ""
	switch {
	case len(in.Events) > 0 && narrowed:
		return nil, refusal.Fieldf("events", "", "numbers of events and filters do not go together")
	case len(in.Events) > maxReplayed:
		return nil, refusal.Fieldf("events", "", "at most %d events are replayed at a time", maxReplayed)
	case len(in.Events) > 0:
		ids = slices.Clone(in.Events)
		slices.Sort(ids)
		return slices.Compact(ids), nil
	case in.Since.IsZero():
		return nil, refusal.Fieldf("since", "say from when on, such as --since 2h", "that would replay every event that there is")
	}
	rows, err := p.Store.Events(ctx, store.EventFilter{Since: in.Since, Connector: in.Connector, Kind: in.Kind, Limit: maxReplayed + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) > maxReplayed {
		return nil, refusal.Fieldf("since", "say a later time, or a connector and a kind", "more than %d events match", maxReplayed)
	}
	for i := range rows {
		if !rows[i].Replays() && !rows[i].ByHand() {
			ids = append(ids, rows[i].ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// replayOne replays an event, or says why not. With again it goes on from the newest replay of it.
func (p Preview) replayOne(ctx context.Context, id messaging.EventID, in *ReplayEventsRequest) (out ReplayedEvent, err error) {
	out.ID = id
	queued := map[string]string{}
	for at, times := id, 0; times < maxReplays; times++ {
		s, err := history.Records{Store: p.Store}.EventStory(ctx, at)
		if errors.Is(err, messaging.ErrNotFound) {
			out.Refused = "there is no such event"
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if out.Refused = p.notReplayable(&s); out.Refused == "" && times == 0 && s.Replays() {
			out.Refused = "it is a replay of event " + strings.TrimPrefix(s.DedupeKey, messaging.ReplayKey) + ": replay that one again" // which knows of all that was queued
		}
		if out.Refused != "" {
			return out, nil
		}
		for i := range s.Decisions {
			switch d := &s.Decisions[i]; {
			case d.MessageID != 0 && (d.Outcome == messaging.Planned || d.Outcome == messaging.Restarted):
				queued[d.Trigger] = fmt.Sprintf("message %d was queued for it by event %d, and none is queued twice", d.MessageID, at)
			case d.Outcome == messaging.Cancelled:
				queued[d.Trigger] = fmt.Sprintf("it was cancelled before it came (event %d), and stays so", at)
			}
		}
		plan, to := p.replayPlan(&s, queued)
		if in.DryRun {
			would, err := to.describePlan(ctx, &plan, false)
			if out.Before = would.Repeats; err != nil {
				return out, err
			}
			if out.Before == 0 {
				out.Would = &would
				return out, nil
			}
		} else if err := p.replayNow(ctx, &plan, &out); err != nil || out.As != 0 {
			return out, err
		}
		if !in.Again {
			return out, nil
		}
		at, out.Before = out.Before, 0
	}
	out.Refused = fmt.Sprintf("it was replayed %d times already", maxReplays)
	return out, nil
}

// replayNow stores a plan, or says which event was stored before in its place.
func (p Preview) replayNow(ctx context.Context, plan *messaging.Plan, out *ReplayedEvent) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), webhooks.AcceptFor)
	defer cancel()
	receipts, err := p.Store.Accept(ctx, []messaging.Plan{*plan})
	if err != nil {
		return err
	}
	got := &receipts[0]
	if got.Duplicate {
		out.Before = got.EventID
		return nil
	}
	out.As = got.EventID
	out.Decisions = got.Decisions
	return nil
}

// notReplayable is why an event is not decided about again; "" for one that may be. A replay of it is one, where its event is.
func (p Preview) notReplayable(s *history.Story) string {
	e := &s.Event
	switch {
	case e.Forgotten, e.Cleared, len(e.Payload) == 0:
		return "what it carried is not kept any more"
	case s.Unsaid:
		return "what was decided about it is not kept any more, so nobody knows what was queued for it"
	case s.Lookup != nil:
		return "it waits to be looked up, and is decided about then"
	case p.Now().Sub(e.ReceivedAt) > replayable:
		return "it is older than 400 days"
	case e.ByHand():
		return "a person asked for that message: nudgewire send sends another"
	case slices.Contains([]string{"contact.redacted", "shop.redacted", "contact.data_requested"}, e.Kind):
		return "what asks for data to be forgotten or shown is carried out once"
	}
	return ""
}

// replayPlan is what the rules of now make of a stored event, but for those in queued, which pass it over. Nothing is looked up again, and
// what it says of its contact's wishes is not carried out again: they may have changed since.
func (p Preview) replayPlan(s *history.Story, queued map[string]string) (messaging.Plan, *Trial) {
	rules, _ := p.Rules("")
	now := p.Now().UTC()
	e := s.Event
	e.OccurredAt = e.Time() // what came since is newer
	e.DedupeKey, e.ContentKey = messaging.ReplayKey+strconv.FormatInt(int64(e.ID), 10), ""
	e.ID, e.ReceivedAt, e.Request = 0, now, listeners.NewRequestID()
	plan := rules.Triggers.Match(&e, now)
	plan.Window = replayable
	for i := range plan.Proposals {
		w := &plan.Proposals[i]
		if why := queued[w.Decision.Trigger]; why != "" && (w.Decision.Outcome == messaging.Planned || w.Decision.Outcome == messaging.Shadowed) {
			w.Decision.Outcome, w.Decision.Reason, w.Message, w.Steps = messaging.Skipped, why, messaging.Message{}, nil
		}
	}
	return plan, &rules
}
