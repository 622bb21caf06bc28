package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/units"
)

// The edited rules of the playground may be played over the last events that came, by a simulation beside the daemon (POST /simulation).

// pastEvents is how many of the newest events are compared.
const pastEvents = 100

const pastPath = "/playground/past"

// A pastPage is what the edited rules would have sent otherwise.
type pastPage struct {
	simulation.Status
	Mistake *refusal.Error // in what was asked
}

// past shows the newest simulation of edited rules.
func (c *Console) past(r *http.Request) (page, error) {
	newest, err := server.ShowSimulation.Call(r.Context(), c.Ask, server.None{})
	return pastPageOf(newest, nil), err
}

func pastPageOf(newest simulation.Status, mistake *refusal.Error) page {
	if !newest.Edited { // of somebody who compares configs
		newest = simulation.Status{State: simulation.None}
	}
	return page{Name: "past", Title: "The last events by edited rules", Here: "/playground", Data: &pastPage{newest, mistake}}
}

// beginPast begins to play the last events by edited rules. A mistake of whoever asks is shown where the result would be.
func (c *Console) beginPast(r *http.Request, text string) (page, error) {
	none := simulation.Status{State: simulation.None}
	if strings.TrimSpace(text) == "" {
		return pastPageOf(none, &refusal.Error{Words: "There is no edited rule.", Hint: "Choose one to edit, and change it."}), nil
	}
	events, err := server.ListEvents.Call(r.Context(), c.Ask, server.ListQuery{Limit: pastEvents})
	if err != nil {
		return page{}, err
	}
	if len(events) == 0 {
		return pastPageOf(none, &refusal.Error{Words: "No event came yet.", Hint: "Try the rule on a sample meanwhile."}), nil
	}
	begun, err := server.Simulate.Call(r.Context(), c.Ask, simulation.Request{Since: events[len(events)-1].ReceivedAt, Edited: text})
	if no := mistake(err); no != nil {
		return pastPageOf(none, no), nil
	}
	return pastPageOf(begun, nil), err
}

// Differs says in words how much is otherwise: "12 messages more, 3 fewer, 1 at another time"; "" for nothing.
func (v *pastPage) Differs() string {
	var sum simulation.Total
	for _, all := range [][]simulation.Total{v.Triggers, v.Jobs} {
		for _, one := range all {
			sum.New, sum.Gone, sum.Moved, sum.Text = sum.New+one.New, sum.Gone+one.Gone, sum.Moved+one.Moved, sum.Text+one.Text
		}
	}
	var out []string
	for _, one := range []struct {
		n     int64
		words string
	}{{sum.New, "more"}, {sum.Gone, "fewer"}, {sum.Moved, "at another time"}, {sum.Text, "with other words"}} {
		switch {
		case one.n > 0 && len(out) == 0:
			out = append(out, units.Count(one.n, "message")+" "+one.words)
		case one.n > 0:
			out = append(out, fmt.Sprintf("%s %s", units.Number(one.n), one.words))
		}
	}
	return strings.Join(out, ", ")
}
