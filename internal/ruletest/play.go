package ruletest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Result is what came of a test.
type Result struct {
	Test   *Test
	Broken string    // why it could not be played to its end; then nothing is said of what was expected
	Failed []Failure // what was not as expected; none where the test holds
	Sent   []Sent    // in the order of their times
	Story  []Line    // what happened, in its order
}

// OK reports whether the test holds.
func (r *Result) OK() bool { return r.Broken == "" && len(r.Failed) == 0 }

// A Sent is a message that the service took, or may have taken.
type Sent struct {
	At     time.Time
	Number messaging.MessageID
	Status messaging.Status // at the end
	Reads  string           // what the phone shows, where the config declares the template's text
	messaging.Message
}

// A Line is one thing that happened.
type Line struct {
	At      time.Time
	Event   string // of a webhook: connector.kind
	Trigger string
	What    string // outcome, state or rule
	Reason  string
	Step    int
	Clause  int // of a skipped trigger: which of its conditions did not hold, from 1
}

// A Failure is one thing that was not as expected. Paths are where in the config the rule may stand that is responsible: the first that is there.
type Failure struct {
	Expected, Happened string
	Paths              []string
}

// lasts is how long is played after the last event: longer than any wait that is usual.
const lasts = 366 * 24 * time.Hour

// Play plays a test on a simulator.
func Play(ctx context.Context, sim *simulation.Simulator, env Env, t *Test) (Result, error) {
	r := Result{Test: t}
	rules := env.Rules
	if t.Live {
		rules.Triggers = rules.Triggers.AsLive()
	}
	w, err := sim.Begin(ctx, rules, t.fate, t.Start.UTC())
	if err != nil {
		return r, err
	}
	w.Called = func(m *messaging.Message, at time.Time, a *messaging.Attempt) {
		if a.State == messaging.StateAccepted || a.State == messaging.StateInDoubt || a.Doubtful {
			r.Sent = append(r.Sent, Sent{At: at, Number: m.ID, Message: *m, Reads: rules.Templates.Reads(m.Send, m.Account)})
		}
	}
	err = r.play(ctx, w)
	if err == nil {
		err = r.readMessages(ctx, w)
	}
	switch {
	case isRefusal(err):
		r.Broken = err.Error()
		return r, nil
	case err != nil:
		return r, err
	}
	if r.Broken == "" {
		r.judge(env)
	}
	return r, nil
}

func (r *Result) play(ctx context.Context, w *simulation.World) error {
	t := r.Test
	for i := range t.Events {
		e := &t.Events[i]
		if err := w.RunUntil(ctx, e.At.UTC()); err != nil {
			return err
		}
		got, err := w.Take(ctx, e.connector, e.request)
		if err != nil {
			return atLine{e.Line, err}
		}
		if no := got.Rejected; no != nil {
			r.Broken = fmt.Sprintf("line %d: the daemon would answer %d (%s): %s", e.Line, no.Status, no.Stage, no.Reason)
			return nil //nolint:nilerr // it is what came of the webhook
		}
		if len(got.Received.Events) == 0 {
			r.Broken = fmt.Sprintf("line %d: there is no event in the webhook%s", e.Line, skippedWords(got.Received.Skipped))
			return nil
		}
		for j := range got.Receipts {
			r.noteEvent(e, &got.Received.Events[j], &got.Receipts[j])
		}
	}
	last := t.Start
	if n := len(t.Events); n > 0 {
		last = t.Events[n-1].At
	}
	waits, err := w.RunToEnd(ctx, last.UTC().Add(lasts))
	if err == nil && waits {
		r.Broken = "something waits still, a year after the last event, and no test goes on for longer"
	}
	return err
}

// noteEvent notes what was decided about an event at once.
func (r *Result) noteEvent(e *Event, of *messaging.Event, got *messaging.Receipt) {
	name := of.Ref()
	if got.Duplicate {
		r.Story = append(r.Story, Line{At: e.At, Event: name, What: "repeated", Reason: fmt.Sprintf("the same dedupe key as event %d: nothing of it is stored", got.EventID)})
	} else if len(got.Decisions) == 0 {
		r.Story = append(r.Story, Line{At: e.At, Event: name, What: "unheard", Reason: "no trigger listens"})
	}
	for _, d := range got.Decisions {
		l := Line{At: e.At, Event: name, Trigger: d.Trigger, What: string(d.Outcome), Reason: d.Reason}
		if n := len(d.Clauses); n > 0 && !d.Clauses[n-1].Held {
			l.Clause = n
		}
		r.Story = append(r.Story, l)
	}
}

// readMessages reads what became of all messages.
func (r *Result) readMessages(ctx context.Context, w *simulation.World) error {
	const mostMessages = 100_000
	all, err := w.Store.Messages(ctx, store.MessageFilter{Limit: mostMessages})
	if err != nil {
		return err
	}
	zone := r.Test.Start.Location()
	for i := range all {
		m := &all[i]
		for j := range r.Sent {
			if r.Sent[j].Number == m.ID {
				r.Sent[j].Status = m.Status
			}
		}
		for _, v := range m.Verdicts {
			if v.Action == messaging.DeferSend {
				r.Story = append(r.Story, Line{At: v.At.In(zone), Trigger: m.Trigger, Step: m.Step, What: v.Rule, Reason: v.Reason + deferredWords(&v, zone)})
			}
		}
		switch m.State {
		case messaging.StateAccepted:
			r.Story = append(r.Story, Line{At: m.AcceptedAt.In(zone), Trigger: m.Trigger, Step: m.Step, What: sentOrFailed(m.Status), Reason: strings.TrimSpace(m.Send.What() + " " + failedWords(&m.Message))})
		case messaging.StateWaiting:
			r.Story = append(r.Story, Line{At: m.DueAt.In(zone), Trigger: m.Trigger, Step: m.Step, What: string(m.State), Reason: m.Send.What() + " " + m.Reason})
		default:
			what := string(m.State)
			for _, v := range m.Verdicts {
				if v.Action == messaging.DropSend && m.State == messaging.StateDropped {
					what = v.Rule
				}
			}
			r.Story = append(r.Story, Line{At: m.UpdatedAt.In(zone), Trigger: m.Trigger, Step: m.Step, What: what, Reason: m.Reason})
		}
	}
	slices.SortStableFunc(r.Story, func(a, b Line) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(r.Sent, func(a, b Sent) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Number, b.Number)) })
	return nil
}

func deferredWords(v *store.Verdict, zone *time.Location) string {
	if v.Until.IsZero() {
		return ""
	}
	return "; put off until " + v.Until.In(zone).Format("Mon 2006-01-02 15:04")
}

func failedWords(m *messaging.Message) string {
	if m.Status == messaging.StatusFailed {
		return "failed: " + m.Error
	}
	return ""
}

// judge holds what happened against what was expected.
func (r *Result) judge(env Env) {
	t := r.Test
	if t.Told {
		r.compare()
	}
	for _, word := range t.Because {
		if !slices.ContainsFunc(r.Story, func(l Line) bool { return l.hasReason(word) }) {
			happened := cmp.Or(strings.Join(r.reasons(""), "\n"), "nothing was held back")
			r.Failed = append(r.Failed, Failure{Expected: "because: " + word, Happened: happened, Paths: r.pathsOfSilence(r.silent())})
		}
	}
	zones := hours.NewZones(env.Home)
	for i := range t.Never {
		r.never(&t.Never[i], zones, hours.In(env.Home))
	}
}

// hasReason reports whether a line about what did not leave, or failed, is a test's word, or has it in its reason.
func (l *Line) hasReason(word string) bool {
	return l.heldBack() && (l.What == word || strings.Contains(strings.ToLower(l.Reason), strings.ToLower(word)))
}

// sentOrFailed is what became of a message that the service took: one that failed reached nobody.
func sentOrFailed(status messaging.Status) string {
	if status == messaging.StatusFailed {
		return string(status)
	}
	return "sent"
}

// heldBack reports whether a line is about something that did not leave then, or reached nobody.
func (l *Line) heldBack() bool {
	return l.What != "sent" && l.What != string(messaging.Planned) && l.What != string(messaging.Confirmed)
}

// reasons are why what was not sent was not, by one trigger or, with "", by any.
func (r *Result) reasons(trigger string) (all []string) {
	for i := range r.Story {
		l := &r.Story[i]
		if text := l.What + ": " + l.Reason; l.heldBack() && (trigger == "" || l.Trigger == "" || l.Trigger == trigger) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// never holds all that was sent against what no message may do.
func (r *Result) never(n *Never, zones *hours.Zones, home *hours.Zone) {
	for i := range r.Sent {
		s := &r.Sent[i]
		if n.Hours != nil {
			of, _ := zones.Of(string(s.Phone), s.Zone)
			if in := n.Hours.In(s.At, of); in != nil {
				r.Failed = append(r.Failed, Failure{
					Expected: "never within " + n.Hours.String(), Happened: r.sentWords(s) + "\nit is " + s.At.In(in.Location()).Format("Mon 15:04") + " in " + in.String(),
					Paths: []string{ruleOf(s.Trigger) + ".quiet_hours", "defaults.quiet_hours", ruleOf(s.Trigger)},
				})
				return
			}
			continue
		}
		var within []string
		for j := range r.Sent[i:] {
			if o := &r.Sent[i+j]; o.Phone == s.Phone && sameWindow(n.Most, s.At, o.At, home) {
				within = append(within, r.sentWords(o))
			}
		}
		if int64(len(within)) > n.Most.Most {
			r.Failed = append(r.Failed, Failure{
				Expected: "never more than " + n.Most.String() + " to one phone", Happened: strings.Join(within, "\n"),
				Paths: []string{ruleOf(s.Trigger) + ".limit", "defaults.limit", ruleOf(s.Trigger)},
			})
			return
		}
	}
}

// sameWindow reports whether two times, the first of which is not later, are in one window of a limit.
func sameWindow(l units.Limit, a, b time.Time, home *hours.Zone) bool {
	if l.Calendar == "" {
		return b.Sub(a) < l.Per
	}
	return duerules.UnitBegins(l, a, home, 0).Equal(duerules.UnitBegins(l, b, home, 0))
}
