package suite

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A change edits a plan before it is stored.
type change func(*messaging.Plan)

// cart is an event about a cart, with the proposal to remind its owner in an hour.
func cart(key string, changes ...change) messaging.Plan {
	const phone = "447700900123"
	p := messaging.Plan{
		Event: messaging.Event{
			Connector: "shop", Kind: "cart.updated", Topic: "carts/update", DedupeKey: "d-" + key, ReceivedAt: noon,
			Contact: messaging.Contact{Phone: phone}, Payload: []byte(`{"cart":"` + key + `"}`), ContentType: "application/json",
		},
		Proposals: []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: "remind", Outcome: messaging.Planned, Reason: "waits an hour", Key: key, Config: "v1", At: noon},
			Correlation: messaging.Correlation{Trigger: "remind", Key: key, Phone: phone},
			Message: messaging.Message{
				Trigger: "remind", Key: key, Phone: phone, Category: messaging.Marketing,
				Send: messaging.Send{Template: "reminder", Variables: []string{"Ana", key}}, DueAt: noon.Add(time.Hour), Config: "v1",
			},
			EventAt: noon,
		}},
	}
	for _, c := range changes {
		c(&p)
	}
	return p
}

// order is an event that cancels what waits for the cart key.
func order(key string, changes ...change) messaging.Plan {
	p := cart(key)
	p.Event.Kind, p.Event.DedupeKey = "order.created", "o-"+key
	w := &p.Proposals[0]
	w.Decision.Outcome, w.Decision.Reason, w.Message, w.Forget = messaging.Cancelling, "ends what waits", messaging.Message{}, noon.Add(24*time.Hour)
	for _, c := range changes {
		c(&p)
	}
	return p
}

func dedupe(key string) change { return func(p *messaging.Plan) { p.Event.DedupeKey = key } }

func content(key string) change { return func(p *messaging.Plan) { p.Event.ContentKey = key } }

func due(at time.Time) change { return func(p *messaging.Plan) { p.Proposals[0].Message.DueAt = at } }

func expires(at time.Time) change {
	return func(p *messaging.Plan) { p.Proposals[0].Message.ExpiresAt = at }
}

func category(c messaging.Category) change {
	return func(p *messaging.Plan) { p.Proposals[0].Message.Category = c }
}

func phone(n messaging.Phone) change {
	return func(p *messaging.Plan) {
		p.Event.Contact.Phone = n
		for i := range p.Proposals {
			p.Proposals[i].Correlation.Phone, p.Proposals[i].Message.Phone = n, n
		}
	}
}

// lastKey is how many keys nextKey has given.
var lastKey atomic.Int64

// nextKey is a key that no other event has, whichever node takes it.
func nextKey(prefix string) string { return fmt.Sprint(prefix, lastKey.Add(1)) }

// contact is the i-th of many people.
func contact(i int) change { return phone(messaging.Phone(fmt.Sprintf("4477009%05d", i))) }

func received(at time.Time) change { return func(p *messaging.Plan) { p.Event.ReceivedAt = at } }

func trigger(name string) change {
	return func(p *messaging.Plan) {
		p.Proposals[0].Decision.Trigger, p.Proposals[0].Correlation.Trigger = name, name
	}
}

func template(name string) change {
	return func(p *messaging.Plan) { p.Proposals[0].Message.Send.Template = name }
}

func account(name string) change {
	return func(p *messaging.Plan) {
		for i := range p.Proposals {
			p.Proposals[i].Message.Account = name
		}
	}
}
