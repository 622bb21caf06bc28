package store

import (
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// The service may not serve an account for a while: it refuses the key, the points are gone, it is away. What calls the account finds
// out, and goes on by itself (see pace.Halt). Here that is kept, so that one process knows what another one found, and what one found before
// it was started anew. Claims do not look at it: who calls does, before each call.

// The parts of an account that may be held. One lane of sends is HeldLane.
const (
	HeldSends = "send"
	HeldLooks = "look"
)

// HeldLane is the part of what is sent of a category.
func HeldLane(c messaging.Category) string { return HeldSends + " " + string(c) }

// forgetAccountHold is how long after the next try was due a hold may still be found that nobody tried to end: all call the account otherwise now.
const forgetAccountHold = 24 * time.Hour

// AccountHolds are those of a part of an account, whoever may call it, as far as this process knows.
func (s *Store) AccountHolds(account, part string) []messaging.Hold {
	return s.HoldsOf(func(h messaging.Hold) bool {
		return h.Scope == messaging.ScopeAccount && h.Name == account && h.Part == part
	})
}

// A Pause is the hold of one part of an account for all that call it in the same way. It is a pace.Keeper.
type Pause struct {
	store *Store
	id    messaging.Hold
}

// Pause is the one of a part of the account. way is a keyed hash that tells those that call it by one key at one address from those that
// call it otherwise.
func (a Account) Pause(part, way string) Pause {
	return Pause{a.Store, messaging.Hold{Scope: messaging.ScopeAccount, Name: a.name, Kind: messaging.HoldService, Account: a.name, Part: part, Way: way}}
}

// Paused is what is kept, as far as this process knows.
func (p Pause) Paused() pace.Halted {
	all := p.store.HoldsOf(p.id.Same)
	if len(all) == 0 {
		return pace.Halted{}
	}
	h := &all[0]
	return pace.Halted{Cause: h.Cause, Why: h.Reason, Since: h.At, Until: h.Until, Strikes: h.Strikes, Marks: pace.Marks{ByStatus: h.ByStatus, Asked: h.Asked}}
}

var (
	beginHoldSQL = engine.SQL(setHold + ` WHERE holds.ended_at > 0`)

	// takeHoldSQL changes nothing, and is held by the transaction from then on.
	takeHoldSQL = engine.SQL(`UPDATE holds SET probe = 0 WHERE scope = ?1 AND name = ?2 AND kind = ?3 AND of_account = ?4 AND part = ?5 AND way = ?6
		AND ended_at = 0 AND at = ?7 AND until_at = ?8`)
)

// Swap keeps to in the place of from; see pace.Keeper.
func (p Pause) Swap(ctx context.Context, from, to pace.Halted) (bool, error) {
	h, none := p.id, pace.Halted{}
	h.Who, h.Cause, h.Reason, h.At, h.Until = p.store.nodeName(), to.Cause, to.Why, to.Since, to.Until
	h.Strikes, h.ByStatus, h.Asked = to.Strikes, to.ByStatus, to.Asked
	var changed int64
	err := p.store.changeHolds(ctx, nil, func(t *Tx) (err error) {
		if from == none {
			if err := t.forgetHolds(); err != nil {
				return err
			}
			changed, err = t.Exec(beginHoldSQL, holdRow(&h)...)
			return err
		}
		changed, err = t.Exec(takeHoldSQL, string(h.Scope), h.Name, string(h.Kind), h.Account, h.Part, h.Way, engine.Micro(from.Since), engine.Micro(from.Until))
		switch {
		case err != nil || changed == 0:
			return err
		case to == none:
			return t.Put(endHoldSQL, string(h.Scope), h.Name, string(h.Kind), h.Account, h.Part, h.Way, t.At)
		}
		return t.Put(setHoldSQL, holdRow(&h)...)
	})
	return err == nil && changed > 0, Wrap(err, "pause of account %q", p.id.Name)
}

// nodeName is what this process is called among those that share the data; "" where it is alone.
func (s *Store) nodeName() string {
	return nodes.NameOf(s.beat.Owner())
}

// goneAccounts are the holds of accounts that the config does not have, and that something waits for. They
// are not stored: nobody claims for such an account, and the config alone says which they are.
func (s *Store) goneAccounts(ctx context.Context) (out []messaging.Hold, err error) {
	if s.has == nil {
		return nil, nil
	}
	names, err := s.AccountsWaiting(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := List(ctx, s, `SELECT DISTINCT account FROM runs WHERE ended_at = 0`, nil, engine.Text)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(names, runs...)))) {
		if err == nil && s.Gone(name) {
			out = append(out, messaging.Hold{Scope: messaging.ScopeAccount, Name: name, Kind: messaging.HoldGone, Reason: "is gone from the config"})
		}
	}
	return out, err
}
