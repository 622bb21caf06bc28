package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// later is a cart without a phone that waits for a look-up.
func later(key string, changes ...change) messaging.Plan {
	p := cart(key, phone(""))
	p.Event.Contact.PhoneProblem = "no phone number in phone"
	p.Proposals, p.Later = nil, true
	for _, c := range changes {
		c(&p)
	}
	return p
}

func (l *ledger) claimLookups(at time.Time, n int) []messaging.PendingLookup {
	l.t.Helper()
	got, err := l.ClaimLookups(l.ctx, at, time.Minute, n)
	if err != nil {
		l.t.Fatalf("claim look-ups: %v", err)
	}
	return got
}

// found is the plan of cart a, whose phone was looked up.
func found(e messaging.Event) messaging.Plan {
	const key = "a"
	p := cart(key)
	e.Contact.Phone, e.Contact.PhoneProblem, e.Contact.FirstName = "447700900123", "", "Ada"
	e.Payload = []byte(`{"cart":"` + key + `","lead":{"phone":"+447700900123"}}`)
	p.Event = e
	return p
}

func (l *ledger) eventRow(id messaging.EventID) history.Story {
	l.t.Helper()
	s, err := history.Records{Store: l.Store}.EventStory(l.ctx, id)
	l.must(err)
	return s
}

func (s suite) lookups(t *testing.T) {
	t.Run("an event for later is stored with its look-up and without decisions, and wakes somebody", s.anEventForLaterIsStoredWithItsLookUp)
	t.Run("a claim brings the event whole and nobody gets it twice before its lease ends", s.aClaimBringsTheEventWhole)
	t.Run("what a process had under way that is dead is due again at once", s.whatADeadProcessLookedUpIsDueAgainAtOnce)
	t.Run("completing settles the proposals, keeps what was found and ends the look-up", s.completingSettlesTheProposals)
	t.Run("of two that claimed one look-up after the other only the newest can end it", s.onlyTheNewestClaimEndsALookUp)
	t.Run("a look-up that is put off is due then, with its reason", s.aLookUpThatIsPutOffIsDueThen)
	t.Run("a cancellation by key is settled at once and not again when the event is planned", s.aCancellationByKeyIsSettledAtOnce)
	t.Run("what happened while an event waited is seen when it is planned", s.whatHappenedMeanwhileIsSeenWhenAnEventIsPlanned)
	t.Run("a fault of settling leaves the look-up as it was", s.aFaultOfSettlingLeavesTheLookUp)
	t.Run("look-ups survive the end of the process", s.lookUpsSurviveTheEndOfTheProcess)
	t.Run("look-ups are listed with their events", s.lookUpsAreListedWithTheirEvents)
	t.Run("many hands claim each look-up once", s.manyHandsClaimEachLookUpOnce)
}

func (s suite) anEventForLaterIsStoredWithItsLookUp(t *testing.T) {
	l := s.open(t)
	r := l.mustAccept(later("a"))
	if r.Duplicate || len(r.Decisions) != 0 {
		t.Errorf("receipt %+v", r)
	}
	if at := l.lastCall(&l.look); !at.Equal(noon) {
		t.Errorf("woken for %v", at)
	}
	row := l.eventRow(r.EventID)
	want := &messaging.PendingLookup{EventID: r.EventID, Connector: "shop", NextAt: noon, Since: noon}
	same(t, "look-up", want, row.Lookup)
	c, err := report.Records{Store: l.Store}.Counts(l.ctx)
	if err != nil || c.Lookups != 1 {
		t.Errorf("%d look-ups counted (%v)", c.Lookups, err)
	}
	if !l.mustAccept(later("a")).Duplicate {
		t.Error("it was stored twice")
	}
}

func (s suite) aClaimBringsTheEventWhole(t *testing.T) {
	l := s.open(t)
	for _, key := range []string{"a", "b", "c"} {
		l.mustAccept(later(key))
	}
	got := l.claimLookups(noon, 2)
	if len(got) != 2 || got[0].Attempt != 1 || !got[0].UnderWay || string(got[0].Event.Payload) != `{"cart":"a"}` || got[0].Event.Topic != "carts/update" {
		t.Fatalf("claimed %+v", got)
	}
	if rest := l.claimLookups(noon, 5); len(rest) != 1 || string(rest[0].Event.Payload) != `{"cart":"c"}` {
		t.Fatalf("the rest is %+v", rest)
	}
	if early := l.claimLookups(noon.Add(59*time.Second), 5); len(early) != 0 {
		t.Errorf("claimed under a lease: %+v", early)
	}
	if at, ok, err := l.NextLookup(l.ctx); !ok || err != nil || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("next %v %v %v", at, ok, err)
	}
	if again := l.claimLookups(noon.Add(time.Minute), 5); len(again) != 3 || again[0].Attempt != 2 {
		t.Errorf("after the lease: %+v", again)
	}
	l.mustAccept(later("future", received(noon.Add(time.Hour))))
	if early := l.claimLookups(noon.Add(61*time.Second), 5); len(early) != 0 {
		t.Errorf("claimed before its time: %+v", early)
	}
}

func (s suite) whatADeadProcessLookedUpIsDueAgainAtOnce(t *testing.T) {
	l := s.open(t)
	rescue := func(owner string) {
		t.Helper()
		if _, err := l.RescueClaims(l.ctx, noon.Add(time.Second), owner); err != nil {
			t.Fatal(err)
		}
	}
	rescue("node:1:abc")
	l.mustAccept(later("a"))
	if got := l.claimLookups(noon, 1); len(got) != 1 {
		t.Fatalf("claimed %+v", got)
	}
	rescue("node:1:abc")
	if early := l.claimLookups(noon.Add(time.Second), 1); len(early) != 0 {
		t.Errorf("its own is under way, and was claimed again: %+v", early)
	}
	l = reopenAfter(t, l)
	rescue("node:2:def")
	if at := l.lastCall(&l.look); !at.Equal(noon.Add(time.Second)) {
		t.Errorf("woken for %v", at)
	}
	again := l.claimLookups(noon.Add(time.Second), 1)
	if len(again) != 1 || again[0].Attempt != 2 {
		t.Fatalf("after the restart: %+v", again)
	}
	if _, err := l.Complete(l.ctx, again[0], found(again[0].Event)); err != nil {
		t.Error(err)
	}
}

func (s suite) completingSettlesTheProposals(t *testing.T) {
	l := s.open(t)
	id := l.mustAccept(later("a")).EventID
	p := l.claimLookups(noon, 1)[0]
	r, err := l.Complete(l.ctx, p, found(p.Event))
	if err != nil || r.EventID != id || len(r.Decisions) != 1 || r.Decisions[0].MessageID == 0 {
		t.Fatalf("completed %+v (%v)", r, err)
	}
	if d := l.message(r.Decisions[0].MessageID); d.EventID != id || d.Phone != "447700900123" || d.State != messaging.StateWaiting {
		t.Errorf("message %+v", d)
	}
	row := l.eventRow(id)
	if row.Lookup != nil || row.Contact.Phone != "447700900123" || row.Contact.PhoneProblem != "" || row.Contact.FirstName != "Ada" ||
		string(row.Payload) != `{"cart":"a","lead":{"phone":"+447700900123"}}` || len(row.Decisions) != 1 {
		t.Errorf("event %+v", row)
	}
	stories, err := history.Records{Store: l.Store}.Story(l.ctx, "447700900123", 10)
	if err != nil || len(stories) != 1 {
		t.Errorf("the phone's story has %d events (%v)", len(stories), err)
	}
	if _, ok, _ := l.NextLookup(l.ctx); ok {
		t.Error("the look-up is still there")
	}
	if _, err := l.Complete(l.ctx, p, found(p.Event)); !errors.Is(err, messaging.ErrClaimLost) {
		t.Errorf("completed twice: %v", err)
	}
	l.totals(map[string]int64{"events": 1, "decisions_planned": 1, "messages": 1})
	if !l.mustAccept(later("a")).Duplicate {
		t.Error("its dedupe key was forgotten")
	}
}

func (s suite) onlyTheNewestClaimEndsALookUp(t *testing.T) {
	l := s.open(t)
	l.mustAccept(later("a"))
	old := l.claimLookups(noon, 1)[0]
	now := l.claimLookups(noon.Add(time.Minute), 1)[0]
	_, err := l.Complete(l.ctx, old, found(old.Event))
	wantErr(t, err, "plan event 1 after its look-up: the claim is not held any more")
	err = l.RetryLookup(l.ctx, messaging.LookupRetry{EventID: 1, Attempt: 1, At: noon, Reason: "late"})
	wantErr(t, err, "put off the look-up of event 1: the claim is not held any more")
	if _, err := l.Complete(l.ctx, now, found(now.Event)); err != nil {
		t.Error(err)
	}
	l.totals(map[string]int64{"messages": 1})
}

func (s suite) aLookUpThatIsPutOffIsDueThen(t *testing.T) {
	l := s.open(t)
	l.mustAccept(later("a"))
	p := l.claimLookups(noon, 1)[0]
	at := noon.Add(10 * time.Second)
	l.must(l.RetryLookup(l.ctx, messaging.LookupRetry{EventID: 1, Attempt: p.Attempt, At: at, Reason: "503"}))
	same(t, "look-up", &messaging.PendingLookup{EventID: 1, Connector: "shop", Attempt: 1, NextAt: at, Since: noon, Reason: "503"}, l.eventRow(1).Lookup)
	if woken := l.lastCall(&l.look); !woken.Equal(at) {
		t.Errorf("woken for %v", woken)
	}
	if early := l.claimLookups(at.Add(-time.Second), 1); len(early) != 0 {
		t.Errorf("claimed early: %+v", early)
	}
	p = l.claimLookups(at, 1)[0]
	if p.Attempt != 2 {
		t.Errorf("attempt %d", p.Attempt)
	}
	l.must(l.RetryLookup(l.ctx, messaging.LookupRetry{EventID: 1, Attempt: 2, At: at, Reason: "paused", Free: true}))
	if p = l.claimLookups(at, 1)[0]; p.Attempt != 2 {
		t.Errorf("what did not count counted: attempt %d", p.Attempt)
	}
}

func (s suite) aCancellationByKeyIsSettledAtOnce(t *testing.T) {
	l := s.open(t)
	reminder := l.enqueue("a")
	now := order("a", phone(""))
	now.Later = true
	r := l.mustAccept(now)
	if len(r.Decisions) != 1 || l.message(reminder).State != messaging.StateCancelled {
		t.Fatalf("receipt %+v", r)
	}
	p := l.claimLookups(noon, 1)[0]
	plan := order("a")
	plan.Event = p.Event
	plan.Event.Contact.Phone = "447700900123"
	thanks := cart("t").Proposals[0]
	thanks.Decision.Trigger, thanks.Correlation.Trigger, thanks.Message.Trigger = "thanks", "thanks", "thanks"
	plan.Proposals = append(plan.Proposals, thanks)
	if r, err := l.Complete(l.ctx, p, plan); err != nil || len(r.Decisions) != 1 || r.Decisions[0].Trigger != "thanks" {
		t.Fatalf("completed %+v (%v)", r, err)
	}
	var said []string
	for _, d := range l.eventRow(r.EventID).Decisions {
		said = append(said, d.Trigger+" "+string(d.Outcome))
	}
	same(t, "decisions", []string{"remind cancelling", "thanks planned"}, said)
}

func (s suite) whatHappenedMeanwhileIsSeenWhenAnEventIsPlanned(t *testing.T) {
	l := s.open(t)
	l.mustAccept(later("a"))
	p := l.claimLookups(noon, 1)[0]
	l.mustAccept(order("a"))
	l.settleBy(func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		if f.Tombstone != nil {
			return messaging.Settlement{Outcome: messaging.Cancelled, Reason: "ordered meanwhile"}
		}
		return insert(w, f)
	})
	r, err := l.Complete(l.ctx, p, found(p.Event))
	if err != nil || r.Decisions[0].Outcome != messaging.Cancelled {
		t.Errorf("completed %+v (%v)", r, err)
	}
}

func (s suite) aFaultOfSettlingLeavesTheLookUp(t *testing.T) {
	l := s.open(t)
	l.mustAccept(later("a"))
	p := l.claimLookups(noon, 1)[0]
	l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement { panic("no") })
	if _, err := l.Complete(l.ctx, p, found(p.Event)); err == nil {
		t.Fatal("no error")
	}
	row := l.eventRow(1)
	if row.Lookup == nil || row.Contact.Phone != "" || len(row.Decisions) != 0 {
		t.Errorf("half of it was stored: %+v", row)
	}
	l.settleBy(insert)
	if _, err := l.Complete(l.ctx, p, found(p.Event)); err != nil {
		t.Error(err)
	}
}

func (s suite) lookUpsSurviveTheEndOfTheProcess(t *testing.T) {
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	l.mustAccept(later("a"))
	l.claimLookups(noon, 1)
	l.close()
	l = reopen(t, dsn)
	if got := l.claimLookups(noon.Add(time.Minute), 1); len(got) != 1 || got[0].Attempt != 2 {
		t.Errorf("claimed %+v", got)
	}
}

func (s suite) lookUpsAreListedWithTheirEvents(t *testing.T) {
	l := s.open(t)
	l.mustAccept(later("a"))
	l.mustAccept(cart("b"))
	rows, err := l.Events(l.ctx, store.EventFilter{})
	if err != nil || len(rows) != 2 || rows[0].Lookup != nil || rows[1].Lookup == nil {
		t.Errorf("%+v (%v)", rows, err)
	}
}

func (s suite) manyHandsClaimEachLookUpOnce(t *testing.T) {
	l := s.open(t)
	const n = 200
	for i := range n {
		l.mustAccept(later(string(rune('a'+i%26)) + string(rune('a'+i/26))))
	}
	got := make([][]messaging.PendingLookup, 8)
	together(8, func(i int) { got[i] = l.claimLookups(noon, n/4) })
	seen := map[messaging.EventID]bool{}
	for _, claimed := range got {
		for _, p := range claimed {
			if seen[p.EventID] {
				t.Errorf("event %d twice", p.EventID)
			}
			seen[p.EventID] = true
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d", len(seen), n)
	}
}
