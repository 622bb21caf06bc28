package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

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
		out[i] = HaltView{Scope: h.Scope, Name: h.Name, Reason: h.Reason, Since: h.At.UTC()}
	}
	return out, nil
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
		what := HaltView{Scope: in.Scope, Name: in.Name}.What()
		return nil, refusef(http.StatusNotFound, `"nudgewire status" shows what is`, "%s is not halted", what)
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
