package suite

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A randomDay is what a store decides in a day of random traffic: carts, new ones and such as were stored before it moved, orders, claims
// under rules, answers of the service, polls, words of contacts, and restarts of what is told to receivers.
type randomDay struct {
	*ledger
	random  *rand.Rand
	known   map[string]string // a file gives numbers one by one, a database in blocks: what matters is which is meant
	decided []string
}

// keysOfBefore are those of what was stored before the data moved.
var keysOfBefore = []string{"old 1", "waits for years", "ended 2", "delivered", "claimed", "called off", "again", "tombstone", "steps", "code", "deferred", "paced"}

func (l *ledger) aDay(random *rand.Rand) (decided []string) {
	l.t.Helper()
	d := &randomDay{ledger: l, random: random, known: map[string]string{}}
	l.tell("crm", "message.*", "run.*")
	for step := range 24 * 3 {
		now := movedAt.Add(time.Duration(step) * 20 * time.Minute)
		l.at(now)
		morning := movedAt.Add(6 * time.Hour)
		if step < 50 {
			l.ruleBy(atMost{n: 1, within: 12 * time.Hour, quiet: nightUntil(morning)})
		} else {
			l.ruleBy(paced{most: map[string]int64{"remind": 2, "paced": 1}})
		}
		for range 3 {
			d.event(now, step)
		}
		d.sends(now)
		d.looks(now)
		d.tells(now)
		d.people(now)
	}
	d.inTheEnd()
	return d.decided
}

// name is a number by its place among those that were named.
func (d *randomDay) name(number any) string {
	key := fmt.Sprintf("%T %v", number, number)
	if d.known[key] == "" {
		d.known[key] = fmt.Sprintf("%T number %d", number, len(d.known)+1)
	}
	return d.known[key]
}

var eventNamed = regexp.MustCompile(`event \d+`)

func (d *randomDay) words(reason string) string {
	return eventNamed.ReplaceAllStringFunc(reason, func(event string) string {
		var id messaging.EventID
		_, _ = fmt.Sscanf(event, "event %d", &id)
		return d.name(id)
	})
}

func (d *randomDay) receipts(all []messaging.Receipt) string {
	out := ""
	for _, r := range all {
		out += fmt.Sprint(d.name(r.EventID), " again ", r.Duplicate)
		for _, one := range r.Decisions {
			out += fmt.Sprintf("; %s %s %q %s %v", one.Trigger, one.Outcome, d.words(one.Reason), d.name(one.MessageID), one.Clauses)
		}
	}
	return out
}

func (d *randomDay) note(what string, v any, err error) {
	d.decided = append(d.decided, fmt.Sprintf("%s: %+v, %v", what, v, err))
}

// event takes a cart or an order.
func (d *randomDay) event(now time.Time, step int) {
	key := fmt.Sprint("new ", d.random.IntN(60))
	if d.random.IntN(3) == 0 {
		key = keysOfBefore[d.random.IntN(len(keysOfBefore))]
	}
	if d.random.IntN(4) == 0 {
		got, err := d.Accept(d.ctx, []messaging.Plan{order(key, happened(now), dedupe(fmt.Sprint("o-", key, "-", step/20)))})
		d.note("order "+key, d.receipts(got), err)
		return
	}
	which := []string{"remind", "halted", "paced", "paused"}[d.random.IntN(4)]
	changes := []change{happened(now), due(now.Add(time.Duration(d.random.IntN(120)) * time.Minute)), phone(movedPhone(d.random.IntN(12))), trigger(which)}
	if d.random.IntN(2) == 0 { // a cart that came before is no new one
		changes = append(changes, dedupe(fmt.Sprint("d-", key, "-", step/20)))
	}
	got, err := d.Accept(d.ctx, []messaging.Plan{cart(key, changes...)})
	d.note("cart "+key, d.receipts(got), err)
}

func (d *randomDay) sends(now time.Time) {
	claims, err := d.Claim(d.ctx, messaging.ClaimRequest{Owner: owner, Now: now, Lease: time.Minute, Authentication: 2, Utility: 2, Marketing: 2})
	for i := range claims {
		m := &claims[i]
		d.note("claim", fmt.Sprint(d.name(m.ID), m.Key, m.Phone, m.Attempt, m.DueAt.UTC(), m.Send), err)
		state := []messaging.State{messaging.StateAccepted, messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateWaiting}[d.random.IntN(5)]
		a := attempt(*m, state)
		a.At = now
		if state == messaging.StateWaiting {
			a.RetryAt = now.Add(time.Hour)
		}
		d.note("end "+string(state), d.name(m.ID), d.Finish(d.ctx, a))
	}
}

func (d *randomDay) looks(now time.Time) {
	polls, err := d.ClaimPolls(d.ctx, now, time.Minute, 2)
	for _, m := range polls {
		d.note("poll", fmt.Sprint(d.name(m.ID), m.ServiceID, m.Phone, m.Status), err)
		status := []messaging.Status{messaging.StatusSent, messaging.StatusDelivered, messaging.StatusFailed}[d.random.IntN(3)]
		p := messaging.Poll{MessageID: m.ID, Status: status, Final: status != messaging.StatusSent, At: now, NextPollAt: now.Add(time.Hour)}
		d.note("status "+string(status), d.name(m.ID), d.FinishPoll(d.ctx, p))
	}
}

func (d *randomDay) tells(now time.Time) {
	out, err := d.outbox().ClaimOutgoing(d.ctx, "crm", now, time.Minute, 3)
	for _, o := range out {
		d.note("told", fmt.Sprint(d.name(o.ID), o.Kind, o.Attempt), err)
		d.note("end", "", d.outbox().FinishOutgoing(d.ctx, messaging.OutgoingEnd{ID: o.ID, Attempt: o.Attempt, State: messaging.OutgoingDelivered, At: now}))
	}
}

func (d *randomDay) people(now time.Time) {
	switch d.random.IntN(12) {
	case 0:
		fresh, err := d.Block(d.ctx, []store.Block{{Phone: movedPhone(d.random.IntN(12)), Source: "by hand", At: now}})
		d.note("block", fresh, err)
	case 1:
		d.note("allow", "", d.Allow(d.ctx, movedPhone(d.random.IntN(12))))
	case 2:
		_, won, err := d.StartRun(d.ctx, aRun("winback", []string{"held", "rows", "new"}[d.random.IntN(3)]))
		d.note("a slot", won, err)
	}
}

func (d *randomDay) inTheEnd() {
	messages, err := d.Messages(d.ctx, store.MessageFilter{Limit: manyRows})
	for _, m := range slices.Backward(messages) {
		d.note("in the end", fmt.Sprint(d.name(m.ID), m.Key, m.Trigger, m.State, d.words(m.Reason), m.DueAt.UTC(), m.Attempt, m.Restarts), err)
	}
	counts, err := report.Records{Store: d.ledger.Store}.Counts(d.ctx)
	d.note("counts", counts, err)
}
