package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/store"
)

// A HaltView is something that a person stopped.
type HaltView struct {
	Scope  store.HaltScope `json:"scope"`
	Name   string          `json:"name,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Since  time.Time       `json:"since"`
}

// What names what is halted: "everything", `trigger "reminder"`.
func (v HaltView) What() string { return store.Halt{Scope: v.Scope, Name: v.Name}.What() }

// Words are the halt for people.
func (v HaltView) Words() string {
	words := fmt.Sprintf("%s, since %s UTC", v.What(), v.Since.UTC().Format(time.DateTime))
	if v.Reason != "" {
		words += ": " + v.Reason
	}
	return words
}

// A HaltRequest names what to halt or to resume.
type HaltRequest struct {
	Scope  store.HaltScope `json:"scope"`
	Name   string          `json:"name,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

func (a admin) haltRoutes(route func(string, func(*http.Request) (any, error))) {
	if a.Daemon != nil {
		route("POST /v1/halt", a.halt)
		route("POST /v1/resume", a.resume)
	}
}

func (a admin) haltViews(ctx context.Context) ([]HaltView, error) {
	halts, err := a.Store.Halts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]HaltView, len(halts))
	for i, h := range halts {
		out[i] = haltView(h)
	}
	return out, nil
}

func haltView(h store.Halt) HaltView {
	return HaltView{Scope: h.Scope, Name: h.Name, Reason: h.Reason, Since: h.At.UTC()}
}

// namesOf are the names that the config has in a scope.
func (a admin) namesOf(scope store.HaltScope) (names []string) {
	switch scope {
	case store.HaltTrigger:
		return a.Daemon.View().Triggers
	case store.HaltTemplate:
		return a.Daemon.View().Templates
	case store.HaltJob:
		if a.Jobs != nil {
			for _, j := range a.Jobs.Jobs(a.Now()) {
				names = append(names, j.Name)
			}
		}
	}
	return names
}

// known refuses to halt what nobody knows: a misspelt name would stop nothing, and whoever
// typed it in a hurry would believe that it had. A name that has left the config is known while
// anything of it may still be sent.
func (a admin) known(ctx context.Context, in HaltRequest) error {
	if in.Scope == store.HaltAll {
		return nil
	}
	names := a.namesOf(in.Scope)
	if slices.Contains(names, in.Name) {
		return nil
	}
	halts, err := a.Store.Halts(ctx)
	if err != nil {
		return err
	}
	for _, h := range halts {
		if h.Scope == in.Scope && h.Name == in.Name {
			return nil
		}
	}
	if unsent, err := a.Store.Unsent(ctx, in.Scope, in.Name); err != nil || unsent {
		return err
	}
	return refusef(http.StatusNotFound, a.nearestTo(in, names), "no %s %q in the config, and nothing of that name waits to be sent; nothing was halted", in.Scope, in.Name)
}

// nearestTo is the hint for a name that is not there.
func (a admin) nearestTo(in HaltRequest, names []string) string {
	for _, other := range store.HaltScopes {
		if other != in.Scope && slices.Contains(a.namesOf(other), in.Name) {
			return fmt.Sprintf("there is a %s of that name: nudgewire halt %s %s", other, other, in.Name)
		}
	}
	if near := nearest.Of(in.Name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(names) == 0 {
		return fmt.Sprintf("the config has no %s by name", in.Scope)
	}
	return "there are " + strings.Join(names, ", ")
}

// notHalted refuses to resume what goes on anyway, and says what does not.
func (a admin) notHalted(ctx context.Context, in HaltRequest) error {
	halts, err := a.Store.Halts(ctx)
	if err != nil {
		return err
	}
	hint := "nothing is halted"
	if len(halts) > 0 {
		var all, names []string
		for _, h := range halts {
			all = append(all, h.What())
			if h.Scope == in.Scope && h.Name != "" {
				names = append(names, h.Name)
			}
		}
		hint = "halted: " + strings.Join(all, ", ")
		if near := nearest.Of(in.Name, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	}
	return refusef(http.StatusNotFound, hint, "%s is not halted", HaltView{Scope: in.Scope, Name: in.Name}.What())
}

// haltRequest reads what to halt or to resume.
func haltRequest(r *http.Request) (in HaltRequest, err error) {
	if err := body(r, &in); err != nil {
		return in, err
	}
	named := in.Name != ""
	switch in.Scope {
	case store.HaltAll:
		if named {
			return in, refusef(http.StatusBadRequest, "", "all takes no name")
		}
	case store.HaltTrigger, store.HaltTemplate, store.HaltJob:
		if !named {
			return in, refusef(http.StatusBadRequest, "", "which %s?", in.Scope)
		}
	default:
		return in, refusef(http.StatusBadRequest, "", "scope %q: want all, trigger, template or job", in.Scope)
	}
	return in, nil
}

func (a admin) halt(r *http.Request) (any, error) {
	in, err := haltRequest(r)
	if err != nil {
		return nil, err
	}
	if err := a.known(r.Context(), in); err != nil {
		return nil, err
	}
	if err := a.Store.Halt(r.Context(), store.Halt{Scope: in.Scope, Name: in.Name, Reason: in.Reason, At: a.Now()}); err != nil {
		return nil, err
	}
	return a.haltViews(r.Context())
}

func (a admin) resume(r *http.Request) (any, error) {
	in, err := haltRequest(r)
	if err != nil {
		return nil, err
	}
	err = a.Store.Resume(r.Context(), in.Scope, in.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, a.notHalted(r.Context(), in)
	}
	if err != nil {
		return nil, err
	}
	return a.haltViews(r.Context())
}

// Halt stops something, and gives all that is halted then.
func (c *Client) Halt(ctx context.Context, r HaltRequest) (v []HaltView, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/halt", nil, r, &v)
}

// Resume lets something go on, and gives all that is still halted.
func (c *Client) Resume(ctx context.Context, r HaltRequest) (v []HaltView, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/resume", nil, r, &v)
}
