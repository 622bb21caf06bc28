package simulation

import (
	"context"
	"regexp"
	"strconv"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A reasoner says why a world does not send what the other does.
type reasoner struct {
	*player
	numbers map[messaging.EventID]messaging.EventID // of real events in the world
}

func newReasoner(p *player) *reasoner { return &reasoner{player: p} }

// eventNumber is how a reason names an event.
var eventNumber = regexp.MustCompile(`\bevent ([0-9]+)\b`)

// real is a reason with the numbers that events really have.
func (r *reasoner) real(reason string) string {
	return eventNumber.ReplaceAllStringFunc(reason, func(text string) string {
		n, err := strconv.Atoi(eventNumber.FindStringSubmatch(text)[1])
		if err != nil || n >= len(r.events) || r.events[n] == 0 {
			return text
		}
		return "event " + strconv.FormatInt(int64(r.events[n]), 10)
	})
}

// reasonOf is the reason of the message that would be, or of the decision that there is none.
func (r *reasoner) reasonOf(ctx context.Context, m messageKey) (string, error) {
	if r.numbers == nil {
		r.numbers = make(map[messaging.EventID]messaging.EventID, len(r.events))
		for number, event := range r.events {
			r.numbers[event] = messaging.EventID(number)
		}
	}
	number, played := r.numbers[m.event]
	if !played {
		return "", nil
	}
	story, err := history.Records{Store: r.Store}.EventStory(ctx, number)
	if err != nil {
		return "", err
	}
	for i := range story.Messages {
		if one := &story.Messages[i]; one.Trigger == m.trigger && one.Step == m.step {
			if one.State == messaging.StateWaiting {
				return "waits until " + one.DueAt.UTC().Format("2006-01-02 15:04 UTC"), nil
			}
			return r.real(one.Reason), nil
		}
	}
	for i := range story.Decisions {
		if d := &story.Decisions[i]; d.Trigger == m.trigger {
			return r.real(d.Reason), nil
		}
	}
	return "no trigger of that name listens", nil
}
