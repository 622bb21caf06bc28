package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// stepped makes a sequence of the plan's one message: a step an hour after the one before it.
func stepped(n int) change {
	return func(p *messaging.Plan) {
		w := &p.Proposals[0]
		for i := range n {
			one := messaging.PlannedStep{Message: w.Message, Rule: messaging.StepRule{Of: n, Wait: "1h"}}
			one.Message.Step, one.Message.DueAt = i+1, w.Message.DueAt.Add(time.Duration(i)*time.Hour)
			if i > 0 {
				one.Rule.If = []string{`previous.status != "failed"`}
			}
			w.Steps = append(w.Steps, one)
		}
	}
}

// sequence stores a sequence of three and returns its messages.
func (l *ledger) sequence(key string, changes ...change) (ids [3]messaging.MessageID) {
	l.t.Helper()
	first := l.enqueue(key, append([]change{stepped(3)}, changes...)...)
	for i := range ids {
		ids[i] = first + messaging.MessageID(i)
		if d := l.message(ids[i]); d.Step != i+1 {
			l.t.Fatalf("message %d is step %d", d.ID, d.Step)
		}
	}
	return ids
}

// stepFacts are those of a stored step.
func (l *ledger) stepFacts(id messaging.MessageID) messaging.StepFacts {
	l.t.Helper()
	d := l.message(id)
	f, err := l.StepFacts(l.ctx, &d)
	l.must(err)
	return f
}

func (l *ledger) states(ids ...messaging.MessageID) (out []messaging.State) {
	for _, id := range ids {
		out = append(out, l.message(id).State)
	}
	return out
}

const (
	isWaiting   = messaging.StateWaiting
	isSending   = messaging.StateSending
	isAccepted  = messaging.StateAccepted
	isCancelled = messaging.StateCancelled
	isDropped   = messaging.StateDropped
)

// sequences are the operations on the steps of a trigger: planned in one commit, each due at its time, ended together.
func (s suite) sequences(t *testing.T) {
	t.Run("all steps are stored with their event, each with its own time and rule, and survive a restart", s.allStepsAreStoredWithTheirEvent)
	t.Run("what is no step has no facts of a step", s.whatIsNoStepHasNoFactsOfAStep)
	t.Run("a step is told what became of the one before", s.aStepIsToldWhatBecameOfTheOneBefore)
	t.Run("the first step asks nothing and knows nothing before it", s.theFirstStepAsksNothing)
	t.Run("a step whose conditions do not hold is passed over by the next, and the decision is its event's", s.aStepWhoseConditionsDoNotHoldIsPassedOver)
	t.Run("a step that is put off keeps its rule, and its expiry moves along", s.aStepThatIsPutOffKeepsItsRule)
	t.Run("an event that cancels ends what waits of it in its commit, and a step in hand does not come back", s.anEventThatCancelsEndsWhatWaitsOfASequence)
	t.Run("a repeat renews what waits and stores what is new, in the sequence that is there", s.aRepeatRenewsWhatWaitsOfASequence)
	t.Run("a step in doubt that goes again by a person's word stays a step; the next is told that it waits", s.aStepInDoubtThatGoesAgainStaysAStep)
	t.Run("a crash in a step leaves the others as they are", s.aCrashInAStepLeavesTheOthers)
	t.Run("rules of the due moment ask about each step, and one that is deferred can be cancelled", s.rulesAskAboutEachStep)
	t.Run("a halt, a block and a person's cancel mean steps as they mean messages", s.haltsBlocksAndCancelsMeanSteps)
}

func (s suite) allStepsAreStoredWithTheirEvent(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l = reopenAfter(t, l)
	for i, id := range ids {
		d := l.story(id)
		same(t, "due", at.Add(time.Duration(i)*time.Hour), d.DueAt)
		want := messaging.StepRule{Of: 3, Wait: "1h"}
		if i > 0 {
			want.If = []string{`previous.status != "failed"`}
		}
		same(t, "rule", &want, d.Rule)
	}
	same(t, "claimed at the first time", ids[:1], l.ids(at))
	same(t, "claimed at the second", ids[1:2], l.ids(at.Add(time.Hour)))
	l.recount()
}

func (s suite) whatIsNoStepHasNoFactsOfAStep(t *testing.T) {
	l := s.open(t)
	d := l.message(l.enqueue("1"))
	if _, err := l.StepFacts(l.ctx, &d); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func (s suite) aStepIsToldWhatBecameOfTheOneBefore(t *testing.T) {
	at := noon.Add(time.Hour)
	end := at.Add(time.Second)
	tests := map[string]struct {
		end  func(*ledger, messaging.Message)
		want messaging.StepBefore
		was  messaging.Previous
	}{
		"it is being sent": {func(*ledger, messaging.Message) {}, messaging.StepBefore{State: isSending, DueAt: at}, messaging.Previous{Status: "sending"}},
		"it was accepted": {
			func(l *ledger, d messaging.Message) { l.mustFinish(d, isAccepted) },
			messaging.StepBefore{State: isAccepted, DueAt: at, EndedAt: end},
			messaging.Previous{Status: "accepted", SentAt: end},
		},
		"its message failed": {
			func(l *ledger, d messaging.Message) {
				l.mustFinish(d, isAccepted)
				l.says(d.ID, messaging.StatusFailed, messaging.ErrorPermanent, "invalid phone", end.Add(time.Minute))
			},
			messaging.StepBefore{State: isAccepted, DueAt: at, EndedAt: end},
			messaging.Previous{Status: "failed", ErrorClass: "permanent", SentAt: end},
		},
		"it was rejected": {
			func(l *ledger, d messaging.Message) {
				l.refused(d, messaging.StateRejected, messaging.ErrorOptOut, "has opted out", end)
			},
			messaging.StepBefore{State: messaging.StateRejected, DueAt: at, EndedAt: end},
			messaging.Previous{Status: "rejected", ErrorClass: "opt_out"},
		},
		"it is in doubt": {
			func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateInDoubt) },
			messaging.StepBefore{State: messaging.StateInDoubt, DueAt: at, EndedAt: at},
			messaging.Previous{Status: "in_doubt", SentAt: at},
		},
		"it waits again": {
			func(l *ledger, d messaging.Message) { l.mustFinish(d, isWaiting) },
			messaging.StepBefore{State: isWaiting, DueAt: end.Add(time.Minute)},
			messaging.Previous{Status: "waiting"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			ids := l.sequence("1")
			tt.end(l, l.mustClaim(at, 1)[0])
			f := l.stepFacts(ids[1])
			tt.want.Step = 1
			same(t, "before", &tt.want, f.Before)
			if diff := cmp.Diff(tt.was, f.Previous, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("previous (-want +got):\n%s", diff)
			}
			if f.Event == nil || f.Event.DedupeKey != "d-1" {
				t.Errorf("its event: %+v", f.Event)
			}
		})
	}
}

func (s suite) theFirstStepAsksNothing(t *testing.T) {
	l := s.open(t)
	f := l.stepFacts(l.sequence("1")[0])
	same(t, "facts", messaging.StepFacts{Rule: messaging.StepRule{Of: 3, Wait: "1h"}}, f)
}

func (s suite) aStepWhoseConditionsDoNotHoldIsPassedOver(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l.mustFinish(l.mustClaim(at, 1)[0], isAccepted)
	second := l.mustClaim(at.Add(time.Hour), 1)[0]
	a := attempt(second, isDropped)
	a.Decision = &messaging.Decision{
		EventID: second.EventID, Trigger: "remind", Outcome: messaging.Skipped, Reason: "step 2 of 3 was not wanted", Key: "1", MessageID: second.ID, Config: "v1", At: a.At,
	}
	l.must(l.Finish(l.ctx, a))
	f := l.stepFacts(ids[2])
	same(t, "the step before it", 2, f.Before.Step)
	same(t, "previous", "accepted", f.Previous.Status)
	story := l.eventRow(second.EventID)
	last := story.Decisions[len(story.Decisions)-1]
	if last.Reason != a.Decision.Reason || last.Outcome != messaging.Skipped || last.MessageID != second.ID {
		t.Errorf("the event's newest decision: %+v", last)
	}
	l.recount()
}

func (s suite) aStepThatIsPutOffKeepsItsRule(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1", func(p *messaging.Plan) {
		for i := range p.Proposals[0].Steps {
			d := &p.Proposals[0].Steps[i].Message
			d.ExpiresAt = d.DueAt.Add(30 * time.Minute)
		}
	})
	second := l.mustClaim(at.Add(time.Hour), 2)[0]
	if second.ID != ids[1] { // the first is past its expiry and was dropped on the way
		t.Fatalf("claimed message %d", second.ID)
	}
	a := attempt(second, isWaiting)
	a.RetryAt, a.PutOff = second.DueAt.Add(3*time.Hour), true
	l.must(l.Finish(l.ctx, a))
	d := l.story(ids[1])
	same(t, "due", a.RetryAt, d.DueAt)
	same(t, "expires", a.RetryAt.Add(30*time.Minute), d.ExpiresAt)
	same(t, "states", []messaging.State{isDropped, isWaiting, isWaiting}, l.states(ids[:]...))
}

func (s suite) anEventThatCancelsEndsWhatWaitsOfASequence(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	other := l.sequence("2", phone("447700900999"))
	first := l.mustClaim(at, 1)[0]
	l.settleBy(func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		done := insert(w, f)
		same(t, "waiting", 2, len(f.Waiting))
		same(t, "open", 1, len(f.Open))
		return done
	})
	l.mustAccept(order("1"))
	same(t, "after the order", []messaging.State{isSending, isCancelled, isCancelled}, l.states(ids[:]...))
	if l.factsOf(&first).CalledOff == "" {
		t.Error("the look before the call does not see the order")
	}
	l.mustFinish(first, isWaiting)
	same(t, "it is not sent again", []messaging.State{isCancelled}, l.states(ids[0]))
	same(t, "another sequence goes on", []messaging.State{isSending, isWaiting, isWaiting}, append(l.states(l.ids(at)...), l.states(other[1], other[2])...))
	l.recount()
}

func (s suite) aRepeatRenewsWhatWaitsOfASequence(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l.mustFinish(l.mustClaim(at, 1)[0], isAccepted)
	later := at.Add(5 * time.Hour)
	l.settleBy(func(_ messaging.Proposal, f messaging.Facts) messaging.Settlement {
		want := &messaging.Sequence{ID: ids[0], Steps: []messaging.SequenceStep{{ID: ids[0], Step: 1}, {ID: ids[1], Step: 2}, {ID: ids[2], Step: 3}}}
		same(t, "sequence", want, f.Sequence)
		return messaging.Settlement{
			Outcome: messaging.Restarted, Sequence: f.Sequence.ID, Cancel: ids[2:],
			Renew: []messaging.Renewal{{Step: 1, ID: ids[1], DueAt: later}, {Step: 3, DueAt: later.Add(time.Hour)}},
		}
	})
	l.mustAccept(cart("1", stepped(4), dedupe("again"), func(p *messaging.Plan) {
		for i := range p.Proposals[0].Steps {
			p.Proposals[0].Steps[i].Message.Send.Variables = []string{"new"}
		}
	}))
	fourth := ids[2] + 1
	same(t, "states", []messaging.State{isAccepted, isWaiting, isCancelled, isWaiting}, l.states(ids[0], ids[1], ids[2], fourth))
	d := l.story(ids[1])
	if !d.DueAt.Equal(later) || d.Send.Variables[0] != "new" || d.Rule.Of != 4 || d.Restarts != 1 {
		t.Errorf("renewed: %+v of %+v", d.Message, d.Rule)
	}
	if f := l.stepFacts(fourth); f.Before == nil || f.Before.Step != 3 {
		t.Errorf("the new one follows %+v", f.Before)
	}
	l.recount()
}

func (s suite) aStepInDoubtThatGoesAgainStaysAStep(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l.mustFinish(l.mustClaim(at, 1)[0], messaging.StateInDoubt)
	l.must(l.Resolve(l.ctx, ids[0], messaging.ResolveResend, ""))
	if f := l.stepFacts(ids[1]); f.Before.State != isWaiting || !f.Before.EndedAt.IsZero() {
		t.Errorf("before: %+v", f.Before)
	}
}

func (s suite) aCrashInAStepLeavesTheOthers(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l.mustClaim(at, 1)
	l = reopenAfter(t, l)
	if _, err := l.RescueClaims(l.ctx, at.Add(time.Second), "after the crash"); err != nil {
		t.Fatal(err)
	}
	same(t, "states", []messaging.State{messaging.StateInDoubt, isWaiting, isWaiting}, l.states(ids[:]...))
	same(t, "previous", "in_doubt", l.stepFacts(ids[1]).Previous.Status)
}

func (s suite) rulesAskAboutEachStep(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l.ruleBy(atMost{n: 1, within: 24 * time.Hour})
	same(t, "claimed", ids[:1], l.ids(at))
	same(t, "claimed an hour later", 0, len(l.ids(at.Add(time.Hour))))
	d := l.story(ids[1])
	if len(d.Verdicts) != 1 || d.Verdicts[0].Action != messaging.DeferSend || d.Rule == nil {
		t.Errorf("verdicts %+v, rule %+v", d.Verdicts, d.Rule)
	}
	l.mustAccept(order("1"))
	same(t, "after the order", []messaging.State{isSending, isCancelled, isCancelled}, l.states(ids[:]...))
	l.review(0)
}

func (s suite) haltsBlocksAndCancelsMeanSteps(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	ids := l.sequence("1")
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"})
	same(t, "halted", 0, len(l.ids(at.Add(9*time.Hour))))
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Name: "remind", Kind: messaging.HoldHalt}))
	l.must(l.CancelMessage(l.ctx, ids[1], ""))
	same(t, "states", []messaging.State{isWaiting, isCancelled, isWaiting}, l.states(ids[:]...))
	same(t, "claimed", []messaging.MessageID{ids[0], ids[2]}, l.ids(at.Add(9*time.Hour)))
	same(t, "previous of the third", "cancelled", l.stepFacts(ids[2]).Previous.Status)
}
