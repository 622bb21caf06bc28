package triggers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// three is a cart reminder in three steps.
func three() Rule {
	r := reminder()
	r.Wait, r.Send = Wait{}, Send{}
	r.Steps = []Step{
		{Wait: Wait{For: 45 * time.Minute}, Send: Send{Template: "first", Variables: []string{"{{ customer.first_name }}"}}},
		{Wait: Wait{For: 24 * time.Hour}, If: []string{`previous.status != "failed"`, "cart.total < 100"}, Send: Send{Template: "second"}},
		{Wait: Wait{Days: 3, At: "10:00"}, If: []string{`previous.status in ["read", "delivered"]`}, Send: Send{Template: "third"}},
	}
	return r
}

func TestEveryStepIsPlannedWithItsTime(t *testing.T) {
	w := compiled(t, shops, three()).Match(aCart(t), noon).Proposals[0]
	first := noon.Add(44 * time.Minute) // the event happened a minute ago
	want := []struct {
		step         int
		due          time.Time
		what, wait   string
		expires, any int
	}{
		{1, first, `template "first"`, "45m", 6, 0},
		{2, first.Add(24 * time.Hour), `template "second"`, "1d", 6, 2},
		{3, time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), `template "third"`, "3 days at 10:00", 6, 1},
	}
	if len(w.Steps) != len(want) || w.Decision.Outcome != messaging.Planned {
		t.Fatalf("%s with %d steps", w.Decision.Outcome, len(w.Steps))
	}
	for i, s := range w.Steps {
		d := s.Message
		if d.Step != want[i].step || !d.DueAt.Equal(want[i].due) || d.Send.What() != want[i].what || s.Rule.Wait != want[i].wait ||
			s.Rule.Of != 3 || len(s.Rule.If) != want[i].any || d.ExpiresAt.Sub(d.DueAt) != 6*time.Hour || d.Key != "cart-1" {
			t.Errorf("step %d is %+v with %+v", i+1, d, s.Rule)
		}
	}
	if got := Settle(w, messaging.Facts{}); !got.Insert || !strings.HasPrefix(got.Reason, `step 1 of 3: template "first" due `) {
		t.Errorf("settled: %+v", got)
	}
}

// What one step lacks is no reason to keep the others back.
func TestAStepThatCannotBeFilledInIsLeftOut(t *testing.T) {
	r := three()
	r.Steps[0].Send.Variables = []string{"{{ cart.items[7].title }}"}
	w := compiled(t, shops, r).Match(aCart(t), noon).Proposals[0]
	if len(w.Steps) != 2 || w.Steps[0].Message.Step != 2 || w.Message.Step != 2 || len(w.LeftOut) != 1 {
		t.Fatalf("%d steps, left out %q", len(w.Steps), w.LeftOut)
	}
	if due := w.Steps[0].Message.DueAt; !due.Equal(noon.Add(24*time.Hour + 44*time.Minute)) {
		t.Errorf("the second step is due %s", due)
	}
	for i := range r.Steps {
		r.Steps[i].Send.Variables = []string{"{{ raw.nothing }}"}
	}
	w = compiled(t, shops, r).Match(aCart(t), noon).Proposals[0]
	if w.Decision.Outcome != messaging.Skipped || !strings.Contains(w.Decision.Reason, "step 3 is left out: variable 1") {
		t.Errorf("%s: %s", w.Decision.Outcome, w.Decision.Reason)
	}
}

func TestShadowTellsOfEveryStep(t *testing.T) {
	r := three()
	r.Mode = Shadow
	w := compiled(t, shops, r).Match(aCart(t), noon).Proposals[0]
	if w.Decision.Outcome != messaging.Shadowed || strings.Count(w.Decision.Reason, "step ") != 3 {
		t.Errorf("%s: %s", w.Decision.Outcome, w.Decision.Reason)
	}
}

func TestAStepsDecisionAtItsDueMoment(t *testing.T) {
	set := compiled(t, shops, three())
	due := noon.Add(48 * time.Hour)
	d := &messaging.Message{ID: 9, EventID: 4, Trigger: "abandoned-cart", Key: "cart-1", Step: 2, DueAt: due}
	sent := func(ago time.Duration) *messaging.StepBefore {
		return &messaging.StepBefore{Step: 1, State: messaging.StateAccepted, DueAt: due.Add(-24 * time.Hour), EndedAt: due.Add(-ago)}
	}
	tests := map[string]struct {
		before *messaging.StepBefore
		status string
		rule   messaging.StepRule
		want   messaging.Verdict
		saying messaging.Outcome
	}{
		"its conditions hold":                          {before: sent(24 * time.Hour), status: "read", saying: messaging.Confirmed},
		"some seconds of the call before are no delay": {before: sent(24*time.Hour - 20*time.Second), status: "read", saying: messaging.Confirmed},
		"its condition does not hold": {
			before: sent(24 * time.Hour), status: "failed", saying: messaging.Skipped,
			want: messaging.Verdict{Action: messaging.DropSend, Rule: "if", Reason: `step 2 of 3: previous.status != "failed" does not hold (previous.status = failed)`},
		},
		"the step before waits": {
			before: &messaging.StepBefore{Step: 1, State: messaging.StateWaiting, DueAt: due.Add(time.Hour)},
			want: messaging.Verdict{
				Action: messaging.DeferSend, Rule: "wait", Until: due.Add(25 * time.Hour),
				Reason: "step 2 of 3 is put off: step 1 waits until 2026-11-29 13:00:00 UTC",
			},
		},
		"the step before is held up": {
			before: &messaging.StepBefore{Step: 1, State: messaging.StateWaiting, DueAt: due.Add(-time.Hour)},
			rule:   messaging.StepRule{Of: 3, Wait: "0s"},
			want:   messaging.Verdict{Action: messaging.DeferSend, Rule: "wait", Until: due.Add(time.Minute), Reason: "step 2 of 3 is put off: step 1 has not been sent yet"},
		},
		"the step before is being sent": {
			before: &messaging.StepBefore{Step: 1, State: messaging.StateSending, DueAt: due},
			rule:   messaging.StepRule{Of: 3, Wait: "0s"},
			want:   messaging.Verdict{Action: messaging.DeferSend, Rule: "wait", Until: due.Add(5 * time.Second), Reason: "step 2 of 3 is put off: step 1 is being sent"},
		},
		"the step before left late": {
			before: sent(10 * time.Hour),
			want: messaging.Verdict{
				Action: messaging.DeferSend, Rule: "wait", Until: due.Add(14 * time.Hour),
				Reason: "step 2 of 3 is put off: step 1 ended at 2026-11-29 02:00:00 UTC, and the wait after it is 1d",
			},
		},
		"a rule that nobody can read sends nothing": {
			before: sent(24 * time.Hour), rule: messaging.StepRule{Of: 3, Wait: "1d", If: []string{"previous.stat > 1"}}, saying: messaging.Skipped,
			want: messaging.Verdict{Action: messaging.DropSend, Rule: "if", Reason: `step 2 of 3: previous.stat > 1 cannot be read: unknown name "stat" in previous`},
		},
		"neither wait nor condition": {rule: messaging.StepRule{Of: 3, Wait: "0s"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.rule.Of == 0 {
				tt.rule = messaging.StepRule{Of: 3, Wait: "1d", If: three().Steps[1].If}
			}
			f := &messaging.StepFacts{Rule: tt.rule, Before: tt.before, Previous: messaging.Previous{Status: tt.status}, Event: aCart(t)}
			got := set.Step(d, f, due)
			if diff := cmp.Diff(tt.want, got.Verdict); diff != "" {
				t.Errorf("Step (-want +got):\n%s", diff)
			}
			switch {
			case tt.saying == "":
				if got.Decision != nil {
					t.Errorf("it says %+v", got.Decision)
				}
			case got.Decision == nil || got.Decision.Outcome != tt.saying || got.Decision.MessageID != 9 || got.Decision.EventID != 4:
				t.Errorf("it says %+v, want %s", got.Decision, tt.saying)
			}
		})
	}
}

// What a delay says is what is stored with a step, and read again when it falls due.
// What a step asks of an event may be gone when it is sent again long after: then it is not sent, because a condition about
// nothing says nothing.
func TestAStepThatAsksAboutWhatIsGone(t *testing.T) {
	set := compiled(t, shops, three())
	d := &messaging.Message{ID: 9, EventID: 4, Trigger: "abandoned-cart", Key: "cart-1", Step: 2, DueAt: noon}
	gone := &messaging.Event{ID: 4, Connector: "shopify", Kind: "cart.updated", Cleared: true, FactsCleared: true}
	for condition, want := range map[string]string{
		"cart.total < 50":             "step 2 of 3: cart.total < 50 asks about what is not kept any more (retention.facts)",
		`previous.status != "failed"`: "step 2 of 3: its conditions hold",
	} {
		f := &messaging.StepFacts{Rule: messaging.StepRule{Of: 3, Wait: "0s", If: []string{condition}}, Previous: messaging.Previous{Status: "read"}, Event: gone}
		if got := set.Step(d, f, noon); got.Decision == nil || got.Decision.Reason != want {
			t.Errorf("%s: %+v, want %s", condition, got.Decision, want)
		}
	}
	// The payload alone is nothing that a condition asks about.
	f := &messaging.StepFacts{
		Rule: messaging.StepRule{Of: 3, Wait: "0s", If: []string{"cart.total < 50"}}, Previous: messaging.Previous{Status: "read"},
		Event: &messaging.Event{ID: 4, Connector: "shopify", Kind: "cart.updated", Cleared: true, Cart: messaging.Cart{Total: messaging.AmountOf(40)}},
	}
	if got := set.Step(d, f, noon); got.Decision == nil || got.Decision.Outcome != messaging.Confirmed {
		t.Errorf("with the facts: %+v", got.Decision)
	}
}

func TestADelayIsReadAsItIsWritten(t *testing.T) {
	at := clockOf(t, "10:00")
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []delay{{}, {length: 90 * time.Minute}, {length: 72 * time.Hour}, {days: 1}, {days: 3}, {days: 3, at: &at}, {daily: &at}} {
		got, err := parseDelay(d.String())
		if err != nil || !got.after(noon, hours.Places{zone}).Equal(d.after(noon, hours.Places{zone})) {
			t.Errorf("%q is read as %q (%v)", d.String(), got.String(), err)
		}
	}
	if _, err := parseDelay("3 days at noon"); err == nil {
		t.Error("a broken one is read")
	}
}

// Three days of 24 hours and three days of the calendar differ where the clocks change, and so do gap
// and overlap.
func TestCalendarDaysKeepTheTimeOnTheWall(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	local := func(text string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	half, late, nine := clockOf(t, "02:30"), clockOf(t, "10:00"), clockOf(t, "09:00")
	for name, tt := range map[string]struct {
		from string
		d    delay
		want time.Time
	}{
		"over the change in spring":     {"2027-03-26 18:00", delay{days: 3}, local("2027-03-29 18:00")},
		"24-hour days move the hour":    {"2027-03-26 18:00", delay{length: 72 * time.Hour}, local("2027-03-29 19:00")},
		"over the change in autumn":     {"2026-10-24 18:00", delay{days: 1}, local("2026-10-25 18:00")},
		"at another time":               {"2026-10-24 18:00", delay{days: 2, at: &late}, local("2026-10-26 10:00")},
		"a time that does not exist":    {"2027-03-27 08:00", delay{days: 1, at: &half}, time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC)},
		"a time that comes twice":       {"2026-10-24 08:00", delay{days: 1, at: &half}, time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)},
		"the same time of day, later":   {"2026-11-27 09:00", delay{daily: &nine}, local("2026-11-28 09:00")},
		"a month has as many as it has": {"2027-01-31 09:00", delay{days: 30}, local("2027-03-02 09:00")},
	} {
		if got := tt.d.after(local(tt.from), hours.Places{zone}); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got.In(zone), tt.want.In(zone))
		}
	}
}

func TestSettleSequence(t *testing.T) {
	proposal := func(t *testing.T, change func(*Rule)) messaging.Proposal {
		r := three()
		if change != nil {
			change(&r)
		}
		return compiled(t, shops, r).Match(aCart(t), noon).Proposals[0]
	}
	wait := func(id messaging.MessageID, step int) messaging.Waiting {
		return messaging.Waiting{ID: id, Step: step, DueAt: noon.Add(time.Duration(step) * time.Hour), CreatedAt: noon.Add(-time.Hour), EventAt: noon.Add(-time.Hour)}
	}
	sequence := func(steps ...int) *messaging.Sequence {
		s := &messaging.Sequence{ID: 11}
		for _, step := range steps {
			s.Steps = append(s.Steps, messaging.SequenceStep{ID: messaging.MessageID(10 + step), Step: step})
		}
		return s
	}
	renewed := func(s messaging.Settlement) (ids []messaging.MessageID) {
		for _, r := range s.Renew {
			ids = append(ids, r.ID)
		}
		return ids
	}
	type ids = []messaging.MessageID
	for name, tt := range map[string]struct {
		change  func(*Rule)
		facts   messaging.Facts
		outcome messaging.Outcome
		renew   ids
		restart messaging.MessageID
		cancel  ids
		reason  string
	}{
		"all of it waits": {
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(11, 1), wait(12, 2), wait(13, 3)}, Sequence: sequence(1, 2, 3)},
			outcome: messaging.Restarted, renew: ids{11, 12, 13},
		},
		"the first step was sent": {
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(12, 2), wait(13, 3)}, Sequence: sequence(1, 2, 3)},
			outcome: messaging.Restarted, renew: ids{12, 13},
		},
		"an earlier sequence of the key is left alone": {
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(3, 3), wait(13, 3)}, Sequence: sequence(1, 2, 3)},
			outcome: messaging.Restarted, renew: ids{13},
		},
		"ignored": {
			change:  func(r *Rule) { r.OnRepeat.Mode = messaging.Ignore },
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(12, 2), wait(13, 3)}, Sequence: sequence(1, 2, 3)},
			outcome: messaging.Skipped, reason: "already waiting (message 12, step 2,",
		},
		"the trigger has a step more": {
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(12, 2)}, Sequence: sequence(1, 2)},
			outcome: messaging.Restarted, renew: ids{12, 0}, reason: "step 3 is added",
		},
		"the trigger has a step less": {
			change:  func(r *Rule) { r.Steps = r.Steps[:2] },
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(12, 2), wait(13, 3)}, Sequence: sequence(1, 2, 3)},
			outcome: messaging.Restarted, renew: ids{12}, cancel: ids{13}, reason: "the trigger has it no more",
		},
		"the trigger had one message": {
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(11, 0)}},
			outcome: messaging.Restarted, renew: ids{11, 0, 0},
		},
		"the trigger has one message now": {
			change:  func(r *Rule) { r.Send, r.Steps = reminder().Send, nil },
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(11, 1), wait(12, 2)}, Sequence: sequence(1, 2)},
			outcome: messaging.Restarted, restart: 11, cancel: ids{12},
		},
		"the trigger has one message now, and that has left": {
			change:  func(r *Rule) { r.Send, r.Steps = reminder().Send, nil },
			facts:   messaging.Facts{Waiting: []messaging.Waiting{wait(12, 2)}, Sequence: sequence(1, 2)},
			outcome: messaging.Skipped, reason: "goes on as it was planned",
		},
		"the cooldown counts once all is sent": {
			facts:   messaging.Facts{Last: &messaging.Sent{ID: 13, State: messaging.StateAccepted, At: noon.Add(-time.Hour)}},
			outcome: messaging.Skipped, reason: "cooldown: 3d",
		},
		"cancelled before": {
			facts:   messaging.Facts{Tombstone: &messaging.Tombstone{EventID: 1, Ref: "shopify.order.created", EventAt: noon}},
			outcome: messaging.Cancelled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Settle(proposal(t, tt.change), tt.facts)
			if got.Outcome != tt.outcome || got.Restart != tt.restart || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("%s, restart %d: %s", got.Outcome, got.Restart, got.Reason)
			}
			if diff := cmp.Diff(tt.renew, renewed(got)); diff != "" {
				t.Errorf("renewed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.cancel, got.Cancel); diff != "" {
				t.Errorf("cancelled (-want +got):\n%s", diff)
			}
		})
	}
}

// A bound of on_repeat keeps the timers of all steps.
func TestABoundHoldsTheTimersOfASequence(t *testing.T) {
	r := three()
	r.OnRepeat = OnRepeat{messaging.OnRepeat{Mode: messaging.Restart, Max: 1}}
	w := compiled(t, shops, r).Match(aCart(t), noon).Proposals[0]
	due := noon.Add(time.Minute)
	got := Settle(w, messaging.Facts{
		Waiting:  []messaging.Waiting{{ID: 1, Step: 1, DueAt: due, Restarts: 1}, {ID: 2, Step: 2, DueAt: due.Add(time.Hour), Restarts: 1}, {ID: 3, Step: 3, DueAt: due.Add(2 * time.Hour), Restarts: 1}},
		Sequence: &messaging.Sequence{ID: 1, Steps: []messaging.SequenceStep{{ID: 1, Step: 1}, {ID: 2, Step: 2}, {ID: 3, Step: 3}}},
	})
	for i, one := range got.Renew {
		if !one.DueAt.Equal(due.Add(time.Duration(i) * time.Hour)) {
			t.Errorf("step %d is due %s", i+1, one.DueAt)
		}
	}
	if len(got.Renew) != 3 || !strings.Contains(got.Reason, "timers stay") {
		t.Errorf("%+v", got)
	}
}

func TestStopOnEndsWhatWaitsForThePhone(t *testing.T) {
	r := three()
	r.StopOn = []EventIf{"loyalty.message.received"}
	set := compiled(t, shops, r)
	e := &messaging.Event{Connector: "loyalty", Kind: "message.received", DedupeKey: "m", ReceivedAt: noon, Contact: messaging.Contact{Phone: "447700900123"}}
	plan := set.Match(e, noon)
	w := plan.Proposals[0]
	if len(plan.Proposals) != 1 || w.Decision.Outcome != messaging.Cancelling || w.Correlation.Key != "" || w.Correlation.Phone != "447700900123" || !w.Forget.Equal(noon.Add(24*time.Hour)) {
		t.Errorf("%+v", plan.Proposals)
	}
	e.Contact = messaging.Contact{PhoneProblem: "no number in it"}
	if w := set.Match(e, noon).Proposals[0]; w.Decision.Outcome != messaging.Skipped || w.Decision.Reason != "no number in it: it stops nothing" {
		t.Errorf("%s: %s", w.Decision.Outcome, w.Decision.Reason)
	}
	// A trigger that is gone goes on being stopped while something of it waits.
	held, known := compiled(t, shops).Holding(nil, []Rule{r})
	e.Contact = messaging.Contact{Phone: "447700900123"}
	if plan := held.Match(e, noon); !known[0] || len(plan.Proposals) != 1 {
		t.Errorf("gone: %v, %+v", known, plan.Proposals)
	}
}

func TestFaultsOfSteps(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Rule)
		want   []string
	}{
		"previous outside of steps": {
			func(r *Rule) { r.If = []string{`previous.status == "read"`} },
			[]string{`abandoned-cart.if[0]: unknown name "previous"; it is what became of the step before: only the if of a step knows it, from the second one on`},
		},
		"previous in the first step": {
			func(r *Rule) { r.Steps[0].If = []string{`previous.status == "read"`} },
			[]string{`abandoned-cart.steps[0].if[0]: unknown name "previous"; it is what became of the step before: only the if of a step knows it, from the second one on`},
		},
		"previous in a variable": {
			func(r *Rule) { r.Steps[1].Send.Variables = []string{"{{ previous.status }}"} },
			[]string{`abandoned-cart.steps[1].send.variables[0]: unknown name "previous"; it is what became of the step before: only the if of a step knows it, from the second one on`},
		},
		"a word that is no status": {
			func(r *Rule) { r.Steps[1].If = []string{`previous.status == "fail"`} },
			[]string{`abandoned-cart.steps[1].if[0]: previous.status is never "fail"; did you mean "failed"?`},
		},
		"a word that is no class": {
			func(r *Rule) { r.Steps[1].If = []string{`previous.error_class != "points"`} },
			[]string{`abandoned-cart.steps[1].if[0]: previous.error_class is never "points"; it is one of no_points, recipient_limit, opt_out, template, permanent, retry`},
		},
		"a member that previous has not": {
			func(r *Rule) { r.Steps[1].If = []string{`previous.state == "failed"`} },
			[]string{`abandoned-cart.steps[1].if[0]: unknown name "state" in previous; there are error_class, sent_at, status`},
		},
		"a wait and a send beside steps": {
			func(r *Rule) { r.Wait, r.Send = Wait{For: time.Hour}, Send{Template: "x"} },
			[]string{
				"abandoned-cart.wait: wait stands beside steps; move it into a step: each has its own",
				"abandoned-cart.send: send stands beside steps; move it into a step: each has its own",
			},
		},
		"a step with nothing to send": {
			func(r *Rule) { r.Steps[2].Send = Send{} },
			[]string{"abandoned-cart.steps[2].send: there is nothing to send; name a template, a campaign or a text"},
		},
		"no step": {
			func(r *Rule) { r.Steps = []Step{} },
			[]string{"abandoned-cart.steps: there is no step; write a list of steps, each with a send"},
		},
		"too many": {
			func(r *Rule) {
				for len(r.Steps) < 21 {
					r.Steps = append(r.Steps, r.Steps[2])
				}
			},
			[]string{"abandoned-cart.steps[20]: a sequence has at most 20 steps, and here are 21; split them into several triggers"},
		},
		"two messages at once": {
			func(r *Rule) { r.Steps[1].Wait, r.Steps[1].If = Wait{}, nil },
			[]string{"warning: abandoned-cart.steps[1]: follows the step before it at once; give it a wait, as in wait: 3d, or an if"},
		},
		"what is not kept until then": {
			func(r *Rule) { keep := false; r.Keep = &keep },
			[]string{"abandoned-cart.steps[1].if[1]: cart is not kept until the step falls due (keep_variables: false); put the condition into the trigger's if, which is looked at on arrival, or set keep_variables: true"},
		},
		"an event that nobody sends": {
			func(r *Rule) { r.StopOn = []EventIf{"shopfy.order.created"} },
			[]string{`abandoned-cart.stop_on[0]: there is no connector "shopfy"; did you mean "shopify"?`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := three()
			tt.change(&r)
			_, problems := Compile([]Rule{r}, shops)
			if diff := cmp.Diff(tt.want, problemLines(problems)); diff != "" {
				t.Errorf("Compile (-want +got):\n%s", diff)
			}
		})
	}
}
