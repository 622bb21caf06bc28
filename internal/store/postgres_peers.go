package store

import (
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// manyWriters coordinates transactions where other processes write to the same data. Everything that it says is in the
// database; its memory is that of one transaction.
type manyWriters struct {
	engine  *engine.Postgres
	numbers *numbers.Blocks // of all writers of the process, so that they grow with time
	wakes   *nodes.WakeUps  // of the process, too
}

func (m *manyWriters) begin(t *Tx) error { return t.engine.Begin() }

func (m *manyWriters) settle(t *Tx, err error) error {
	if err == nil {
		err = m.tellDue(t)
	}
	if err == nil {
		err = t.engine.Commit()
	}
	if err != nil {
		t.engine.Rollback()
	}
	return err
}

func (m *manyWriters) allocate(t *Tx, of numbers.Sequence, n int64) (first int64, err error) {
	return m.numbers.Take(t.Tx, of, n)
}

func (m *manyWriters) lock(_ *Tx, hashes, read []int64) error {
	return m.engine.LockKeys(hashes, read)
}

func (m *manyWriters) tryLock(_ *Tx, hashes []int64, reads [][]int64) (busy []bool, err error) {
	return m.engine.TryLockKeys(hashes, reads)
}

func (m *manyWriters) find(_ *Tx, first, last, hash int64, ids []int64) ([]int64, error) {
	ids, err := m.engine.FindKeys(first, last, hash, ids)
	return ids, Wrap(err, "find a key")
}

func (m *manyWriters) remember(t *Tx, k key, _ bool) error {
	m.engine.AddKey(k)
	if err := t.Put(insertKeySQL, k.Part, k.Hash, k.ID); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

func (m *manyWriters) sweeping(*Tx) (kept func(int64)) { return func(int64) {} }

func (m *manyWriters) swept(*Tx) {}

func (m *manyWriters) contacts(t *Tx, account string, since int64, hash func(...string) int64) (*reach.Contacts, error) {
	// One claim of the account after the other, and each sees what those before it took.
	if err := m.lock(t, []int64{reachLock(account, hash)}, nil); err != nil {
		return nil, fmt.Errorf("contacts of the account: %w", err)
	}
	return reach.Read(t.Tx, account, since, hash)
}

// reachLock is what those lock who ask how many contacts an account reached.
func reachLock(account string, hash func(...string) int64) int64 { return hash("reach", account) }

func (m *manyWriters) noteRecipient(string, messaging.Phone, int64) {}

func (m *manyWriters) filesCount(bool) {}

var (
	noteSQL       = engine.PostgresSQL(`LOCK TABLE cut_changes IN ROW EXCLUSIVE MODE`)
	awaitNotesSQL = engine.PostgresSQL(`LOCK TABLE cut_changes IN SHARE ROW EXCLUSIVE MODE`)
)

func (m *manyWriters) lockNotes(t *Tx, wantsToKnow bool) error {
	if wantsToKnow {
		return t.Put(awaitNotesSQL)
	}
	return t.Put(noteSQL)
}

func (m *manyWriters) lowWater() *lowwater.Marks { return nil }

// What owners hold that live is theirs, and must not fill the list. They end it themselves where a lease is over: only
// they know whether the call goes on. Of whom this process has the folder ($3) it knows that it is
// dead. That the lease of another one has ended says so only to who may bury ($4).
var sendingSQL = engine.SQL(`SELECT ` + stored.MessageColumns + ` FROM messages
		WHERE state = 'sending' AND (owner <> ?1 OR lease_ends <= ?2) ORDER BY lease_ends LIMIT 200 {{skip locked}}`).OnPostgres(`SELECT ` + stored.MessageColumns + ` FROM messages
		WHERE state = 'sending' AND (owner = $1 AND lease_ends <= $2 OR owner = $3 OR owner <> $1 AND NOT EXISTS (SELECT 1 FROM nodes
			WHERE nodes.owner = messages.owner AND ($4 = 0 OR nodes.lease_ends > ` + nodes.Now + `)))
		ORDER BY lease_ends LIMIT 200 FOR UPDATE OF messages SKIP LOCKED`)

func (m *manyWriters) sending(t *Tx, own string, now int64, each func(*engine.Row) error) error {
	return t.Query(sendingSQL, each, own, now, t.calls.Predecessor(), engine.Flag(t.beat.MayBury()))
}

var aliveSQL = engine.PostgresSQL(`SELECT CAST(1 AS BIGINT) WHERE ` + nodes.Alive("$1"))

func (m *manyWriters) alive(t *Tx, owner, own string) (alive bool, err error) {
	if owner == own {
		return true, nil
	}
	if owner == t.calls.Predecessor() {
		return false, nil
	}
	err = t.Query(aliveSQL, func(*engine.Row) error { alive = true; return nil }, owner)
	return alive, Wrap(err, "whether its owner lives")
}

func (m *manyWriters) buries(t *Tx) bool { return t.beat.MayBury() }

var freeLookupsSQL = engine.SQL(`UPDATE lookups SET due_at = ?1, lease_ends = 0, owner = '' WHERE lease_ends > 0 AND owner <> ?2`).OnPostgres(`UPDATE lookups SET due_at = $1, lease_ends = 0, owner = ''
		WHERE lease_ends > 0 AND owner <> $2 AND owner <> '' AND (owner = $3 OR $4 = 1 AND NOT ` + nodes.Alive("lookups.owner") + `)`)

func (m *manyWriters) freeLookups(t *Tx, own string, now int64) (int64, error) {
	return t.Exec(freeLookupsSQL, now, own, t.calls.Predecessor(), engine.Flag(t.beat.MayBury()))
}

func (m *manyWriters) close() {}
