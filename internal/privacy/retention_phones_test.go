package privacy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// keepPhones masks phones and removes nothing but what phones stand in.
var keepPhones = Retention{Payloads: 30 * day, Decisions: 90 * day, Attempts: 90 * day, RejectedRequests: 30 * day, Phones: 180 * day}

// stands is where in the tables a phone stands, but for consents, which are kept, and payloads, which have an age of their own.
func (a aging) stands(phone string) []string {
	a.Helper()
	return slices.DeleteFunc(a.holds(phone), func(where string) bool {
		return strings.HasPrefix(where, "nudgewire.db") || where == "consents.phone" || where == "events.content"
	})
}

// one queues and sends a message and says how it ended.
func (a aging) one(phone, key string, end messaging.State, due time.Time) messaging.MessageID {
	a.Helper()
	id := a.event(phone, phone, func(p *messaging.Plan) {
		p.Proposals[0].Correlation.Key, p.Proposals[0].Message.DueAt = key, due
	}).Decisions[0].MessageID
	if due.After(a.now) {
		return id
	}
	a.end(end)
	return id
}

// end sends what is due.
func (a aging) end(state messaging.State) {
	a.Helper()
	for _, d := range a.claim(9) {
		a.finish(&d, state, func(at *messaging.Attempt) {
			if at.Message != nil {
				at.Message.Status, at.Message.NextPollAt, at.Message.Error = "failed", time.Time{}, "no such number: "+string(d.Phone)
			}
		})
	}
}

func TestPhonesAreMaskedAfterTheirTime(t *testing.T) {
	a := openAging(t)
	began := a.now
	for _, state := range []messaging.State{messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateDropped} {
		a.one(forgottenPhone, "cart of "+forgottenPhone, state, a.now)
	}
	a.must(a.Resolve(t.Context(), 3, messaging.ResolveDrop, "told "+forgottenPhone+" by hand"))
	a.event(forgottenPhone, forgottenPhone, func(p *messaging.Plan) { // nobody wants it
		p.Event.Topic = "carts/" + forgottenPhone
		p.Proposals[0].Decision.Outcome, p.Proposals[0].Message = messaging.Skipped, messaging.Message{}
	})
	a.now = began.Add(179 * day)
	a.retain(keepPhones)
	young := a.one(otherPhone, "young", messaging.StateAccepted, a.now)
	if found, err := a.Messages(t.Context(), store.MessageFilter{Phone: forgottenPhone}); err != nil || len(found) != 4 {
		t.Fatalf("after 179 days %d are found (%v)", len(found), err)
	}
	a.now = began.Add(181 * day)
	run := a.retain(keepPhones)
	if run.Removed[kindPhones] != 9 { // four messages, five events
		t.Errorf("masked %v", run.Removed)
	}
	if where := a.stands(forgottenPhone); len(where) > 0 {
		t.Errorf("it stands in %s", where)
	}
	for id := messaging.MessageID(1); id <= 4; id++ {
		d, err := a.MessageStory(t.Context(), id)
		a.must(err)
		if d.Phone != "4477******23" || d.Key != "" || len(d.Send.Variables) > 0 || d.Send.Template != "t" {
			t.Errorf("%+v", d.Message)
		}
	}
	if e, err := a.Event(t.Context(), 5); err != nil || e.Contact.Phone != "4477******23" || e.Topic != "carts/999999999999" {
		t.Errorf("%+v (%v)", e, err)
	}
	for phone, want := range map[messaging.Phone]int{forgottenPhone: 0, otherPhone: 1} {
		found, err := a.Messages(t.Context(), store.MessageFilter{Phone: phone})
		events, bad := a.Events(t.Context(), store.EventFilter{Phone: phone})
		if err != nil || bad != nil || len(found) != want || len(events) != want {
			t.Errorf("by its phone %d messages and %d events are found, not %d (%v, %v)", len(found), len(events), want, err, bad)
		}
	}
	if d, err := a.Message(t.Context(), young); err != nil || d.Phone != otherPhone {
		t.Errorf("%+v (%v)", d, err)
	}

	// It is not sent again, and says why.
	went, stayed, err := a.Retry(t.Context(), store.Retry{Filter: store.MessageFilter{State: messaging.StateRejected}, Now: a.now})
	a.must(err)
	if len(went) > 0 || len(stayed) != 1 || !strings.Contains(stayed[0].Words, "retention.phones") {
		t.Errorf("went %v, stayed %v", went, stayed)
	}
	// Forgetting finds nothing that it would have to take away, of the contact or of what came by the connector.
	before := a.rows()
	a.must(a.Forget(t.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
	if waits := a.erase(); waits != "" {
		t.Error(waits)
	}
	a.must(a.ForgetConnector(t.Context(), "shop", "by hand"))
	if waits := a.erase(); waits != "" {
		t.Error(waits)
	}
	if d, err := a.Message(t.Context(), 1); err != nil || d.Phone != "" || a.rows()["messages"] != before["messages"] {
		t.Errorf("%+v (%v), %v", d, err, a.rows())
	}
	a.must(a.Check(t.Context()))
}

// What a rule still looks back at keeps its phone: a message that waited long counts since it was sent.
func TestAMessageIsMaskedSinceItsEnd(t *testing.T) {
	a := openAging(t)
	began := a.now
	long := a.one(forgottenPhone, "long", messaging.StateAccepted, began.Add(200*day))
	a.one(otherPhone, "soon", messaging.StateAccepted, began)
	phoneOf := func(id messaging.MessageID) (string, string) {
		t.Helper()
		d, err := a.Message(t.Context(), id)
		a.must(err)
		e, err := a.Event(t.Context(), d.EventID)
		a.must(err)
		return string(d.Phone), string(e.Contact.Phone)
	}
	for _, step := range []struct {
		day  int
		want string
	}{{190, forgottenPhone}, {201, forgottenPhone}, {380, forgottenPhone}, {382, "4477******23"}} {
		a.now = began.Add(time.Duration(step.day) * day)
		if step.day == 201 {
			a.end(messaging.StateAccepted)
		}
		a.retain(keepPhones)
		a.reopen()
		if phone, of := phoneOf(long); phone != step.want || of != step.want {
			t.Errorf("after %d days: %s, its event %s", step.day, phone, of)
		}
		if phone, _ := phoneOf(2); phone != "4477******99" {
			t.Errorf("after %d days the other is %s", step.day, phone)
		}
	}
	if left := a.unmasked(); left != 0 {
		t.Errorf("%d are still looked at", left)
	}
}

// A trigger that sends once remembers it of a message whose phone is masked, by its key and by its phone, and when that is removed.
func TestOnceOutlivesThePhone(t *testing.T) {
	a := openAging(t)
	var met *messaging.Sent
	settle := func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		met = f.Last
		return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: w.Decision.Outcome == messaging.Planned}
	}
	a.settle = settle
	keep := keepPhones
	keep.Once = func(string, bool) bool { return true }
	ask := func(phone, key string) *messaging.Sent {
		t.Helper()
		met = nil
		a.event(phone, "x", func(p *messaging.Plan) {
			p.Proposals[0].Correlation.Key, p.Proposals[0].Cooldown.Mode = key, messaging.CooldownOnce
		})
		return met
	}
	ask(forgottenPhone, "k")
	ask(otherPhone, "")
	sentAt := a.now
	a.end(messaging.StateAccepted)
	for _, days := range []int{181, 401} {
		a.now = sentAt.Add(time.Duration(days) * day)
		if days == 401 {
			keep.Messages, keep.Events = 400*day, 400*day
		}
		a.retain(keep)
		a.sweepKeys()
		a.reopen()
		a.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			met = f.Last
			return messaging.Settlement{Outcome: messaging.Skipped}
		}
		for id, got := range map[messaging.MessageID]*messaging.Sent{1: ask("447700900555", "k"), 2: ask(otherPhone, "")} {
			if got == nil || got.ID != id || !got.At.Equal(sentAt) {
				t.Errorf("after %d days message %d is %+v", days, id, got)
			}
		}
		if got := ask("447700900777", ""); got != nil {
			t.Errorf("another phone met %+v", got)
		}
	}
}

// unmasked is how many messages the masking of phones looks at again.
func (a aging) unmasked() (n int) {
	a.Helper()
	a.must(a.Store.Rows(a.Context(), `SELECT count(*) FROM messages WHERE unmasked = 1`, nil, func(r *engine.Row) error { n = int(r.Int()); return r.Err }))
	return n
}
