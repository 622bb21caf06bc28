package simulation

import (
	"cmp"
	"context"
	"fmt"
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

// runNumber is how a reason names a run.
var runNumber = regexp.MustCompile(`\brun ([0-9]+)\b`)

// real is a reason with the numbers that events and runs really have.
func (r *reasoner) real(reason string) string {
	reason = runNumber.ReplaceAllStringFunc(reason, func(text string) string {
		n, err := strconv.ParseInt(runNumber.FindStringSubmatch(text)[1], 10, 64)
		if run := r.realRun[messaging.RunID(n)]; err == nil && run != 0 {
			return "run " + strconv.FormatInt(int64(run), 10)
		}
		return text
	})
	return eventNumber.ReplaceAllStringFunc(reason, func(text string) string {
		n, err := strconv.Atoi(eventNumber.FindStringSubmatch(text)[1])
		if err != nil || n >= len(r.events) || r.events[n] == 0 {
			return text
		}
		return "event " + strconv.FormatInt(int64(r.events[n]), 10)
	})
}

// reasonOf is the reason of the message that would be, or of the decision that there is none.
func (r *reasoner) reasonOf(ctx context.Context, m messageKey, phone messaging.Phone) (string, error) {
	if m.run != 0 {
		return r.reasonOfRow(ctx, m, phone)
	}
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
		one := &story.Messages[i]
		if one.Trigger != m.trigger || one.Step != m.step {
			continue
		}
		if one.EventID != number { // on_repeat: restart
			return r.real(fmt.Sprintf("event %d, of the same key, took its place while it waited", one.EventID)), nil
		}
		return r.real(waitsOr(&one.Message)), nil
	}
	for i := range story.Decisions {
		if d := &story.Decisions[i]; d.Trigger == m.trigger {
			return r.real(d.Reason), nil
		}
	}
	return "no trigger of that name listens", nil
}

// waitsOr is until when a message waits, or why it ended.
func waitsOr(m *messaging.Message) string {
	if m.State == messaging.StateWaiting {
		return "waits until " + m.DueAt.UTC().Format("2006-01-02 15:04 UTC")
	}
	return m.Reason
}

// reasonOfRow is why a row of a list does not go.
func (r *reasoner) reasonOfRow(ctx context.Context, m messageKey, phone messaging.Phone) (string, error) {
	id := r.simulatedRun[m.run]
	if id == 0 {
		return cmp.Or(r.why[m.run], "its run is not begun"), nil
	}
	run, err := r.Store.Run(ctx, id)
	if err != nil {
		return "", err
	}
	const most = 1000 // of the newest lists that a contact is on
	rows, err := r.Store.ListRowsOf(ctx, phone, "", most)
	if err != nil {
		return "", err
	}
	for i := range rows {
		row := &rows[i]
		switch {
		case row.Run != id || row.ListRow.Row != m.row:
		case row.Reason != "":
			return r.real(row.Reason), nil
		case run.Deliver != messaging.DeliverPerMessage:
			return r.real(cmp.Or(row.Part.Reason, run.Why())), nil
		default:
			return r.reasonOfMessage(ctx, &run, row.Number, phone)
		}
	}
	return r.real(run.Why()), nil
}

// reasonOfMessage is why the message of a row does not go.
func (r *reasoner) reasonOfMessage(ctx context.Context, run *messaging.Run, number int64, phone messaging.Phone) (string, error) {
	stories, err := r.Store.PhoneRows(ctx, phone, 1000)
	if err != nil {
		return "", err
	}
	for i := range stories {
		if one := &stories[i]; one.Run.ID == run.ID && one.Number == number {
			return r.real(cmp.Or(waitsOr(&one.Message), run.Why())), nil
		}
	}
	return r.real(cmp.Or(run.Why(), "it was not handed over yet")), nil
}
