package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// nodeWrites is what two nodes write at the same time.
func (p pair) nodeWrites(t *testing.T) {
	t.Run("no id is given twice", p.noIDIsGivenTwice)
	t.Run("a webhook that comes to both is stored once, owes one message, and one claims it", p.aWebhookThatComesToBothIsStoredOnce)
	t.Run("an order at one node ends what comes back at another", p.anOrderAtOneNodeEndsWhatComesBackAtAnother)
}

func (p pair) noIDIsGivenTwice(t *testing.T) {
	a, b := p.two(t)
	var ids sync.Map
	together(8, func(i int) {
		l := []*ledger{a, b}[i%2]
		for j := range 50 {
			r, err := l.Accept(l.ctx, []messaging.Plan{cart(fmt.Sprint(i, "-", j))})
			if err != nil {
				t.Error(err)
				return
			}
			if _, twice := ids.LoadOrStore(r[0].EventID, true); twice {
				t.Errorf("event %d is there twice", r[0].EventID)
			}
		}
	})
	a.totals(map[string]int64{"events": 400, "messages": 400})
}

func (p pair) aWebhookThatComesToBothIsStoredOnce(t *testing.T) {
	a, b := p.two(t)
	for i := range 30 {
		key := fmt.Sprint(i)
		var got [4]messaging.Receipt
		together(len(got), func(n int) {
			l := []*ledger{a, b}[n%2]
			r, err := l.Accept(l.ctx, []messaging.Plan{cart(key)})
			if err != nil {
				t.Error(err)
				return
			}
			got[n] = r[0]
		})
		first := 0
		for _, r := range got {
			if !r.Duplicate {
				first++
			}
			if r.EventID != got[0].EventID {
				t.Errorf("events %d and %d", r.EventID, got[0].EventID)
			}
		}
		if first != 1 {
			t.Errorf("%d say that they stored it", first)
		}
	}
	a.totals(map[string]int64{"events": 30, "messages": 30})
	var mu sync.Mutex
	claims := map[messaging.MessageID]int{}
	together(8, func(n int) {
		l := []*ledger{a, b}[n%2]
		for range 10 {
			got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: fmt.Sprint("node ", n%2), Now: noon.Add(time.Hour), Lease: time.Minute, Marketing: 3})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			for _, d := range got {
				claims[d.ID]++
			}
			mu.Unlock()
		}
	})
	for id, n := range claims {
		if n != 1 {
			t.Errorf("message %d was claimed %d times", id, n)
		}
	}
	if len(claims) != 30 {
		t.Errorf("%d of 30 were claimed", len(claims))
	}
}

func (p pair) anOrderAtOneNodeEndsWhatComesBackAtAnother(t *testing.T) {
	a, b := p.two(t)
	for i := range 60 {
		key := fmt.Sprint("back ", i)
		d := b.claimed(key)
		together(2, func(n int) {
			if n == 0 {
				_, err := a.Accept(a.ctx, []messaging.Plan{order(key)})
				if err != nil {
					t.Error(err)
				}
			} else if err := b.Finish(b.ctx, attempt(d, messaging.StateWaiting)); err != nil {
				t.Error(err)
			}
		})
		if got := a.message(d.ID); got.State != messaging.StateCancelled {
			t.Fatalf("it is %s: %s", got.State, got.Reason)
		}
	}
}

// nodesCountFields is what two nodes count of the fields of events, one after the other: each leads for a term, with a watch of its own.
func (p pair) nodesCountFields(t *testing.T) {
	a, b := p.two(t)
	at := a.posts(10, withPhone, noon)
	at = b.posts(10, withPhone, at)
	a.readFields(a.watch())
	at = b.posts(10, withPhone, at)
	of := b.watch()
	b.readFields(of)
	same(t, "both together", []string{"shop.order.created 02 12 30"}, a.countedHours())
	at = a.posts(10, withMobile, at)
	a.readFields(a.watch())
	want := []string{"gone shop.order.created customer.phone 30/30 10", "new shop.order.created customer.mobile 10/30 0"}
	same(t, "seen from either", want, b.drifted(at))
	// A person's word on one node counts while the other leads, too.
	_, err := drift.Drifts{Records: a.drifts(), Now: func() time.Time { return at }}.Accept(a.ctx, drift.AcceptRequest{Connector: "shop"})
	a.must(err)
	at = a.posts(12, withMobile, at)
	b.readFields(of)
	same(t, "taken as it is", []string{"not_enough shop.order.created 0/12 0"}, a.drifted(at))
}

// nodesCountUnused is what two nodes count of events that came to nothing.
func (p pair) nodesCountUnused(t *testing.T) {
	a, b := p.two(t)
	a.nothing(messaging.UnusedPhone, "order.created", 6)
	last := b.nothing(messaging.UnusedPhone, "order.created", 6)
	want := []string{fmt.Sprintf("shop no_phone order.created 12 since 02 12:00, event %d", last)}
	same(t, "both together", a.unusedOnes(), want)
	same(t, "seen from the other", b.unusedOnes(), want)
	for _, l := range []*ledger{a, b} {
		l.at(noon.Add(time.Hour))
	}
	b.nothing("", "order.created", 1)
	same(t, "one of use on one node ends both", a.unusedOnes(), []string(nil))
	last = a.nothing(messaging.UnusedPhone, "order.created", 3)
	same(t, "and each begins anew", b.unusedOnes(), []string{fmt.Sprintf("shop no_phone order.created 3 since 02 13:00, event %d", last)})
	b.must(b.EndUnused(b.ctx, ""))
	same(t, "a person's word on either", a.unusedOnes(), []string(nil))
}
