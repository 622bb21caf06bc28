package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/report"
)

// tell has receivers want to know of kinds.
func (l *ledger) tell(receiver string, patterns ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tells == nil {
		l.tells = map[string][]string{}
	}
	for _, p := range patterns {
		for _, kind := range messaging.KindsOf(p) {
			l.tells[kind] = append(l.tells[kind], receiver)
		}
	}
}

func (l *ledger) outgoing(receiver string, at time.Time, n int) []messaging.Outgoing {
	l.t.Helper()
	got, err := l.outbox().ClaimOutgoing(l.ctx, receiver, at, time.Minute, n)
	l.must(err)
	return got
}

func (l *ledger) endOutgoing(o messaging.Outgoing, state messaging.OutgoingState, at, again time.Time) {
	l.t.Helper()
	e := messaging.OutgoingEnd{ID: o.ID, Attempt: o.Attempt, State: state, At: at, RetryAt: again}
	if state != messaging.OutgoingDelivered {
		e.Error = "it answers 500"
	}
	l.must(l.outbox().FinishOutgoing(l.ctx, e))
}

// allOutgoing delivers all that is due and gives it in its order.
func (l *ledger) allOutgoing(receiver string, at time.Time) (all []messaging.Outgoing) {
	l.t.Helper()
	for {
		some := l.outgoing(receiver, at, 8)
		if len(some) == 0 {
			return all
		}
		for _, o := range some {
			l.endOutgoing(o, messaging.OutgoingDelivered, at, time.Time{})
		}
		all = append(all, some...)
	}
}

func kindsOf(all []messaging.Outgoing) (kinds []string) {
	for _, o := range all {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

const (
	untold    = messaging.OutgoingWaiting
	delivered = messaging.OutgoingDelivered
	givenUp   = messaging.OutgoingGivenUp
)

// outgoing is what is written for receivers under webhooks_out, and how they get it.
func (s suite) outgoing(t *testing.T) {
	t.Run("nobody who wants to know: nothing is written", s.whereNobodyWantsToKnowNothingIsWritten)

	t.Run("a life of a message is told in its order, to each receiver what it wants", s.aLifeOfAMessageIsToldInItsOrder)

	t.Run("a delivery that fails holds back those of its message, and no other", s.aDeliveryThatFailsHoldsBackThoseOfItsMessage)

	t.Run("what a dead process had in hand is due again when its lease ends, and its late end does not count", s.whatADeadProcessHadInHandIsToldAgain)

	t.Run("in doubt, then resolved; cancelled, dropped, a run that ends", s.whatAPersonDecidesIsTold)

	t.Run("what is given up is told with the class of the service's words", s.whatIsGivenUpIsToldWithItsClass)

	t.Run("replay sends again what ended, in its order, and counts first", s.replaySendsAgainWhatEnded)

	t.Run("how it goes with a receiver", s.howItGoesWithAReceiver)

	t.Run("retention removes what ended, and what nobody takes", s.retentionRemovesWhatWasTold)
}

func (s suite) whereNobodyWantsToKnowNothingIsWritten(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.failed")
	l.mustFinish(l.claimed("1"), messaging.StateAccepted)
	if got := l.outgoing("crm", at, 9); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if len(l.out) != 0 {
		t.Errorf("woken: %v", l.out)
	}
}

func (s suite) aLifeOfAMessageIsToldInItsOrder(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.*", "decision.planned")
	l.tell("lake", "message.delivered")
	d := l.claimed("1")
	l.mustFinish(d, messaging.StateAccepted)
	for _, status := range []messaging.Status{"sent", "sent", "delivered", "queued"} {
		p := messaging.Poll{MessageID: d.ID, Status: status, At: noon.Add(time.Hour), NextPollAt: at}
		l.must(l.FinishPoll(l.ctx, p))
	}
	l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: d.ID, Status: "read", At: noon.Add(time.Hour), Final: true}))
	all := l.allOutgoing("crm", at)
	same(t, "kinds", []string{"message.waiting", "decision.planned", "message.accepted", "message.sent", "message.delivered", "message.read"}, kindsOf(all))
	for i, o := range all {
		if o.Change.Message != d.ID || o.Change.Phone != d.Phone || o.Change.Trigger != d.Trigger || o.Change.Event != d.EventID {
			t.Errorf("change %d: %+v", i, o.Change)
		}
	}
	if m := all[2].Change; m.MessageID == "" || m.Status != messaging.StatusAccepted || m.State != "" {
		t.Errorf("message: %+v", m)
	}
	same(t, "kinds of the other", []string{"message.delivered"}, kindsOf(l.allOutgoing("lake", at)))
}

func (s suite) aDeliveryThatFailsHoldsBackThoseOfItsMessage(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.*")
	one, two := l.claimed("1", contact(1)), l.claimed("2", contact(2))
	l.mustFinish(one, messaging.StateRejected)
	l.mustFinish(two, messaging.StateRejected)
	first := l.outgoing("crm", at, 9)
	same(t, "first", []string{"message.waiting", "message.waiting"}, kindsOf(first))
	l.endOutgoing(first[0], untold, at, at.Add(time.Hour))
	l.endOutgoing(first[1], delivered, at, time.Time{})
	next := l.outgoing("crm", at, 9)
	if len(next) != 1 || next[0].Change.Message != two.ID {
		t.Fatalf("after the failure: %+v", next)
	}
	l.endOutgoing(next[0], delivered, at, time.Time{})
	if got := l.outgoing("crm", at.Add(30*time.Minute), 9); len(got) != 0 {
		t.Errorf("too early: %+v", got)
	}
	if due, ok, err := l.outbox().NextOutgoing(l.ctx, "crm"); err != nil || !ok || !due.Equal(at.Add(time.Hour)) {
		t.Errorf("next at %v, %v, %v", due, ok, err)
	}
	late := l.outgoing("crm", at.Add(time.Hour), 9)
	if len(late) != 1 || late[0].Attempt != 2 || late[0].ID != first[0].ID {
		t.Fatalf("an hour later: %+v", late)
	}
	// Given up: what comes after it goes.
	l.endOutgoing(late[0], givenUp, at.Add(time.Hour), time.Time{})
	same(t, "the rest", []string{"message.rejected"}, kindsOf(l.allOutgoing("crm", at.Add(time.Hour))))
}

func (s suite) whatADeadProcessHadInHandIsToldAgain(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.waiting")
	l.enqueue("1")
	first := l.outgoing("crm", at, 9)
	if got := l.outgoing("crm", at.Add(30*time.Second), 9); len(first) != 1 || len(got) != 0 {
		t.Fatalf("%+v, then %+v", first, got)
	}
	l.close()
	l = reopen(t, l.dsn)
	again := l.outgoing("crm", at.Add(time.Minute), 9)
	if len(again) != 1 || again[0].Attempt != 2 {
		t.Fatalf("%+v", again)
	}
	err := l.outbox().FinishOutgoing(l.ctx, messaging.OutgoingEnd{ID: first[0].ID, Attempt: 1, State: delivered, At: at})
	if !errors.Is(err, messaging.ErrClaimLost) {
		t.Errorf("the late end: %v", err)
	}
}

func (s suite) whatAPersonDecidesIsTold(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.in_doubt", "message.cancelled", "message.untracked", "run.*")
	d := l.claimed("1", contact(1))
	l.mustFinish(d, messaging.StateInDoubt)
	l.must(l.Resolve(l.ctx, d.ID, messaging.ResolveAccepted, "seen on the phone"))
	l.must(l.CancelMessage(l.ctx, l.enqueue("2", contact(2)), "by Ann"))
	r := l.mustSet(l.mustStart(aRun("newsletter", "2026-03-02 12:00")), messaging.RunSkipped)
	all := l.allOutgoing("crm", at)
	same(t, "kinds", []string{"message.in_doubt", "message.cancelled", "run.skipped", "message.untracked"}, kindsOf(all))
	if c := all[2].Change; c.Run != r.ID || c.Job != "newsletter" || c.State != "skipped" {
		t.Errorf("run: %+v", c)
	}
	if c := all[3].Change; c.Reason != "seen on the phone" {
		t.Errorf("resolved: %+v", c)
	}
}

// What is given up after words of the service is counted by who gave it up, and told with the class of the words.
func (s suite) whatIsGivenUpIsToldWithItsClass(t *testing.T) {
	l := s.open(t)
	l.tell("crm", "message.dropped")
	a := attempt(l.claimed("1"), messaging.StateDropped)
	a.Class = messaging.ErrorRetry
	l.must(l.Finish(l.ctx, a))
	all := l.allOutgoing("crm", noon.Add(2*time.Hour))
	if len(all) != 1 || all[0].Change.ErrorClass != messaging.ErrorRetry {
		t.Errorf("told: %+v", all)
	}
	same(t, "counts", []string{"trigger dropped /reminder//tries 1"}, l.counted(report.HourQuery{About: "trigger", What: []string{"dropped"}, Details: true, Classes: true}))
	l.recount()
}

func (s suite) replaySendsAgainWhatEnded(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.*")
	d := l.claimed("1", contact(1))
	l.mustFinish(d, messaging.StateRejected)
	l.enqueue("2", contact(2))
	first := l.allOutgoing("crm", at)
	ids := func(all []messaging.Outgoing) (out []int64) {
		for _, o := range all {
			if out = append(out, o.ID); o.Attempt != 1 {
				t.Errorf("attempt %d", o.Attempt)
			}
		}
		return out
	}
	for _, q := range []struct {
		outbox.Replay
		want int64
	}{
		{outbox.Replay{Receiver: "crm"}, 3},
		{outbox.Replay{Receiver: "other"}, 0},
		{outbox.Replay{Receiver: "crm", Message: d.ID}, 2},
		{outbox.Replay{Receiver: "crm", GivenUp: true}, 0},
		{outbox.Replay{Receiver: "crm", Since: noon.Add(24 * time.Hour)}, 0},
	} {
		q.DryRun = true
		if n, err := l.outbox().Replay(l.ctx, q.Replay); err != nil || n != q.want {
			t.Errorf("%+v: %d, %v", q.Replay, n, err)
		}
	}
	if got := l.outgoing("crm", at, 9); len(got) != 0 {
		t.Fatalf("counting sent %+v", got)
	}
	if n, err := l.outbox().Replay(l.ctx, outbox.Replay{Receiver: "crm"}); err != nil || n != 3 {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := l.outbox().Replay(l.ctx, outbox.Replay{Receiver: "crm"}); err != nil || n != 0 {
		t.Fatalf("what waits was counted: %d, %v", n, err)
	}
	again := l.allOutgoing("crm", at)
	if len(again) != 3 || again[0].Kind != "message.waiting" {
		t.Fatalf("%+v", again)
	}
	same(t, "ids", len(ids(first)), len(ids(again)))
}

func (s suite) howItGoesWithAReceiver(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.waiting")
	l.enqueue("1", contact(1))
	l.enqueue("2", contact(2))
	got := l.outgoing("crm", at, 9)
	l.endOutgoing(got[0], givenUp, at, time.Time{})
	state := func() outbox.ReceiverState {
		t.Helper()
		all, err := l.outbox().ReceiverStates(l.ctx)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0]
	}
	if s := state(); s.Waiting != 1 || s.GivenUp != 1 || !s.FailingSince.Equal(at) || s.LastError != "it answers 500" || s.Oldest.IsZero() {
		t.Errorf("%+v", s)
	}
	l.endOutgoing(got[1], delivered, at.Add(time.Hour), time.Time{})
	if s := state(); s.Waiting != 0 || !s.FailingSince.IsZero() || !s.DeliveredAt.Equal(at.Add(time.Hour)) {
		t.Errorf("%+v", s)
	}
}

func (s suite) retentionRemovesWhatWasTold(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.tell("crm", "message.waiting")
	l.tell("gone", "message.waiting")
	l.enqueue("1", contact(1))
	l.allOutgoing("crm", at)
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{{6 * 24 * time.Hour, 0}, {8 * 24 * time.Hour, 1}, {31 * 24 * time.Hour, 1}} {
		run, err := l.privacy().Retain(l.ctx, privacy.Retention{WebhooksOut: 7 * 24 * time.Hour}, at.Add(step.after))
		if err != nil || run.Removed["webhooks_out"] != step.want {
			t.Errorf("after %v: %v, %v", step.after, run.Removed, err)
		}
	}
	if got := l.outgoing("gone", at.Add(time.Hour), 9); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
