package suite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (s suite) claim(t *testing.T) {
	t.Run("a claim is stored as sending with owner, attempt and lease", s.aClaimIsStoredAsSending)
	t.Run("many claimers get each message once", s.manyClaimersGetEachMessageOnce)
	t.Run("each lane gives its own, by due time, urgent first", s.eachLaneGivesItsOwnByDueTime)
	t.Run("what has expired is dropped on the way and takes nobody's place", s.whatHasExpiredIsDroppedOnTheWay)
	t.Run("a claim that ends as many as it may has the next one begin at once", s.aClaimThatEndsManyHasTheNextBegin)
	t.Run("what was cancelled is never claimed", s.whatWasCancelledIsNeverClaimed)
	t.Run("a claim without an owner or a lease is refused", s.aClaimWithoutAnOwnerOrALeaseIsRefused)
}

func (s suite) aClaimIsStoredAsSending(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1", expires(noon.Add(7*time.Hour)))
	if got := l.mustClaim(noon.Add(time.Hour-time.Microsecond), 1); len(got) != 0 {
		t.Errorf("claimed before its time: %+v", got)
	}
	at := noon.Add(time.Hour)
	got := l.mustClaim(at, 5)
	want := messaging.Message{
		ID: id, EventID: 1, Trigger: "remind", Key: "1", Phone: "447700900123", Category: messaging.Marketing,
		Send: messaging.Send{Template: "reminder", Variables: []string{"Ana", "1"}}, State: messaging.StateSending,
		DueAt: at, ExpiresAt: noon.Add(7 * time.Hour), CreatedAt: noon, UpdatedAt: at, Attempt: 1,
		Owner: owner, LeaseEnds: at.Add(time.Minute), Config: "v1",
	}
	same(t, "claimed", []messaging.Message{want}, got)
	same(t, "stored", want, l.message(id))
	if got := l.mustClaim(at, 5); len(got) != 0 {
		t.Errorf("claimed twice: %+v", got)
	}
	l.totals(map[string]int64{"attempts": 1})
}

func (s suite) manyClaimersGetEachMessageOnce(t *testing.T) {
	l := s.open(t)
	const n = 300
	plans := make([]messaging.Plan, n)
	for i := range plans {
		plans[i] = cart(fmt.Sprint(i), category([]messaging.Category{messaging.Marketing, messaging.Utility}[i%2]))
	}
	if _, err := l.Accept(l.ctx, plans); err != nil {
		t.Fatal(err)
	}
	var taken sync.Map
	var count atomic.Int64
	together(32, func(i int) {
		for {
			got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: fmt.Sprint("owner ", i), Now: noon.Add(time.Hour), Lease: time.Minute, Authentication: 2, Utility: 2, Marketing: 3})
			if err != nil {
				t.Error(err)
			}
			if len(got) == 0 {
				return
			}
			for _, d := range got {
				if by, loaded := taken.LoadOrStore(d.ID, i); loaded {
					t.Errorf("message %d went to %v and %d", d.ID, by, i)
				}
				count.Add(1)
			}
		}
	})
	if count.Load() != n {
		t.Errorf("%d claimed of %d", count.Load(), n)
	}
}

func (s suite) eachLaneGivesItsOwnByDueTime(t *testing.T) {
	l := s.open(t)
	l.enqueue("m2", due(noon.Add(2*time.Second)))
	l.enqueue("m1", due(noon.Add(time.Second)))
	l.enqueue("u", category(messaging.Utility), due(noon.Add(3*time.Second)))
	l.enqueue("a", category(messaging.Authentication), due(noon.Add(4*time.Second)))
	claim := func(codes, utility, marketing int) (keys []string) {
		got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: owner, Now: noon.Add(time.Minute), Lease: time.Minute, Authentication: codes, Utility: utility, Marketing: marketing})
		l.must(err)
		for _, d := range got {
			keys = append(keys, d.Key)
		}
		return keys
	}
	l.enqueue("a2", category(messaging.Authentication), due(noon.Add(5*time.Second)))
	l.enqueue("u2", category(messaging.Utility), due(noon.Add(5*time.Second)))
	same(t, "none asked", []string{}, claim(0, 0, 0))
	same(t, "one of each", []string{"a", "u", "m1"}, claim(1, 1, 1))
	same(t, "codes only", []string{"a2"}, claim(5, 0, 0))
	same(t, "utility only", []string{"u2"}, claim(0, 5, 0))
	same(t, "the rest", []string{"m2"}, claim(5, 5, 5))
}

func (s suite) whatHasExpiredIsDroppedOnTheWay(t *testing.T) {
	l := s.open(t)
	for i := range 20 {
		l.enqueue(fmt.Sprint(i), due(noon.Add(time.Duration(i)*time.Second)), expires(noon.Add(time.Minute)))
	}
	live := l.enqueue("live", due(noon.Add(30*time.Second)))
	got := l.mustClaim(noon.Add(time.Minute), 2)
	if len(got) != 1 || got[0].ID != live {
		t.Fatalf("claimed %+v", got)
	}
	d := l.message(1)
	if d.State != messaging.StateDropped || d.Reason != "expired at 2026-03-02 12:01:00 UTC, before it could be sent" || d.Attempt != 0 {
		t.Errorf("%s after %d attempts: %s", d.State, d.Attempt, d.Reason)
	}
	l.totals(map[string]int64{"messages_dropped": 20, "attempts": 1})
}

func (s suite) aClaimThatEndsManyHasTheNextBegin(t *testing.T) {
	const perClaim, n = 512, 530
	l := s.open(t)
	var plans []messaging.Plan
	for i := range n {
		plans = append(plans, cart(fmt.Sprint(i), due(noon.Add(time.Second)), expires(noon.Add(time.Minute))))
	}
	_, err := l.Accept(l.ctx, plans)
	l.must(err)
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind"})
	first, second := noon.Add(2*time.Minute), noon.Add(3*time.Minute)
	same(t, "claimed", 0, len(l.mustClaim(first, 8)))
	l.totals(map[string]int64{"messages_dropped": perClaim})
	same(t, "OnDue after a claim that left some", first, l.woken(first))
	same(t, "claimed then", 0, len(l.mustClaim(second, 8)))
	l.totals(map[string]int64{"messages_dropped": n})
	if woken := l.woken(second); woken.Equal(second) {
		t.Error("OnDue after a claim that left none")
	}
}

func (s suite) whatWasCancelledIsNeverClaimed(t *testing.T) {
	l := s.open(t)
	l.enqueue("1")
	l.mustAccept(order("1"))
	if got := l.mustClaim(noon.Add(time.Hour), 1); len(got) != 0 {
		t.Errorf("claimed %+v", got)
	}
	if _, ok, err := l.NextDue(l.ctx); ok || err != nil {
		t.Errorf("NextDue finds something (%v)", err)
	}
}

func (s suite) aClaimWithoutAnOwnerOrALeaseIsRefused(t *testing.T) {
	l := s.open(t)
	for _, q := range []messaging.ClaimRequest{{Now: noon, Lease: time.Minute, Authentication: 1, Utility: 1}, {Owner: owner, Now: noon, Authentication: 1, Utility: 1}} {
		_, err := l.Claim(l.ctx, q)
		wantErr(t, err, "claim: needs an owner and a lease")
	}
}
