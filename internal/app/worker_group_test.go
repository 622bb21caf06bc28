package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/store/calls"
)

func TestMembersOfACrewComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, running := newWorkerGroup(), map[string]bool{}
		member := func(name string) func(context.Context) error {
			return func(ctx context.Context) error {
				running[name] = true
				<-ctx.Done()
				delete(running, name)
				return nil
			}
		}
		early, changed := c.join(member("early")), c.join(member("changed its mind"))
		c.leave(changed)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.run(ctx) }()
		synctest.Wait()
		c.join(member("later"))
		synctest.Wait()
		if len(running) != 2 || !running["early"] || !running["later"] {
			t.Errorf("running: %v", running)
		}
		c.leave(early)
		<-early.ended
		if len(running) != 1 {
			t.Errorf("after one left: %v", running)
		}
		cancel()
		if err := <-ended; err != nil || len(running) != 0 {
			t.Errorf("%v, running: %v", err, running)
		}
		<-c.join(member("too late")).ended
	})
}

func TestACrewEndsWithAMemberThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, broken := newWorkerGroup(), errors.New("broken")
		other := c.join(func(ctx context.Context) error { <-ctx.Done(); return nil })
		c.join(func(context.Context) error { return broken })
		if err := c.run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("ended with %v", err)
		}
		<-other.ended
	})
}

// Accounts that leave keep their slots until they have ended; new ones get others.
func TestAccountsShareTheSlotsForCalls(t *testing.T) {
	if most := 2 * sender.Slots(config.MaxConcurrency); most > calls.Slots {
		t.Errorf("all accounts twice need %d slots, and there are %d", most, calls.Slots)
	}
	a := &App{}
	account := func(first, slots int) *account {
		return &account{first: first, slots: slots, sending: &worker{ended: make(chan struct{})}}
	}
	leaving := account(128, 64)
	a.leaving = append(a.leaving, leaving)
	a.accounts.Store(&accountMap{"": account(0, 128), "b": account(192, 64), "new": {}})
	if first := a.freeSlots(64); first != 256 {
		t.Errorf("64 slots begin at %d, among those of accounts that still send", first)
	}
	close(leaving.sending.ended)
	for slots, want := range map[int]int{64: 128, 65: 256} {
		if first := a.freeSlots(slots); first != want {
			t.Errorf("%d slots begin at %d, want %d", slots, first, want)
		}
	}
}
