package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// losses are the ways in which a claim's end comes to be known by nobody. The claim is of the time at.
var losses = map[string]func(l *ledger, d messaging.Message, at time.Time){
	"after a crash": func(l *ledger, _ messaging.Message, at time.Time) {
		n, err := l.RescueClaims(l.ctx, at.Add(time.Second), "after the crash")
		if err != nil || n.Doubtful != 1 {
			l.t.Fatalf("RescueClaims says %+v (%v)", n, err)
		}
	},
	"after an answer that was lost": func(l *ledger, d messaging.Message, _ time.Time) {
		a := attempt(d, messaging.StateInDoubt)
		switch {
		case d.ResendsInDoubt(l.doubt, a.At):
			a.State, a.RetryAt, a.Doubtful = messaging.StateWaiting, a.At, true
		case d.InDoubt(l.doubt) == messaging.DoubtDrop:
			a.State, a.Doubtful, a.DroppedBy = messaging.StateDropped, true, messaging.EndedByDoubt
		}
		l.must(l.Finish(l.ctx, a))
	},
}

// lose loses the end of a claim made an hour after noon, when a cart is due.
func (l *ledger) lose(when string, d messaging.Message) {
	l.t.Helper()
	losses[when](l, d, noon.Add(time.Hour))
}

// lastIs holds that whoever comes with the same key again is told of this message as the last one sent.
func (l *ledger) lastIs(id messaging.MessageID) {
	l.t.Helper()
	if last := l.lastFacts().Last; last == nil || last.ID != id || !last.At.Equal(noon.Add(time.Hour)) {
		l.t.Errorf("the same key again is told of %+v", last)
	}
}

// doubts is what becomes of a message of which nobody knows whether it was taken, as on_doubt of its trigger says,
// after an answer that was lost and after a crash; and that it counts as sent from then on, also where it is let be.
func (s suite) doubts(t *testing.T) {
	for when := range losses {
		for rule, want := range map[messaging.OnDoubt]messaging.State{
			messaging.DoubtHold: messaging.StateInDoubt, messaging.DoubtDrop: messaging.StateDropped, messaging.DoubtResend: messaging.StateWaiting,
		} {
			t.Run(string(rule)+" "+when, func(t *testing.T) { s.whatIsLostBecomesWhatItsRuleSays(t, when, rule, want) })
		}
		t.Run("it is sent again twice, and then a person decides, "+when, func(t *testing.T) { s.whatIsLostIsSentAgainTwice(t, when) })
	}
	t.Run("a reload that says drop means what is lost from then on, and a person's word lets be as well", s.aReloadMeansWhatIsLostFromThenOn)
	for when := range losses {
		for what, end := range map[string]func(*ledger, messaging.MessageID){
			"it expires": func(l *ledger, _ messaging.MessageID) {
				same(l.t, "claimed past its expiry", 0, len(l.ids(noon.Add(48*time.Hour))))
			},
			"it is cancelled": func(l *ledger, _ messaging.MessageID) { l.mustAccept(order("1")) },
			"a person calls it off": func(l *ledger, id messaging.MessageID) {
				l.must(l.CancelMessage(l.ctx, id, ""))
			},
		} {
			t.Run("what waits to be sent again counts as sent when "+what+", "+when, func(t *testing.T) { s.whatWaitsToGoAgainCountsAsSent(t, when, end) })
		}
		for _, asked := range []bool{true, false} {
			t.Run(fmt.Sprintf("who may have been reached is one of the account's contacts, %s, asked before: %v", when, asked), func(t *testing.T) {
				s.whoMayHaveBeenReachedIsAContact(t, when, asked)
			})
		}
	}
	t.Run("what was dropped and surely not taken counts nowhere", s.whatWasDroppedUnsentCountsNowhere)
	t.Run("what was called off or blocked meanwhile is held, not sent again", s.whatWasCalledOffMeanwhileIsHeld)
}

func (s suite) whatIsLostBecomesWhatItsRuleSays(t *testing.T, when string, rule messaging.OnDoubt, want messaging.State) {
	l := s.open(t)
	l.inDoubt(rule)
	d := l.claimed("1")
	l.lose(when, d)
	d = l.message(d.ID)
	if d.State != want || d.Reason == "" {
		t.Fatalf("%s: %q", d.State, d.Reason)
	}
	if rule == messaging.DoubtResend {
		return
	}
	l.enqueue("1", dedupe("the cart again"))
	l.lastIs(d.ID)
	if last := l.lastFacts().Last; last != nil {
		same(t, "state of the last", want, last.State)
	}
	l.ruleBy(atMost{n: 1, within: time.Hour})
	same(t, "a limit lets go", []messaging.MessageID(nil), l.ids(noon.Add(61*time.Minute)))
	l.recount()
}

func (s suite) whatIsLostIsSentAgainTwice(t *testing.T, when string) {
	l := s.open(t)
	l.inDoubt(messaging.DoubtResend)
	id := l.enqueue("1")
	at := noon.Add(time.Hour)
	for range 3 {
		got := l.mustClaim(at, 1)
		if len(got) != 1 {
			t.Fatalf("claimed %+v; it is %+v", got, l.message(id))
		}
		losses[when](l, got[0], at)
		at = at.Add(2 * time.Second)
	}
	d := l.message(id)
	if d.State != messaging.StateInDoubt || d.Attempt != 3 {
		t.Errorf("%s after %d attempts", d.State, d.Attempt)
	}
}

func (s suite) aReloadMeansWhatIsLostFromThenOn(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1")
	l.lose("after a crash", d)
	l.inDoubt(messaging.DoubtDrop)
	same(t, "held still", messaging.StateInDoubt, l.message(d.ID).State)
	l.must(l.Resolve(l.ctx, d.ID, messaging.ResolveDrop, ""))
	l.enqueue("1", dedupe("the cart again"))
	l.lastIs(d.ID)
}

func (s suite) whatWaitsToGoAgainCountsAsSent(t *testing.T, when string, end func(*ledger, messaging.MessageID)) {
	l := s.open(t)
	l.inDoubt(messaging.DoubtResend)
	d := l.claimed("1", expires(noon.Add(24*time.Hour)))
	l.lose(when, d)
	same(t, "sent again", messaging.StateWaiting, l.message(d.ID).State)
	end(l, d.ID)
	if got := l.message(d.ID).State; got != messaging.StateDropped && got != messaging.StateCancelled {
		t.Fatalf("it is %s", got)
	}
	same(t, "the attempt", messaging.StateInDoubt, l.story(d.ID).Attempts[0].State)
	went, _, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{State: l.message(d.ID).State}, Now: noon.Add(49 * time.Hour)})
	if err != nil || len(went) > 0 {
		t.Errorf("retry sends it once more: %+v (%v)", went, err)
	}
	l.mustAccept(cart("1", dedupe("the cart again")))
	l.lastIs(d.ID)
	other := l.enqueue("2", due(noon.Add(time.Hour)), expires(noon.Add(1000*time.Hour)))
	l.ruleBy(atMost{n: 1, within: 72 * time.Hour})
	same(t, "a limit lets go", []messaging.MessageID(nil), l.ids(noon.Add(50*time.Hour)))
	same(t, "what it keeps back", 1, len(l.story(other).Verdicts))
	l.recount()
}

func (s suite) whoMayHaveBeenReachedIsAContact(t *testing.T, when string, asked bool) {
	for _, rule := range []messaging.OnDoubt{messaging.DoubtDrop, messaging.DoubtResend} {
		l := s.open(t)
		l.inDoubt(rule)
		rules := unique{most: 1, within: 72 * time.Hour}
		if asked {
			l.ruleBy(rules)
		}
		d := l.claimed("1")
		l.lose(when, d)
		if rule == messaging.DoubtResend {
			l.mustAccept(order("1"))
		}
		l.ruleBy(rules)
		l.enqueue("2", phone("447700900999"))
		same(t, string(rule)+": another contact goes", []messaging.MessageID(nil), l.ids(noon.Add(61*time.Minute)))
	}
}

func (s suite) whatWasDroppedUnsentCountsNowhere(t *testing.T) {
	l := s.open(t)
	l.mustFinish(l.claimed("1"), messaging.StateDropped)
	again := l.enqueue("1", dedupe("the cart again"))
	if last := l.lastFacts().Last; last != nil {
		t.Errorf("the same key again is told of %+v", last)
	}
	l.ruleBy(atMost{n: 1, within: time.Hour})
	same(t, "a limit lets go", []messaging.MessageID{again}, l.ids(noon.Add(61*time.Minute)))
}

func (s suite) whatWasCalledOffMeanwhileIsHeld(t *testing.T) {
	l := s.open(t)
	l.inDoubt(messaging.DoubtResend)
	d := l.claimed("1")
	l.mustAccept(order("1"))
	l.lose("after a crash", d)
	same(t, "after its order", messaging.StateInDoubt, l.message(d.ID).State)
	if n := len(l.ids(noon.Add(61 * time.Minute))); n != 0 {
		t.Errorf("%d go", n)
	}
}
