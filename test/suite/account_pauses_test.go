package suite

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/store"
)

// refused is a pause as the sender tells it.
func refused(since time.Time, strikes int) pace.Halted {
	return pace.Halted{
		Cause: "key", Why: "the service refuses the API key: 401", Since: since, Until: since.Add(time.Duration(strikes) * 5 * time.Second), Strikes: strikes,
		Marks: pace.Marks{ByStatus: strikes > 1, Asked: strikes > 2},
	}
}

// swap changes a pause, and says whether it did.
func (l *ledger) swap(p store.Pause, from, to pace.Halted) bool {
	l.t.Helper()
	is, err := p.Swap(l.ctx, from, to)
	if err != nil {
		l.t.Fatal(err)
	}
	return is
}

// accountPauses is what is kept of accounts that the service does not serve.
func (s suite) accountPauses(t *testing.T) {
	none := pace.Halted{}
	t.Run("what was told is kept over a restart, and its end, too", func(t *testing.T) {
		l := s.open(t)
		p := l.Account("brand", 0).Pause(store.HeldSends, "one")
		same(t, "at first", none, p.Paused())
		for strikes := 1; strikes <= 3; strikes++ {
			same(t, "told", true, l.swap(p, p.Paused(), refused(noon, strikes)))
			same(t, "kept", refused(noon, strikes), p.Paused())
		}
		again := reopenAfter(t, l)
		p = again.Account("brand", 0).Pause(store.HeldSends, "one")
		same(t, "after a restart", refused(noon, 3), p.Paused())
		same(t, "ended", true, again.swap(p, p.Paused(), none))
		same(t, "after its end", none, p.Paused())
		again = reopenAfter(t, again)
		same(t, "after another restart", 0, len(again.AccountHolds("brand", store.HeldSends)))
	})
	t.Run("only who knows what is kept changes it", func(t *testing.T) {
		l := s.open(t)
		p := l.Account("", 0).Pause(store.HeldSends, "one")
		first, second := refused(noon, 1), refused(noon, 2)
		same(t, "a change of nothing", false, l.swap(p, first, second))
		same(t, "an end of nothing", false, l.swap(p, first, none))
		same(t, "a beginning", true, l.swap(p, none, first))
		same(t, "a second beginning", false, l.swap(p, none, second))
		same(t, "a change of what is not kept", false, l.swap(p, second, refused(noon, 3)))
		same(t, "an end of what is not kept", false, l.swap(p, second, none))
		same(t, "kept", first, p.Paused())
	})
	t.Run("accounts, rooms and ways are paused each by itself", func(t *testing.T) {
		l := s.open(t)
		p := l.Account("brand", 0).Pause(store.HeldSends, "one")
		same(t, "told", true, l.swap(p, none, refused(noon, 1)))
		for what, other := range map[string]store.Pause{
			"account": l.Account("", 0).Pause(store.HeldSends, "one"), "room": l.Account("brand", 0).Pause(store.HeldLooks, "one"), "way": l.Account("brand", 0).Pause(store.HeldSends, "two"),
		} {
			same(t, "another "+what, none, other.Paused())
		}
		one := l.AccountHolds("brand", store.HeldSends)
		if len(one) != 1 || one[0].Way != "one" {
			t.Errorf("listed: %+v", one)
		}
	})
	t.Run("what nobody tries any more is forgotten with the next pause", func(t *testing.T) {
		l := s.open(t)
		old, late := l.Account("", 0).Pause(store.HeldSends, "old"), l.Account("", 0).Pause(store.HeldSends, "late")
		same(t, "told", true, l.swap(old, none, refused(noon, 1)))
		same(t, "told", true, l.swap(late, none, refused(noon.Add(2*time.Hour), 1)))
		l.at(noon.Add(25 * time.Hour))
		same(t, "told", true, l.swap(l.Account("", 0).Pause(store.HeldSends, "new"), none, refused(noon.Add(25*time.Hour), 1)))
		same(t, "kept", 2, len(l.AccountHolds("", store.HeldSends)))
		same(t, "the old one", none, old.Paused())
	})
}

// nodePauses is what one node hears of pauses that another one tells.
func (p pair) nodePauses(t *testing.T) {
	none := pace.Halted{}
	t.Run("the other node hears of it, and of its end", func(t *testing.T) {
		a, b := p.two(t)
		if _, err := a.RescueClaims(a.ctx, noon, "host-a:1:x"); err != nil {
			t.Fatal(err)
		}
		one, other := a.Account("", 0).Pause(store.HeldLooks, "w"), b.Account("", 0).Pause(store.HeldLooks, "w")
		same(t, "told", true, a.swap(one, none, refused(noon, 1)))
		until(t, "the other has heard", func() bool { return other.Paused() == refused(noon, 1) && b.paused.Load() > 0 })
		same(t, "who told", "host-a:1", b.AccountHolds("", store.HeldLooks)[0].Who)
		same(t, "ended by the other", true, b.swap(other, other.Paused(), none))
		until(t, "the first has heard", func() bool { return one.Paused() == none })
	})
	t.Run("who is told at the same time by all is told by one", func(t *testing.T) {
		a, b := p.two(t)
		var began, changed, ended atomic.Int64
		count := func(n *atomic.Int64, from, to pace.Halted) {
			together(6, func(i int) {
				l := []*ledger{a, b}[i%2]
				is, err := l.Account("", 0).Pause(store.HeldSends, "w").Swap(l.ctx, from, to)
				if err != nil {
					t.Error(err)
				}
				if is {
					n.Add(1)
				}
			})
		}
		count(&began, none, refused(noon, 1))
		count(&changed, refused(noon, 1), refused(noon, 2))
		count(&ended, refused(noon, 2), none)
		if began.Load() != 1 || changed.Load() != 1 || ended.Load() != 1 {
			t.Errorf("%d began it, %d changed it, %d ended it", began.Load(), changed.Load(), ended.Load())
		}
	})
	t.Run("the pause of a node that died is there for the others to end", func(t *testing.T) {
		a, b := p.two(t)
		same(t, "told", true, a.swap(a.Account("", 0).Pause(store.HeldSends, "w"), none, refused(noon, 1)))
		a.close()
		other := b.Account("", 0).Pause(store.HeldSends, "w")
		until(t, "the other has heard", func() bool { return other.Paused() != none })
		same(t, "its try", true, b.swap(other, other.Paused(), refused(noon, 4)))
		late := join(t, b)
		same(t, "a node that comes later", refused(noon, 4), late.Account("", 0).Pause(store.HeldSends, "w").Paused())
	})
}
