package suite

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// The model is the ledger as simply as it can be said: a list of messages and the law of
// their states. Random orders go to both, and both must tell the same.

type modelMessage struct {
	id       messaging.MessageID
	key      string
	state    messaging.State
	category messaging.Category
	due      time.Time
	expires  time.Time
	attempt  int
	tries    int
	owner    string // of the newest claim, as long as a late answer would be heard
	lease    time.Time
	restarts int
	off      bool             // an order came while it did not wait
	begun    bool             // the call of the newest claim
	status   messaging.Status // of its message; "" for none
	final    bool
}

type model struct {
	l      *ledger
	rows   []*modelMessage // by number: a slow machine leaves numbers out
	events map[string]messaging.EventID
	now    time.Time
	owner  string
	noted  string // the owner whose calls are noted
}

// modelSettle restarts what waits, and cancels what an order names.
func modelSettle(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
	if w.Decision.Outcome == messaging.Planned && len(f.Waiting) > 0 {
		return messaging.Settlement{Outcome: messaging.Restarted, Restart: f.Waiting[0].ID, DueAt: w.Message.DueAt}
	}
	return insert(w, f)
}

func (s suite) model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &check{TB: t}
		defer c.end()
		l := s.open(c)
		l.settleBy(modelSettle)
		m := &model{l: l, events: map[string]messaging.EventID{}, now: noon, owner: "run 1"}
		rt.Repeat(map[string]func(*rapid.T){
			"cart":    m.cart,
			"order":   m.order,
			"claim":   m.claim,
			"finish":  m.finish,
			"abandon": m.abandon,
			"cancel":  m.cancel,
			"resolve": m.resolve,
			"poll":    m.poll,
			"later":   m.later,
		})
		m.compare(rt)
	})
}

var (
	modelKeys       = rapid.SampledFrom([]string{"a", "b", "c"})
	modelCategories = rapid.SampledFrom([]messaging.Category{messaging.Marketing, messaging.Utility, messaging.Authentication})
)

// waiting is the oldest message of a correlation key that waits; there are several when one was put
// off or is sent again while a later event queued another.
func (m *model) waiting(key string) *modelMessage {
	for _, d := range m.rows {
		if d.key == key && d.state == messaging.StateWaiting {
			return d
		}
	}
	return nil
}

// newKey draws a dedupe key, sometimes one that was used.
func (m *model) newKey(t *rapid.T) string {
	return fmt.Sprint("k", rapid.IntRange(0, len(m.events)+1).Draw(t, "dedupe"))
}

func (m *model) cart(t *rapid.T) {
	key, event := modelKeys.Draw(t, "key"), m.newKey(t)
	due := m.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "wait")) * time.Hour)
	category := modelCategories.Draw(t, "category")
	p := cart(key, dedupe(event), func(p *messaging.Plan) {
		p.Proposals[0].Message.DueAt, p.Proposals[0].Message.Category, p.Proposals[0].Message.ExpiresAt = due, category, due.Add(2*time.Hour)
	})
	got, fresh := m.accept(t, event, p)
	if !fresh {
		return
	}
	if d := m.waiting(key); d != nil {
		d.due, d.expires, d.category, d.owner = due, due.Add(2*time.Hour), category, ""
		d.tries = 0
		d.restarts++
		return
	}
	m.rows = append(m.rows, &modelMessage{id: got.Decisions[0].MessageID, key: key, state: messaging.StateWaiting, category: category, due: due, expires: due.Add(2 * time.Hour)})
}

func (m *model) order(t *rapid.T) {
	key, event := modelKeys.Draw(t, "key"), m.newKey(t)
	if _, fresh := m.accept(t, event, order(key, dedupe(event))); fresh {
		for d := m.waiting(key); d != nil; d = m.waiting(key) {
			d.state = messaging.StateCancelled
		}
		for _, d := range m.rows {
			d.off = d.off || d.key == key && d.state != messaging.StateCancelled && d.state != messaging.StateAccepted
		}
	}
}

// back makes d wait again, or ends it where an order came meanwhile.
func (d *modelMessage) back(due, expires time.Time, doubtful bool) {
	if doubtful {
		d.tries++
	}
	switch {
	case !d.off:
		d.state, d.due, d.expires = messaging.StateWaiting, due, expires
	case doubtful:
		d.state = messaging.StateInDoubt
	default:
		d.state = messaging.StateCancelled
	}
}

// accept stores p and reports whether it was fresh.
func (m *model) accept(t *rapid.T, event string, p messaging.Plan) (_ messaging.Receipt, fresh bool) {
	got, err := m.l.Accept(m.l.ctx, []messaging.Plan{p})
	if err != nil {
		t.Fatal(err)
	}
	first, known := m.events[event]
	if got[0].Duplicate != known || (known && got[0].EventID != first) {
		t.Fatalf("event %s: known as %d, receipt %+v", event, first, got[0])
	}
	m.events[event] = got[0].EventID
	return got[0], !known
}

func (m *model) claim(t *rapid.T) {
	got, err := m.l.Claim(m.l.ctx, messaging.ClaimRequest{Owner: m.owner, Now: m.now, Lease: time.Hour, Authentication: 100, Utility: 100, Marketing: 100})
	if err != nil {
		t.Fatal(err)
	}
	claimed := map[messaging.MessageID]bool{}
	for _, d := range got {
		claimed[d.ID] = true
	}
	for _, d := range m.rows {
		id := d.id
		isDue := d.state == messaging.StateWaiting && !d.due.After(m.now)
		if live := isDue && d.expires.After(m.now); claimed[id] != live {
			t.Fatalf("message %d claimed: %v, model %+v", id, claimed[id], d)
		}
		if !isDue {
			continue
		}
		if !claimed[id] {
			d.state, d.owner = messaging.StateDropped, ""
			continue
		}
		d.state, d.owner, d.lease = messaging.StateSending, m.owner, m.now.Add(time.Hour)
		d.attempt++
		d.begun = false
		if m.noted == m.owner && rapid.Bool().Draw(t, "called") {
			if err := m.l.BeginCall(int(id), id, d.attempt); err != nil {
				t.Fatal(err)
			}
			d.begun = true
		}
	}
}

func (m *model) pick(t *rapid.T) (messaging.MessageID, *modelMessage) {
	if len(m.rows) == 0 {
		t.Skip("no message yet")
	}
	i := rapid.IntRange(0, len(m.rows)-1).Draw(t, "message")
	return m.rows[i].id, m.rows[i]
}

func (m *model) finish(t *rapid.T) {
	id, d := m.pick(t)
	state := rapid.SampledFrom([]messaging.State{
		messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateDropped, messaging.StateWaiting,
	}).Draw(t, "state")
	number := max(1, d.attempt-rapid.IntRange(0, 1).Draw(t, "stale by"))
	by := rapid.SampledFrom([]string{m.owner, "run 1"}).Draw(t, "owner")
	a := attempt(messaging.Message{ID: id, Owner: by, Attempt: number, Phone: "447700900123", Category: d.category, UpdatedAt: m.now}, state)
	err := m.l.Finish(m.l.ctx, a)

	ours := d.owner == by && d.attempt == number && number > 0
	definite := state == messaging.StateAccepted || state == messaging.StateRejected
	late := definite && (d.state == messaging.StateInDoubt || d.state == messaging.StateWaiting) ||
		state == messaging.StateWaiting && d.state == messaging.StateInDoubt // surely not taken, which ends the doubt
	if !ours || (d.state != messaging.StateSending && !late) {
		if !errors.Is(err, messaging.ErrClaimLost) {
			t.Fatalf("message %d: %v, model %+v", id, err, d)
		}
		return
	}
	if err != nil {
		t.Fatalf("message %d: %v, model %+v", id, err, d)
	}
	d.state = state
	if state == messaging.StateWaiting {
		d.back(a.RetryAt, d.expires, false)
		d.owner = ""
	}
	if state == messaging.StateAccepted {
		d.status = messaging.StatusAccepted
	}
}

func (m *model) abandon(t *rapid.T) {
	if rapid.Bool().Draw(t, "restarted") {
		m.owner = fmt.Sprint("run ", rapid.IntRange(1, 3).Draw(t, "run"))
	}
	n, err := m.l.RescueClaims(m.l.ctx, m.now, m.owner)
	if err != nil {
		t.Fatal(err)
	}
	var want messaging.Rescued
	for _, d := range m.rows {
		if d.state != messaging.StateSending || (d.owner == m.owner && m.now.Before(d.lease)) {
			continue
		}
		if d.owner != m.owner && d.owner == m.noted && !d.begun {
			want.Unsent++
			d.back(d.due, d.expires, false)
			d.owner = ""
			continue
		}
		want.Doubtful++
		d.state = messaging.StateInDoubt
		if d.category == messaging.Authentication && d.tries+1 < 3 && m.now.Before(d.expires) {
			d.back(m.now, d.expires, true)
		}
	}
	m.noted = m.owner
	if n != want {
		t.Fatalf("RescueClaims = %+v, want %+v", n, want)
	}
}

func (m *model) cancel(t *rapid.T) {
	id, d := m.pick(t)
	err := m.l.CancelMessage(m.l.ctx, id, "by hand")
	if ok := d.state == messaging.StateWaiting; ok != (err == nil) {
		t.Fatalf("message %d: %v, model %+v", id, err, d)
	}
	if err == nil {
		d.state = messaging.StateCancelled
	}
}

func (m *model) resolve(t *rapid.T) {
	id, d := m.pick(t)
	r := rapid.SampledFrom([]messaging.Resolution{messaging.ResolveAccepted, messaging.ResolveResend, messaging.ResolveDrop}).Draw(t, "resolution")
	err := m.l.Resolve(m.l.ctx, id, r, "by hand")
	if ok := d.state == messaging.StateInDoubt; ok != (err == nil) {
		t.Fatalf("message %d: %v, model %+v", id, err, d)
	}
	if err != nil {
		return
	}
	switch r {
	case messaging.ResolveAccepted:
		d.state, d.status, d.final = messaging.StateAccepted, messaging.StatusUntracked, true
	case messaging.ResolveDrop:
		d.state = messaging.StateDropped
	default:
		d.back(m.now, m.now.Add(d.expires.Sub(d.due)), false)
	}
}

func (m *model) poll(t *rapid.T) {
	id, d := m.pick(t)
	status := rapid.SampledFrom([]messaging.Status{"", "queued", "sent", "delivered", "read", "failed", "odd"}).Draw(t, "status")
	final := rapid.Bool().Draw(t, "final")
	err := m.l.FinishPoll(m.l.ctx, messaging.Poll{MessageID: id, Status: status, Final: final, At: m.now, NextPollAt: m.now.Add(time.Hour)})
	if has := d.status != ""; has != (err == nil) {
		t.Fatalf("message %d: %v, model %+v", id, err, d)
	}
	if err != nil {
		return
	}
	switch {
	case d.status == messaging.StatusDelivered && status == messaging.StatusRead:
		d.status = messaging.StatusRead
	case d.status == messaging.StatusDelivered, d.final, status == "":
	default:
		d.status = status
	}
	d.final = d.final || final || d.status == messaging.StatusRead || d.status == messaging.StatusFailed
}

func (m *model) later(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "minutes")) * time.Minute)
	m.l.at(m.now)
}

// compare reads all that the store holds and holds it against the model.
func (m *model) compare(t *rapid.T) {
	rows, err := m.l.Messages(m.l.ctx, store.MessageFilter{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(m.rows) {
		t.Fatalf("%d messages, model %d", len(rows), len(m.rows))
	}
	for _, got := range rows {
		i := slices.IndexFunc(m.rows, func(d *modelMessage) bool { return d.id == got.ID })
		if i < 0 {
			t.Fatalf("message %d is not in the model", got.ID)
		}
		want := m.rows[i]
		if got.State != want.state || got.Attempt != want.attempt || got.Restarts != want.restarts || got.Key != want.key ||
			!got.DueAt.Equal(want.due) || !got.ExpiresAt.Equal(want.expires) || got.Status != want.status || got.Final != want.final {
			t.Fatalf("message %+v\nmodel %+v", got.Message, want)
		}
	}
	m.l.recount()
}
