package webhooks

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Repeats compares events that were taken as repetitions with what came first, so many a second: a flood of them is no flood of reads.
type Repeats struct {
	mu sync.Mutex
	by map[string]*rate.Limiter // by connector
}

const repeatsRate, repeatsBurst = 5, 50 // a second

func (r *Repeats) allow(connector string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]*rate.Limiter{}
	}
	return limiterOf(r.by, connector, repeatsRate, repeatsBurst).Allow()
}

// Count counts the repetitions that say something else than the first. What look-ups added to that cannot be compared.
func (r *Repeats) Count(ctx context.Context, s Store, to *connectors.Connector, plans []messaging.Plan, receipts []messaging.Receipt) {
	if to.Enriches() {
		return
	}
	for i := range receipts {
		if !receipts[i].Duplicate || !r.allow(to.Name()) {
			continue
		}
		first, err := s.Event(ctx, receipts[i].EventID)
		if err != nil || !differs(&first, &plans[i].Event) {
			continue
		}
		if s.CountUnused(ctx, messaging.UnusedRepeated, first) != nil {
			return // the data is away, and that is told
		}
	}
}

// differs reports whether an event says something else than the one that came first under its id. Of what is not kept nobody can tell.
func differs(first, again *messaging.Event) bool {
	if first.Forgotten || first.FactsCleared || first.Contact.Phone.IsMasked() {
		return false
	}
	said := func(e *messaging.Event) string {
		contact, cart := e.Contact, e.Cart
		contact.PhoneProblem, cart.ExpiresAt = "", cart.ExpiresAt.UTC().Truncate(time.Second)
		text, err := json.Marshal([]any{e.Kind, e.Topic, contact, cart, e.Order, e.Deal, e.Form, e.Message})
		if err != nil {
			return ""
		}
		return string(text)
	}
	return said(first) != said(again)
}
