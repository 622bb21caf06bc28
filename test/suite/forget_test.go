package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// secret is what no read may show, and code an event that plans a message with it, of a trigger
// that keeps no variables.
const secret = "480193"

func code(p *messaging.Plan) {
	p.Forgets = true
	p.Event.Payload = []byte(`{"code":"` + secret + `"}`)
	p.Event.Form.Answers = map[string]string{"code": secret}
	p.Event.Unread = []string{`amount is "` + secret + `", which is no amount`}
	w := &p.Proposals[0]
	w.Decision.Clauses = []messaging.Clause{{Text: "raw.code != nil", Held: true, Values: []messaging.Value{{Name: "raw.code", Value: secret}}}}
	w.Message.Category = messaging.Authentication
	w.Message.Send = messaging.Send{Template: "login_code", Language: "en", Variables: []string{secret}, Forget: true}
}

// mute fails when anything that people read says the secret.
func (l *ledger) mute(id messaging.MessageID) messaging.Message {
	l.t.Helper()
	d := l.message(id)
	told, err := l.MessageStory(l.ctx, id)
	l.must(err)
	event := l.eventRow(d.EventID)
	if all := fmt.Sprintf("%+v %+v %+v", d, told, event); strings.Contains(all, secret) || !event.Forgotten || len(event.Payload) > 0 {
		l.t.Errorf("it is told: %s", all)
	}
	if want := (messaging.Send{Template: "login_code", Language: "en", Forget: true}); fmt.Sprint(d.Send) != fmt.Sprint(want) {
		l.t.Errorf("what is told of the send is %+v", d.Send)
	}
	return d
}

// forget walks a message whose variables are not kept through every end, and to every way back.
func (s suite) forget(t *testing.T) {
	ends := map[string]struct {
		change change
		end    func(*ledger, messaging.Message)
		want   messaging.State
	}{
		"accepted":              {nil, func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateAccepted) }, messaging.StateAccepted},
		"rejected":              {nil, func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateRejected) }, messaging.StateRejected},
		"dropped":               {nil, func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateDropped) }, messaging.StateDropped},
		"in doubt":              {nil, func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateInDoubt) }, messaging.StateInDoubt},
		"in doubt by its lease": {category(messaging.Utility), func(l *ledger, _ messaging.Message) { l.lapse() }, messaging.StateInDoubt},
		"called off": {nil, func(l *ledger, d messaging.Message) {
			l.mustAccept(order("1"))
			l.mustFinish(d, messaging.StateWaiting)
		}, messaging.StateCancelled},
		"blocked": {category(messaging.Utility), func(l *ledger, d messaging.Message) {
			l.person(d.Phone)
			l.mustFinish(d, messaging.StateWaiting)
		}, messaging.StateDropped},
		"taken after all": {category(messaging.Utility), func(l *ledger, d messaging.Message) {
			l.lapse()
			l.mustFinish(d, messaging.StateAccepted)
		}, messaging.StateAccepted},
	}
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			changes := []change{code}
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			d := l.claimed("1", changes...)
			if !slices.Equal(d.Send.Variables, []string{secret}) {
				t.Fatalf("whoever sends it gets %+v", d.Send)
			}
			if got := l.mute(d.ID); got.Forgotten() {
				t.Error("it is forgotten while it is sent")
			}
			tt.end(l, d)
			if got := l.mute(d.ID); got.State != tt.want || !got.Forgotten() {
				t.Errorf("%s (%s), forgotten %v", got.State, got.Reason, got.Forgotten())
			}
		})
	}
	t.Run("one that never was sent", s.whatNeverWasSentIsForgotten)
	t.Run("a resend in doubt has its variables until the third attempt", s.aResendInDoubtHasItsVariablesUntilTheThirdAttempt)
	t.Run("a person cannot have it sent again", s.aPersonCannotHaveTheForgottenSentAgain)
	t.Run("messages retry passes over it, whatever its category", s.aRetryPassesOverTheForgotten)
	t.Run("a later event renews what waits, kept or not", s.aLaterEventRenewsWhatWaitsKeptOrNot)
	t.Run("a look-up has the event whole, and what it planned has not", s.aLookUpHasTheEventWhole)
}

func (s suite) whatNeverWasSentIsForgotten(t *testing.T) {
	l := s.open(t)
	cancelled, expired := l.enqueue("1", code), l.enqueue("2", code, expires(noon.Add(time.Minute)))
	event := l.enqueue("3", code)
	l.must(l.CancelMessage(l.ctx, cancelled, ""))
	l.mustAccept(order("3"))
	l.mustClaim(noon.Add(time.Hour), 5)
	for _, id := range []messaging.MessageID{cancelled, expired, event} {
		if d := l.mute(id); !d.Forgotten() {
			t.Errorf("message %d is %s", id, d.State)
		}
	}
}

func (s suite) aResendInDoubtHasItsVariablesUntilTheThirdAttempt(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1", code)
	at := noon.Add(time.Hour)
	for n := 1; n <= 3; n++ {
		got := l.mustClaim(at, 1)
		if len(got) != 1 || got[0].Attempt != n || !slices.Equal(got[0].Send.Variables, []string{secret}) {
			t.Fatalf("attempt %d: %+v", n, got)
		}
		l.Store.Close()
		l.Store = reopen(t, l.dsn).Store // another process finds the claim of one that died
		if _, err := l.RescueClaims(l.ctx, at, "another"); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
	}
	if d := l.mute(id); d.State != messaging.StateInDoubt || !d.Forgotten() {
		t.Errorf("%+v", d)
	}
}

func (s suite) aPersonCannotHaveTheForgottenSentAgain(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", code)
	l.mustFinish(d, messaging.StateInDoubt)
	wantErr(t, l.Resolve(l.ctx, d.ID, messaging.ResolveResend, ""), fmt.Sprintf("message %d: its variables are not kept (keep_variables: false), so it cannot be sent again; "+
		"resolve it as accepted or drop, and have the sender make a new one", d.ID))
	all := store.MessageFilter{}
	if n, err := l.ResolveAll(l.ctx, all, messaging.ResolveResend, "again"); n != 0 || err != nil {
		t.Errorf("%d resent, %v", n, err)
	}
	if got := l.mute(d.ID); got.State != messaging.StateInDoubt {
		t.Errorf("%+v", got)
	}
	if n, err := l.ResolveAll(l.ctx, all, messaging.ResolveDrop, "let be"); n != 1 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
}

func (s suite) aRetryPassesOverTheForgotten(t *testing.T) {
	l := s.open(t)
	d := l.claimed("1", code, category(messaging.Utility))
	l.mustFinish(d, messaging.StateRejected)
	went, stayed, err := l.Retry(l.ctx, store.Retry{
		Filter: store.MessageFilter{State: messaging.StateRejected}, Now: noon.Add(2 * time.Hour),
	})
	if err != nil || len(went) != 0 || len(stayed) != 1 || stayed[0].Words != "said what is kept no more (keep_variables: false)" {
		t.Errorf("went %v, stayed %v, %v", went, stayed, err)
	}
}

func (s suite) aLaterEventRenewsWhatWaitsKeptOrNot(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1", code)
	l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Restarted, Restart: id}
	})
	l.mustAccept(cart("1", dedupe("again")))
	got := l.mustClaim(noon.Add(time.Hour), 1)
	l.mustFinish(got[0], messaging.StateRejected)
	if d := l.message(id); len(d.Send.Variables) != 2 || d.Forgotten() {
		t.Errorf("a message that is kept: %+v", d)
	}
}

func (s suite) aLookUpHasTheEventWhole(t *testing.T) {
	l := s.open(t)
	id := l.mustAccept(later("a", func(p *messaging.Plan) { p.Event.Payload, p.Forgets = []byte(secret), true })).EventID
	got := l.claimLookups(noon, 1)
	if len(got) != 1 || string(got[0].Event.Payload) != secret {
		t.Fatalf("%+v", got)
	}
	plan := found(got[0].Event)
	code(&plan)
	r, err := l.Complete(l.ctx, got[0], plan)
	l.must(err)
	if d := l.mute(r.Decisions[0].MessageID); d.EventID != id {
		t.Errorf("%+v", d)
	}
}
