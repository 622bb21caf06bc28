package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// The service may not serve an account for a while: it refuses the key, the points are gone, it is away. What calls the account finds
// out, and goes on by itself (see pace.Halt). Here that is kept, so that one process knows what another one found, and what one found before
// it was started anew. Claims do not look at it: who calls does, before each call.

// The rooms of an account that may be paused. One lane of sends is PausedLane.
const (
	PausedSends = "send"
	PausedLooks = "look"
)

// PausedLane is the room of what is sent of a category.
func PausedLane(c nudgewire.Category) string { return PausedSends + " " + string(c) }

// forgetAccountPause is how long after the next try was due a pause may still be found that nobody tried to end: all call the account otherwise now.
const forgetAccountPause = 24 * time.Hour

// An AccountPause is a pause of an account, as one process told all.
type AccountPause struct {
	Account, Room, Way string
	Node               string // that told it, or has the turn to try; "" where the data is a file
	pace.Halted
}

// AccountPauses are those of the rooms of an account, whoever may call it, as far as this process knows. They stand in the order of the ways.
func (s *Store) AccountPauses(account, room string) []AccountPause {
	all := s.paused.Load()
	if all == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*all), func(p AccountPause) bool { return p.Account != account || p.Room != room })
}

// loadAccountPauses renews what AccountPauses gives.
func (s *Store) loadAccountPauses(ctx context.Context) error {
	all, err := list(ctx, s, `SELECT of_account, room, way, node, cause, words, since, ends_at, strikes, told_by_status, asked FROM account_pauses ORDER BY of_account, room, way`, nil,
		func(r *row) (AccountPause, error) {
			p := AccountPause{Account: r.text(), Room: r.text(), Way: r.text(), Node: r.text()}
			p.Cause, p.Why, p.Since, p.Until, p.Strikes = r.text(), r.text(), r.time(), r.time(), int(r.int())
			p.ByStatus, p.Asked = r.int() == 1, r.int() == 1
			return p, r.err
		})
	if err == nil {
		s.paused.Store(&all)
	}
	return wrap(err, "pauses of accounts")
}

// A Pause is the pause of one room of an account for all that call it in the same way. It is a pace.Keeper.
type Pause struct {
	store              *Store
	account, room, way string
}

// Pause is the one of a room of the account. way tells those that call it by one key at one address from those that call it otherwise.
func (a Account) Pause(room, way string) Pause { return Pause{a.Store, a.name, room, way} }

// Paused is what is kept, as far as this process knows.
func (p Pause) Paused() pace.Halted {
	for _, one := range p.store.AccountPauses(p.account, p.room) {
		if one.Way == p.way {
			return one.Halted
		}
	}
	return pace.Halted{}
}

var (
	beginPauseSQL = statementOf(`INSERT INTO account_pauses (of_account, room, way, cause, words, since, ends_at, strikes, told_by_status, asked, node)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (of_account, room, way) DO NOTHING`)
	changePauseSQL = statementOf(`UPDATE account_pauses SET cause = ?4, words = ?5, since = ?6, ends_at = ?7, strikes = ?8, told_by_status = ?9, asked = ?10, node = ?11
		WHERE of_account = ?1 AND room = ?2 AND way = ?3 AND since = ?12 AND ends_at = ?13`)
	endPauseSQL     = statementOf(`DELETE FROM account_pauses WHERE of_account = ?1 AND room = ?2 AND way = ?3 AND since = ?4 AND ends_at = ?5`)
	forgetPausesSQL = statementOf(`DELETE FROM account_pauses WHERE of_account = ?1 AND room = ?2 AND ends_at < ?3`)
)

// Swap keeps to in the place of from; see pace.Keeper.
func (p Pause) Swap(ctx context.Context, from, to pace.Halted) (bool, error) {
	node := p.store.nodeName()
	var changed int64
	err := p.store.changeHalts(ctx, nil, func(t *tx) (err error) {
		id := []any{p.account, p.room, p.way}
		values := slices.Concat(id, []any{
			to.Cause, cut(to.Why, maxAnswer), micro(to.Since), micro(to.Until), int64(to.Strikes), flag(to.ByStatus), flag(to.Asked), node,
		})
		switch (pace.Halted{}) {
		case from:
			if err := t.put(forgetPausesSQL, p.account, p.room, t.at-forgetAccountPause.Microseconds()); err != nil {
				return err
			}
			changed, err = t.exec(beginPauseSQL, values...)
		case to:
			changed, err = t.exec(endPauseSQL, slices.Concat(id, []any{micro(from.Since), micro(from.Until)})...)
		default:
			changed, err = t.exec(changePauseSQL, slices.Concat(values, []any{micro(from.Since), micro(from.Until)})...)
		}
		return err
	})
	return err == nil && changed > 0, wrap(err, "pause of account %q", p.account)
}

// nodeName is what this process is called among those that share the data; "" where it is alone.
func (s *Store) nodeName() string {
	s.beat.mu.Lock()
	defer s.beat.mu.Unlock()
	return nameOf(s.beat.owner)
}

// nameOf is the name of the process that signs as owner: host and number.
func nameOf(owner string) string {
	if cut := strings.LastIndexByte(owner, ':'); cut > 0 {
		return owner[:cut]
	}
	return owner
}
