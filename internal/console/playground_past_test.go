package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/simulation"
)

// Edited rules are played over the last events from the page on which they are edited, and what nobody can play is said beside them.
func TestEditedRulesArePlayedOverTheLastEvents(t *testing.T) {
	since := time.Date(2026, 11, 24, 11, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		text   string
		events []server.EventView
		answer simulation.Status
		err    error
		asks   bool
		sees   []string
	}{
		"nothing is edited": {text: " \n", events: []server.EventView{{ReceivedAt: since}}, sees: []string{`role="alert"`, "There is no edited rule."}},
		"nothing came yet":  {text: "triggers: {}", sees: []string{`role="alert"`, "No event came yet."}},
		"a mistake": {
			text: "triggers: [", events: []server.EventView{{ReceivedAt: since}}, err: &refusal.Error{Status: http.StatusBadRequest, Words: "the triggers cannot be used", Hint: "mend line 1"}, asks: true,
			sees: []string{`role="alert"`, "The triggers cannot be used. Mend line 1."},
		},
		"another one runs": {
			text: "triggers: {}", events: []server.EventView{{ReceivedAt: since}}, err: &refusal.Error{Status: http.StatusConflict, Words: "a simulation is running already", Hint: "wait for it, or stop it"}, asks: true,
			sees: []string{`role="alert"`, "A simulation is running already."},
		},
		"it runs": {
			text: "triggers: {}", events: []server.EventView{{ReceivedAt: since.Add(time.Hour)}, {ReceivedAt: since}}, asks: true,
			answer: simulation.Status{State: simulation.Running, Edited: true, Events: 30, Of: 200},
			sees:   []string{`hx-get="/playground/past"`, "30 of about 200 events", `action="/do/stop-simulation"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			r := newRoom(t, false, answers{
				"GET /connectors": func(*http.Request) (any, error) { return nil, nil },
				"GET /events":     func(*http.Request) (any, error) { return tt.events, nil },
				"POST /simulation": func(req *http.Request) (any, error) {
					asked++
					var in simulation.Request
					if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
						return nil, err
					}
					if in.Edited != tt.text || !in.Since.Equal(since) {
						t.Errorf("asked for %+v", in)
					}
					return tt.answer, tt.err
				},
			})
			_, body := r.do(t, http.MethodPost, "/playground", url.Values{"do": {"past"}, "rules": {tt.text}}, r.signIn(t))
			for _, want := range tt.sees {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in %s", want, body)
				}
			}
			if (asked > 0) != tt.asks {
				t.Errorf("a simulation was asked for %d times", asked)
			}
		})
	}
}

// What came of it is a sentence, and who it is.
func TestWhatEditedRulesWouldDoIsASentence(t *testing.T) {
	done := func(all ...simulation.Total) simulation.Status {
		return simulation.Status{State: simulation.Done, Edited: true, Since: time.Date(2026, 11, 24, 11, 0, 0, 0, time.UTC), Triggers: all[:1], Jobs: all[1:]}
	}
	both := done(simulation.Total{New: 11, Gone: 3}, simulation.Total{New: 1, Moved: 2, Text: 1})
	both.Changes = []simulation.Change{{Phone: "447700900102", Trigger: "cart", Event: 7, Kind: simulation.New, Is: &simulation.Version{Template: "hello"}}}
	for _, tt := range []struct {
		newest simulation.Status
		sees   []string
	}{
		{both, []string{"12 messages more, 3 fewer, 2 at another time, 1 with other words, since", "+447700900102", `href="/events/7"`}},
		{done(simulation.Total{Gone: 1}), []string{"1 message fewer, since"}},
		{done(simulation.Total{Was: 5, Is: 5}), []string{"The same messages to the same people, since"}},
		{simulation.Status{State: simulation.Failed, Edited: true, Error: "the disk is full"}, []string{"not played to their end: the disk is full"}},
		{simulation.Status{State: simulation.Stopped, Edited: true}, []string{"It was stopped before its end."}},
		{simulation.Status{State: simulation.Done, Is: "b"}, []string{"Rules that were edited in the"}}, // of two configs
	} {
		r := newRoom(t, false, answers{"GET /simulation": func(*http.Request) (any, error) { return tt.newest, nil }})
		_, body := r.do(t, http.MethodGet, "/playground/past", nil, r.signIn(t))
		for _, want := range tt.sees {
			if !strings.Contains(body, want) {
				t.Errorf("no %s in %s", want, body)
			}
		}
	}
}
