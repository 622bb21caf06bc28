package history

import (
	"context"
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A Story is one event with all that came of it: what each trigger said, and the messages
// that were queued or renewed because of it, with their attempts and messages. An event that
// no trigger listens to is a story without decisions.
type Story struct {
	store.EventRow
	Messages []store.MessageStory
}

// Story tells what happened to a phone: its newest events, at most limit (0: 50), the newest
// last. A message that later events renewed is told with each of them.
func (s Records) Story(ctx context.Context, phone messaging.Phone, limit int) ([]Story, error) {
	rows, err := s.Events(ctx, store.EventFilter{Phone: phone, Limit: limit})
	for i := range rows {
		if err == nil {
			rows[i].Request, err = s.EventRequest(ctx, rows[i].ID)
		}
	}
	if err == nil {
		slices.Reverse(rows)
		var out []Story
		if out, err = s.readStories(ctx, rows); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("story of %s: %w", phone.Masked(), err)
}

// EventStory is the story of one event, with its payload. ErrNotFound when there is none.
func (s Records) EventStory(ctx context.Context, id messaging.EventID) (Story, error) {
	e, err := s.Event(ctx, id)
	if err != nil {
		return Story{}, err
	}
	rows := []store.EventRow{{Event: e}}
	if err := s.AddDecisions(ctx, rows); err != nil {
		return Story{}, fmt.Errorf("event %d: %w", id, err)
	}
	out, err := s.readStories(ctx, rows)
	if err != nil {
		return Story{}, fmt.Errorf("event %d: %w", id, err)
	}
	return out[0], nil
}

// readStories adds to each event the messages that its decisions name.
func (s Records) readStories(ctx context.Context, rows []store.EventRow) ([]Story, error) {
	out := make([]Story, len(rows))
	var ids []messaging.MessageID
	for i := range rows {
		out[i].EventRow = rows[i]
		ids = append(ids, store.QueuedBy(rows[i].Decisions)...)
	}
	ids, err := s.WithRetries(ctx, ids)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	found, err := s.StoriesByID(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	for i := range out {
		queued, err := s.WithRetries(ctx, store.QueuedBy(out[i].Decisions))
		if err != nil {
			return nil, err
		}
		for _, id := range queued {
			at := slices.IndexFunc(found, func(d store.MessageStory) bool { return d.ID == id })
			if at >= 0 {
				out[i].Messages = append(out[i].Messages, found[at])
			}
		}
	}
	return out, nil
}
