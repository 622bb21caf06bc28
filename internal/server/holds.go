package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A HaltRequest names what to halt or to resume.
type HaltRequest struct {
	Scope  messaging.HoldScope `json:"scope"`
	Name   string              `json:"name,omitempty"`
	Reason string              `json:"reason,omitempty"`

	// Reviewed ends the review of data that was damaged or restored. LostAt is when whoever had the data before was lost; zero where that is
	// not known.
	Reviewed bool      `json:"reviewed,omitempty"`
	LostAt   time.Time `json:"lost_at,omitzero"`
}

// hold is what a person halts or resumes with it.
func (in *HaltRequest) hold() messaging.Hold {
	return messaging.Hold{Scope: in.Scope, Name: in.Name, Kind: messaging.HoldHalt, Reason: in.Reason}
}

// PausedRuns are the runs that are paused, each as what holds it; since when is told by holds that are stored.
func PausedRuns(ctx context.Context, s *store.Store, holds []messaging.Hold) (out []messaging.Hold, err error) {
	open, err := s.OpenRuns(ctx, "")
	for _, r := range open {
		if r.State != messaging.RunPaused {
			continue
		}
		h := messaging.RunHold(r.ID, r.Why())
		h.Job = r.Job
		if i := slices.IndexFunc(holds, h.Same); i >= 0 {
			h.At = holds[i].At
		}
		out = append(out, h)
	}
	return out, err
}

// holds are what is held, with how much waits where that is told, and then the runs that are paused.
func (a admin) holds(ctx context.Context) ([]messaging.Hold, error) {
	stored, err := a.Store.Holds(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]messaging.Hold, 0, len(stored))
	for _, h := range stored {
		switch h.Kind {
		case messaging.HoldRun:
			continue // of one that was cancelled, too, until nothing of it is under way
		case messaging.HoldGone:
			h.Waiting, err = a.Store.WaitingFor(ctx, h.Name)
		case messaging.HoldMode, messaging.HoldReleased:
			if h.Waiting, err = a.Store.WaitingOf(ctx, h.Name); h.Waiting == 0 && err == nil {
				continue // what was in hand then may come back
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	paused, err := PausedRuns(ctx, a.Store, stored)
	return append(out, paused...), err
}

// namesOf are the names that the config has in a scope.
func (a admin) namesOf(scope messaging.HoldScope) (names []string) {
	switch scope {
	case messaging.ScopeTrigger:
		return a.Daemon.View().Triggers
	case messaging.ScopeTemplate:
		return a.Daemon.View().Templates
	case messaging.ScopeJob:
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
	if in.Scope == messaging.ScopeAll {
		return nil
	}
	names := a.namesOf(in.Scope)
	if slices.Contains(names, in.Name) {
		return nil
	}
	if held := a.Store.HoldsOf(func(h messaging.Hold) bool { return h.Scope == in.Scope && h.Name == in.Name }); len(held) > 0 {
		return nil
	}
	if unsent, err := a.Store.Unsent(ctx, in.Scope, in.Name); err != nil || unsent {
		return err
	}
	return refusal.Newf(http.StatusNotFound, a.nearestTo(in, names), "no %s %q in the config, and nothing of that name waits to be sent; nothing was halted", in.Scope, in.Name)
}

// nearestTo is the hint for a name that is not there.
func (a admin) nearestTo(in HaltRequest, names []string) string {
	for _, other := range messaging.HaltScopes {
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

// notHalted refuses to resume what goes on anyway, and says what does not and how it would.
func (a admin) notHalted(ctx context.Context, in HaltRequest) error {
	all, err := a.holds(ctx)
	if err != nil {
		return err
	}
	var held, names []string
	halted := false
	for _, h := range all {
		if h.Kind == messaging.HoldReleased {
			continue
		}
		halted = halted || h.State() == "halted"
		held = append(held, fmt.Sprintf("%s is %s, and goes on with: %s", h.What(), h.State(), h.GoesOn()))
		switch {
		case h.Kind == messaging.HoldService && in.Scope == messaging.ScopeTemplate:
			names = append(names, h.Content())
		case h.Scope == in.Scope && h.Name != "":
			names = append(names, h.Name)
		}
	}
	words := in.hold().What() + " is not halted"
	hint := strings.Join(held, "; ")
	near := nearest.Of(in.Name, names)
	switch {
	case in.Reviewed:
		words = "nothing is to be reviewed"
	case in.Scope == messaging.ScopeAll && halted:
		words = "there is no halt of everything"
	case in.Scope == messaging.ScopeAll:
		words = "nothing is halted"
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case len(all) == 0:
		hint = "nothing is halted"
	}
	return refusal.Newf(http.StatusNotFound, hint, "%s", words)
}

// HaltHint helps on who names a scope that cannot be halted.
func HaltHint(scope, name string) string {
	if scope == string(messaging.ScopeRun) || scope == "runs" {
		name = cmp.Or(name, "RUN")
		return fmt.Sprintf("a run is stopped with: nudgewire jobs pause %s, and goes on with: nudgewire jobs resume %s", name, name)
	}
	known := make([]string, len(messaging.HaltScopes))
	for i, one := range messaging.HaltScopes {
		known[i] = string(one)
	}
	if near := nearest.Of(scope, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// check rejects what cannot be halted or resumed.
func (in *HaltRequest) check() error {
	if in.Reviewed {
		in.Scope = cmp.Or(in.Scope, messaging.ScopeAll)
	}
	switch in.Scope {
	case messaging.ScopeAll:
		if in.Name != "" {
			return refusal.Fieldf("name", "", "%s takes no name", in.Scope)
		}
	case messaging.ScopeTrigger, messaging.ScopeTemplate, messaging.ScopeJob:
		if in.Name == "" {
			return refusal.Fieldf("name", "", "which %s?", in.Scope)
		}
	default:
		return refusal.Fieldf("scope", HaltHint(string(in.Scope), in.Name), "scope %q: want all, trigger, template or job", in.Scope)
	}
	return nil
}

func (a admin) halt(ctx context.Context, in HaltRequest) ([]messaging.Hold, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.Reviewed {
		return nil, refusal.Fieldf("reviewed", "", "resume ends a review, and halt begins none")
	}
	if err := a.known(ctx, in); err != nil {
		return nil, err
	}
	h := in.hold()
	h.Who, h.At = access.NameOf(ctx), a.Now()
	if err := a.Store.Hold(ctx, h); err != nil {
		return nil, err
	}
	a.Log.Warn("halted by a person", zap.String("what", h.What()), zap.String("who", h.Who), zap.String("why", mask.Text(h.Reason)))
	return a.holds(ctx)
}

func (a admin) resume(ctx context.Context, in HaltRequest) ([]messaging.Hold, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	was := in.hold()
	for _, h := range a.Store.HoldsOf(func(h messaging.Hold) bool { return in.ends(&h) }) {
		was = h
	}
	err := a.endHold(ctx, in)
	if errors.Is(err, messaging.ErrNotFound) {
		return nil, a.notHalted(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	a.Log.Warn("resumed by a person", zap.String("what", was.What()), zap.String("who", access.NameOf(ctx)),
		zap.String("was_halted_because", was.Reason), zap.Time("was_halted_since", was.At))
	return a.holds(ctx)
}

// ends reports whether a person who resumes what in names means h.
func (in *HaltRequest) ends(h *messaging.Hold) bool {
	switch h.Kind {
	case messaging.HoldDamage, messaging.HoldRestored:
		return in.Reviewed
	case messaging.HoldHalt, messaging.HoldMode:
		return !in.Reviewed && h.Scope == in.Scope && h.Name == in.Name
	case messaging.HoldService:
		return in.Scope == messaging.ScopeTemplate && h.Scope != messaging.ScopeAccount && h.Content() == in.Name
	}
	return false
}

// endHold ends a halt of that name, else what else of that name a person may end.
func (a admin) endHold(ctx context.Context, in HaltRequest) error {
	if in.Reviewed {
		return a.reviewed(ctx, in)
	}
	err := a.Store.EndHold(ctx, in.hold())
	switch {
	case !errors.Is(err, messaging.ErrNotFound):
	case in.Scope == messaging.ScopeTrigger:
		err = a.Store.Release(ctx, in.Name, access.NameOf(ctx), a.Now())
	case in.Scope == messaging.ScopeTemplate:
		err = a.Store.EndSendHolds(ctx, in.Name)
	}
	return err
}
