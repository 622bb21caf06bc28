package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/store"
)

// A HaltView is something that was stopped: halted by a person, or, where Scope is store.HaltRun or
// store.HaltMode, a run or a trigger that is paused. One of store.Released is a trigger that the
// config does not send by, and of which a person sends what waits all the same.
type HaltView struct {
	Scope  store.HaltScope `json:"scope"`
	Name   string          `json:"name,omitempty"` // of a run its number
	Job    string          `json:"job,omitempty"`  // of a run
	Reason string          `json:"reason,omitempty"`
	Since  time.Time       `json:"since,omitzero"` // not known of a paused run that has handed nothing over

	Waiting int64 `json:"waiting,omitempty"` // messages of a trigger that is paused or released, or of an account that is gone

	// Of store.HaltService: what the service does not take (template, campaign or text), of which trigger or run ("" for all) and account, whether it
	// refuses one after the other, and when a message goes as a probe. Since then Probe is its number, 0 while none waits.
	Kind    string               `json:"kind,omitempty"`
	Origin  string               `json:"origin,omitempty"`
	Refused bool                 `json:"refused,omitempty"`
	Account string               `json:"account,omitempty"`
	Until   time.Time            `json:"until,omitzero"`
	Probe   nudgewire.DispatchID `json:"probe,omitempty"`
}

// Paused tells what is paused from what is halted.
func (v HaltView) Paused() bool {
	return v.Scope == store.HaltRun || v.Scope == store.HaltMode || v.Scope == store.HaltGone || v.Scope == store.HaltService
}

// State is what was done to it, in a word: halted, paused or released.
func (v HaltView) State() string {
	switch {
	case v.Paused():
		return "paused"
	case v.Scope == store.Released:
		return "released"
	default:
		return "halted"
	}
}

// What names what is halted: "everything", `trigger "reminder"`, "run 12 of winback".
func (v HaltView) What() string {
	what := store.Halt{Scope: v.Scope, Name: v.Name, Kind: v.Kind, Origin: v.Origin}.What()
	if v.Job != "" {
		what += " of " + v.Job
	}
	return what
}

// GoesOn is the command that lets it go on.
func (v HaltView) GoesOn() string {
	switch v.Scope {
	case store.HaltAll:
		return "nudgewire resume"
	case store.HaltDamage, store.HaltRestored:
		return "nudgewire resume --reviewed"
	case store.HaltRun:
		return "nudgewire jobs resume " + v.Name
	case store.HaltMode:
		return "nudgewire resume trigger " + shellWord(v.Name)
	case store.HaltGone:
		return "nudgewire reload"
	case store.HaltService:
		return "nudgewire resume template " + shellWord(v.Content())
	}
	return fmt.Sprintf("nudgewire resume %s %s", v.Scope, shellWord(v.Name))
}

// Content is the template or campaign of one of store.HaltService, "texts" for those.
func (v HaltView) Content() string { return store.Halt{Kind: v.Kind, Name: v.Name}.Content() }

// Ends is the command that cancels what waits of a paused trigger, or of an account that is gone.
func (v HaltView) Ends() string {
	if v.Scope == store.HaltGone {
		return "nudgewire messages cancel --account " + shellWord(v.Name)
	}
	return "nudgewire messages cancel --trigger " + shellWord(v.Name)
}

// EverythingHalted are the halts that stop each message, as of now.
func EverythingHalted(s *store.Store) (out []HaltView) {
	for _, h := range s.EverythingHalted() {
		out = append(out, haltView(h))
	}
	return out
}

// shellWord is a name as a shell takes it for one word.
func shellWord(name string) string {
	if strings.ContainsAny(name, " \t\"'`$&|;<>()*?!\\") {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// Waits says how much of a trigger waits: "1 message of cart waits".
func (v HaltView) Waits() string {
	if v.Scope == store.HaltGone && v.Waiting == 0 {
		return "a run of " + v.Name + " waits"
	}
	verb := "wait"
	if v.Waiting == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s of %s %s", units.Count(v.Waiting, "message"), v.Name, verb)
}

// Words are the halt for people, with the command that ends it.
func (v HaltView) Words() string {
	words := v.What()
	if v.Scope == store.HaltMode || v.Scope == store.Released {
		words += " " + v.Reason + ", and " + v.Waits()
		if v.Scope == store.Released {
			return words + "; they are sent all the same, by a person's word"
		}
		return words + "; send: " + v.GoesOn() + "; cancel: " + v.Ends()
	}
	if v.Scope == store.HaltGone {
		return fmt.Sprintf("%s %s, and %s; send: put it back under accounts, then %s; cancel: %s", words, v.Reason, v.Waits(), v.GoesOn(), v.Ends())
	}
	if v.Scope == store.HaltService {
		return words + v.byService() + "; or at once with: " + v.GoesOn()
	}
	words += v.sinceAndWhy()
	if v.Scope == store.HaltDamage {
		words += "; what would be sent again: nudgewire messages list --state waiting"
	}
	if v.Scope == store.HaltRestored {
		words += "; what is to be looked at: nudgewire review"
	}
	return words + "; it goes on with: " + v.GoesOn()
}

// byService is what is said of what the service does not send now.
func (v HaltView) byService() string {
	words := ""
	if v.Account != "" {
		words = " of account " + v.Account
	}
	words += v.sinceAndWhy()
	switch {
	case v.Probe != 0:
		return words + fmt.Sprintf("; message %d shows now whether it is sent again", v.Probe)
	default:
		return words + "; from " + v.Until.UTC().Format(time.DateTime) + " UTC one message shows whether it is sent again"
	}
}

// Stands is the halt as a sentence: "everything is halted since 2026-11-22 14:02:00 UTC: wrong price".
func (v HaltView) Stands() string {
	if v.Scope == store.HaltService {
		does := " is not sent by the service"
		if v.Refused {
			does = " is refused by the service, one message after the other, and waits"
		}
		return v.What() + does + v.byService()
	}
	return v.What() + " is " + v.State() + strings.TrimPrefix(v.sinceAndWhy(), ",")
}

func (v HaltView) sinceAndWhy() (words string) {
	if !v.Since.IsZero() {
		words = ", since " + v.Since.UTC().Format(time.DateTime) + " UTC"
	}
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

	// LostAt is, for the end of a review, when whoever had the data before was lost; zero where that is not known.
	LostAt time.Time `json:"lost_at,omitzero"`
}

// haltViews are what is halted, and then the runs that are paused.
func (a admin) haltViews(ctx context.Context) ([]HaltView, error) {
	halts, err := a.Store.Halts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]HaltView, 0, len(halts))
	since := map[string]time.Time{} // by the number of a run
	for _, h := range halts {
		if h.Scope == store.HaltRun {
			since[h.Name] = h.At.UTC()
			continue
		}
		v := haltView(h)
		if h.Scope == store.HaltGone {
			if v.Waiting, err = a.Store.WaitingFor(ctx, h.Name); err != nil {
				return nil, err
			}
		}
		if h.Scope == store.HaltMode || h.Scope == store.Released {
			if v.Waiting, err = a.Store.WaitingOf(ctx, h.Name); err != nil {
				return nil, err
			}
			if v.Waiting == 0 {
				continue // what was in hand then may come back
			}
		}
		out = append(out, v)
	}
	open, err := a.Store.OpenRuns(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, r := range open {
		if r.State == nudgewire.RunPaused {
			number := strconv.FormatInt(int64(r.ID), 10)
			out = append(out, HaltView{Scope: store.HaltRun, Name: number, Job: r.Job, Reason: r.Why(), Since: since[number]})
		}
	}
	return out, nil
}

func haltView(h store.Halt) HaltView {
	v := HaltView{Scope: h.Scope, Name: h.Name, Reason: h.Reason, Since: h.At.UTC(), Account: h.Account, Kind: h.Kind, Origin: h.Origin, Refused: h.Refused, Probe: h.Probe}
	if !h.Until.IsZero() {
		v.Until = h.Until.UTC()
	}
	return v
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
	return rejectf(http.StatusNotFound, a.nearestTo(in, names), "no %s %q in the config, and nothing of that name waits to be sent; nothing was halted", in.Scope, in.Name)
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

// notHalted refuses to resume what goes on anyway, and says what does not and how it would.
func (a admin) notHalted(ctx context.Context, in HaltRequest) error {
	halts, err := a.haltViews(ctx)
	if err != nil {
		return err
	}
	var stopped, names []string
	halted := false
	for _, h := range halts {
		state := h.State()
		if h.Scope == store.Released {
			continue
		}
		halted = halted || !h.Paused()
		if h.Scope == store.HaltService && in.Scope == store.HaltTemplate {
			names = append(names, h.Content())
		}
		stopped = append(stopped, fmt.Sprintf("%s is %s, and goes on with: %s", h.What(), state, h.GoesOn()))
		if h.Scope == in.Scope && h.Name != "" {
			names = append(names, h.Name)
		}
	}
	words := HaltView{Scope: in.Scope, Name: in.Name}.What() + " is not halted"
	if in.Scope == store.HaltDamage {
		words = "nothing is to be reviewed"
	}
	hint := strings.Join(stopped, "; ")
	near := nearest.Of(in.Name, names)
	switch {
	case in.Scope == store.HaltAll && halted:
		words = "there is no halt of everything"
	case in.Scope == store.HaltAll:
		words = "nothing is halted"
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case len(halts) == 0:
		hint = "nothing is halted"
	}
	return rejectf(http.StatusNotFound, hint, "%s", words)
}

// HaltHint helps on who names a scope that cannot be halted.
func HaltHint(scope, name string) string {
	if scope == string(store.HaltRun) || scope == "runs" {
		name = cmp.Or(name, "RUN")
		return fmt.Sprintf("a run is stopped with: nudgewire jobs pause %s, and goes on with: nudgewire jobs resume %s", name, name)
	}
	known := make([]string, len(store.HaltScopes))
	for i, one := range store.HaltScopes {
		known[i] = string(one)
	}
	if near := nearest.Of(scope, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// check rejects what cannot be halted or resumed.
func (in *HaltRequest) check() error {
	switch in.Scope {
	case store.HaltAll, store.HaltDamage:
		if in.Name != "" {
			return badField("name", "", "%s takes no name", in.Scope)
		}
	case store.HaltTrigger, store.HaltTemplate, store.HaltJob:
		if in.Name == "" {
			return badField("name", "", "which %s?", in.Scope)
		}
	default:
		return badField("scope", HaltHint(string(in.Scope), in.Name), "scope %q: want all, trigger, template or job", in.Scope)
	}
	return nil
}

func (a admin) halt(r *http.Request, in HaltRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.Scope == store.HaltDamage {
		return nil, badField("scope", "", "only damage itself halts for damage; write all")
	}
	if err := a.known(r.Context(), in); err != nil {
		return nil, err
	}
	if err := a.Store.Halt(r.Context(), store.Halt{Scope: in.Scope, Name: in.Name, Reason: in.Reason, At: a.Now()}); err != nil {
		return nil, err
	}
	a.Log.Warn("halted by a person", zap.String("what", store.Halt{Scope: in.Scope, Name: in.Name}.What()),
		zap.String("who", person(r)), zap.String("why", in.Reason))
	return a.haltViews(r.Context())
}

func (a admin) resume(r *http.Request, in HaltRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	halts, err := a.Store.Halts(r.Context())
	if err != nil {
		return nil, err
	}
	was := store.Halt{Scope: in.Scope, Name: in.Name}
	for _, h := range halts {
		if h.Name == in.Name && (h.Scope == in.Scope || h.Scope == store.HaltMode && in.Scope == store.HaltTrigger) ||
			h.Scope == store.HaltService && in.Scope == store.HaltTemplate && h.Content() == in.Name {
			was = h
			break
		}
	}
	if in.Scope == store.HaltDamage {
		err = a.reviewed(r, in)
	} else {
		err = a.Store.Resume(r.Context(), in.Scope, in.Name)
	}
	if errors.Is(err, nudgewire.ErrNotFound) && in.Scope == store.HaltTrigger {
		err = a.Store.Release(r.Context(), in.Name, a.Now())
	}
	if errors.Is(err, nudgewire.ErrNotFound) && in.Scope == store.HaltTemplate {
		err = a.Store.LiftPauses(r.Context(), in.Name)
	}
	if errors.Is(err, nudgewire.ErrNotFound) {
		return nil, a.notHalted(r.Context(), in)
	}
	if err != nil {
		return nil, err
	}
	a.Log.Warn("resumed by a person", zap.String("what", was.What()), zap.String("who", person(r)),
		zap.String("was_halted_because", was.Reason), zap.Time("was_halted_since", was.At))
	return a.haltViews(r.Context())
}
