package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// What keeps messages back is a row of holds, whoever ordered it: messaging.HoldKinds lists the kinds. This file reads them, sets and ends
// them, and has the condition by which a claim asks; what is particular to a kind stands in the files beside it. A hold that has ended
// keeps its row for a while: a pause of the service that begins soon after the last one is longer, and a review that has ended is
// remembered for as long as the data.

// forgetHolds is how long the row of a hold is kept that has ended.
const forgetHolds = 30 * 24 * time.Hour

var (
	// unheld is the condition on a message that no hold keeps it back, and unheldByPeople that none does but one of the service.
	unheld         = unheldIf(``)
	unheldByPeople = unheldIf(` AND h.kind <> 'service'`)
)

// unheldIf is the condition on a message that none of some holds keeps it back; messaging.Hold.Stops says the same of what was claimed before.
// Holds are few, and to look through none of them costs next to nothing. A message without an event is of a run. The text that names a
// template holds quotes that are not escaped, so no variable can contain it.
func unheldIf(some string) string {
	return `NOT EXISTS (SELECT 1 FROM holds h WHERE h.ended_at = 0 AND h.kind <> 'released'` + some + ` AND CASE h.scope
		WHEN 'all' THEN 1 = 1
		WHEN 'trigger' THEN event_id <> 0 AND h.name = trigger_name AND (h.kind <> 'mode' OR test = '')
		WHEN 'job' THEN event_id = 0 AND h.name = trigger_name
		WHEN 'run' THEN event_id = 0 AND substr(correlation_key, 1, length(h.name) + 9) = 'run ' || h.name || ' row '
		WHEN 'account' THEN 1 = 0
		ELSE replace(send, h.mark, '') <> send AND (h.kind = 'halt' OR h.of_account = account AND h.probe <> id AND (h.part = ''
			OR event_id <> 0 AND h.part = 'trigger ' || trigger_name
			OR event_id = 0 AND substr(correlation_key, 1, length(h.part) + 5) = h.part || ' row ')) END)`
}

// contentOf is the text by which a message is known to be sent with what the hold names; "" where that is no content.
func contentOf(h *messaging.Hold) string {
	switch h.Scope {
	case messaging.ScopeTemplate:
		return stored.ContentMark(messaging.Send{Template: h.Name})
	case messaging.ScopeCampaign:
		return stored.ContentMark(messaging.Send{Campaign: h.Name})
	case messaging.ScopeText:
		return stored.ContentMark(messaging.Send{})
	}
	return ""
}

const setHold = `INSERT INTO holds (scope, name, kind, of_account, part, way, reason, who, at, until_at, cause, strikes, by_status, asked, probe, mark)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
	ON CONFLICT (scope, name, kind, of_account, part, way) DO UPDATE SET reason = excluded.reason, who = excluded.who, until_at = excluded.until_at,
		ended_at = 0, cause = excluded.cause, strikes = excluded.strikes, by_status = excluded.by_status, asked = excluded.asked, probe = excluded.probe,
		at = CASE WHEN holds.ended_at = 0 AND excluded.kind <> 'service' AND excluded.kind <> 'restored' THEN holds.at ELSE excluded.at END`

var (
	setHoldSQL = engine.SQL(setHold)
	endHoldSQL = engine.SQL(`UPDATE holds SET ended_at = ?7, probe = 0 WHERE scope = ?1 AND name = ?2 AND kind = ?3 AND of_account = ?4 AND part = ?5 AND way = ?6 AND ended_at = 0`)

	forgetHoldsSQL = engine.SQL(`DELETE FROM holds WHERE (ended_at > 0 AND ended_at < ?1 AND kind <> 'restored') OR (ended_at = 0 AND scope = 'account' AND until_at < ?2)`)
)

// holdRow is a hold as setHold takes it.
func holdRow(h *messaging.Hold) []any {
	return []any{
		string(h.Scope), h.Name, string(h.Kind), h.Account, h.Part, h.Way, plain.Cut(h.Reason, maxAnswer), h.Who, engine.Micro(h.At), engine.Micro(h.Until),
		h.Cause, int64(h.Strikes), engine.Flag(h.ByStatus), engine.Flag(h.Asked), int64(h.Probe), contentOf(h),
	}
}

// hold sets a hold. One that holds already has its reason changed, and not its time.
func (t *Tx) hold(h messaging.Hold) error {
	if h.At.IsZero() {
		h.At = engine.Moment(t.At)
	}
	err := t.forgetHolds()
	if err == nil {
		err = t.Put(setHoldSQL, holdRow(&h)...)
	}
	return err
}

// forgetHolds removes the rows of holds that ended long ago, and of accounts that nobody tries to call any more as they were called.
func (t *Tx) forgetHolds() error {
	return t.Put(forgetHoldsSQL, t.At-forgetHolds.Microseconds(), t.At-forgetAccountHold.Microseconds())
}

// endHold makes what a hold kept back due at once, and reports whether there was one.
func (t *Tx) endHold(h messaging.Hold) (was bool, err error) {
	n, err := t.Exec(endHoldSQL, string(h.Scope), h.Name, string(h.Kind), h.Account, h.Part, h.Way, t.At)
	if n > 0 {
		t.goesOn(&h)
	}
	return n > 0, err
}

// goesOn has claims look again at all that a hold may have kept back.
func (t *Tx) goesOn(h *messaging.Hold) {
	account := messaging.EveryAccount
	if h.Kind == messaging.HoldService {
		account = h.Account
	}
	t.peers.LowWater().Lower(account, 0)
	t.wakeSender(account, t.At)
}

// Hold stops what h names by a person's word. When it returns, no claim takes it any more. A second one of the same changes the reason and
// not the time.
func (s *Store) Hold(ctx context.Context, h messaging.Hold) error {
	if h.Kind != messaging.HoldHalt || !slices.Contains(messaging.HaltScopes, h.Scope) || (h.Scope == messaging.ScopeAll) != (h.Name == "") {
		return fmt.Errorf("halt: %q %q is nothing that can be halted", h.Scope, h.Name)
	}
	return Wrap(s.changeHolds(ctx, nil, func(t *Tx) error { return t.hold(h) }), "halt")
}

// EndHold ends a hold that a person may end as it is, of HoldHalt or HoldDamage, and what waited for it is due at once; ErrNotFound when
// there was none.
func (s *Store) EndHold(ctx context.Context, h messaging.Hold) error {
	if h.Kind != messaging.HoldHalt && h.Kind != messaging.HoldDamage {
		return fmt.Errorf("resume: %q %q is nothing that can be halted", h.Scope, h.Name)
	}
	var was bool
	err := s.changeHolds(ctx, h.Same, func(t *Tx) (err error) {
		was, err = t.endHold(h)
		return err
	})
	if err == nil && !was {
		err = messaging.ErrNotFound
	}
	return Wrap(err, "resume")
}

// changeHolds makes a change that may set holds and end those that ends reports; nil for none. When it returns, Held knows of it.
func (s *Store) changeHolds(ctx context.Context, ends func(messaging.Hold) bool, change func(*Tx) error) error {
	s.holding.Lock()
	defer s.holding.Unlock()
	// The commit wakes the sender, and what it claims then must not meet a last look that still
	// says no: the claim would come back at once, again and again.
	if ends != nil {
		others := slices.DeleteFunc(slices.Clone(s.holdsNow()), ends)
		s.holds.Store(&others)
	}
	err := s.Write(ctx, commit.LaneWork, change)
	return errors.Join(err, s.loadHolds(context.WithoutCancel(ctx)))
}

// loadHolds renews what is known of holds without asking the database.
func (s *Store) loadHolds(ctx context.Context) error {
	all, err := s.storedHolds(ctx)
	if err == nil {
		s.holds.Store(&all)
	}
	return err
}

// holdsNow are the holds as this process knows them. It asks no database.
func (s *Store) holdsNow() []messaging.Hold {
	if all := s.holds.Load(); all != nil {
		return *all
	}
	return nil
}

// storedHolds reads the holds that have not ended: first what is to be reviewed, then the longest first, and last what the service does.
func (s *Store) storedHolds(ctx context.Context) ([]messaging.Hold, error) {
	all, err := List(ctx, s, `SELECT scope, name, kind, of_account, part, way, reason, who, at, until_at, cause, strikes, by_status, asked, probe FROM holds WHERE ended_at = 0
		ORDER BY CASE kind WHEN 'restored' THEN 0 WHEN 'service' THEN 2 ELSE 1 END, at, scope, name, of_account, part, way`, nil, func(r *engine.Row) (messaging.Hold, error) {
		return messaging.Hold{
			Scope: messaging.HoldScope(r.Text()), Name: r.Text(), Kind: messaging.HoldKind(r.Text()), Account: r.Text(), Part: r.Text(), Way: r.Text(),
			Reason: r.Text(), Who: r.Text(), At: r.Time(), Until: r.Time(),
			Cause: r.Text(), Strikes: int(r.Int()), ByStatus: r.Int() == 1, Asked: r.Int() == 1, Probe: messaging.MessageID(r.Int()),
		}, r.Err
	})
	if err == nil && s.file != nil && s.file.fault != nil {
		var h messaging.Hold
		h, err = s.holdAfter(ctx, s.file.fault, s.file.fault.Until)
		all = append(all, h)
	}
	if s.unrecognised != nil {
		all = slices.DeleteFunc(all, func(h messaging.Hold) bool { return h.Kind == messaging.HoldRestored })
		all = slices.Insert(all, 0, s.unrecognised.hold()) // whatever else is held, this comes first
	}
	return all, Wrap(err, "read what is held")
}

// Holds lists what is held; runs that are paused are among it where rows of them were handed over, and last the accounts that are gone
// from the config while something waits for them. What the service does to accounts is not: AccountHolds has that.
func (s *Store) Holds(ctx context.Context) ([]messaging.Hold, error) {
	all, err := s.storedHolds(ctx)
	if err != nil {
		return nil, err
	}
	gone, err := s.goneAccounts(ctx)
	return append(slices.DeleteFunc(all, func(h messaging.Hold) bool { return h.Scope == messaging.ScopeAccount }), gone...), Wrap(err, "list what is held")
}

// Held is the hold that keeps a message back, for one that was claimed before it.
func (s *Store) Held(d *messaging.Message) (messaging.Hold, bool) { return firstHold(s.holdsNow(), d) }

func firstHold(all []messaging.Hold, d *messaging.Message) (messaging.Hold, bool) {
	i := slices.IndexFunc(all, func(h messaging.Hold) bool { return h.Stops(d) })
	if i < 0 {
		return messaging.Hold{}, false
	}
	return all[i], true
}

// HoldsOf are the holds that meet a condition, as this process knows them. It asks no database.
func (s *Store) HoldsOf(is func(messaging.Hold) bool) []messaging.Hold {
	return slices.DeleteFunc(slices.Clone(s.holdsNow()), func(h messaging.Hold) bool { return !is(h) })
}

// RunHeld is the hold that keeps a run back: its job is halted, or everything, or the template that its rows are sent with, or its account
// is gone.
func (s *Store) RunHeld(ctx context.Context, r *messaging.Run) (messaging.Hold, bool, error) {
	all, err := s.Holds(ctx)
	h, held := firstHold(all, &messaging.Message{Trigger: r.Job, Account: r.Account, Send: messaging.Send{Template: r.Send.Template}})
	return h, held, err
}

// Unsent reports whether anything that a halt of this scope and name would stop is not at its
// end yet: what waits, what is on its way, what is in doubt and may be sent again, and for a
// job also its open runs. It is how a name is known that has left the config.
func (s *Store) Unsent(ctx context.Context, scope messaging.HoldScope, name string) (found bool, err error) {
	var condition string
	args := []any{name}
	switch scope {
	case messaging.ScopeTrigger:
		condition = `event_id <> 0 AND trigger_name = ?1`
	case messaging.ScopeJob:
		condition = `event_id = 0 AND trigger_name = ?1`
	case messaging.ScopeTemplate:
		condition, args = `replace(send, ?1, '') <> send`, []any{stored.TemplateMark(name)}
	default:
		return false, fmt.Errorf("unsent of %q: nothing that has a name", scope)
	}
	// One search by index for each state: an OR of them would walk history.
	var looks []string
	for _, state := range liveStates {
		looks = append(looks, `SELECT 1 FROM messages WHERE `+stateCondition(state)+` AND `+condition)
	}
	if scope == messaging.ScopeJob {
		looks = append(looks, `SELECT 1 FROM runs WHERE ended_at = 0 AND job = ?1`)
	}
	for i := 0; i < len(looks) && err == nil && !found; i++ {
		err = s.Rows(ctx, looks[i]+` LIMIT 1`, args, func(*engine.Row) error { found = true; return nil })
	}
	return found, Wrap(err, "look for what %s %q has not sent", scope, name)
}
