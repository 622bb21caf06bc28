package peers

import (
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// Many coordinates transactions where other processes write to the same data. Everything that it says is in the
// database; its memory is that of one transaction.
type Many struct {
	On      *engine.Postgres
	Numbers *numbers.Blocks // of all writers of the process, so that they grow with time
	Wakes   *nodes.WakeUps  // of the process, too
	Calls   *calls.File
	Beat    *nodes.Heartbeat
}

// Begin implements Coordinator.
func (m *Many) Begin() error { return m.On.Begin() }

// Settle implements Coordinator.
func (m *Many) Settle(_ *engine.Tx, err error) error {
	if err == nil {
		err = m.On.Commit()
	}
	if err != nil {
		m.On.Rollback()
	}
	return err
}

// Allocate implements Coordinator.
func (m *Many) Allocate(t *engine.Tx, of numbers.Sequence, n int64) (first int64, err error) {
	return m.Numbers.Take(t, of, n)
}

// Lock implements Coordinator.
func (m *Many) Lock(_ *engine.Tx, hashes, read []int64) error {
	return m.On.LockKeys(hashes, read)
}

// TryLock implements Coordinator.
func (m *Many) TryLock(_ *engine.Tx, hashes []int64, reads [][]int64) (busy []bool, err error) {
	return m.On.TryLockKeys(hashes, reads)
}

// Find implements Coordinator.
func (m *Many) Find(_ *engine.Tx, first, last, hash int64, ids []int64) ([]int64, error) {
	ids, err := m.On.FindKeys(first, last, hash, ids)
	if err != nil {
		return ids, fmt.Errorf("find a key: %w", err)
	}
	return ids, nil
}

// Remember implements Coordinator.
func (m *Many) Remember(t *engine.Tx, k Key, _ bool) error {
	m.On.AddKey(k)
	if err := t.Put(InsertKeySQL, k.Part, k.Hash, k.ID); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

// Sweeping implements Coordinator.
func (m *Many) Sweeping() (kept func(int64)) { return func(int64) {} }

// Swept implements Coordinator.
func (m *Many) Swept() {}

// Contacts implements Coordinator.
func (m *Many) Contacts(t *engine.Tx, account string, since int64, hash func(...string) int64) (*reach.Contacts, error) {
	// One claim of the account after the other, and each sees what those before it took.
	if err := m.Lock(t, []int64{ReachLock(account, hash)}, nil); err != nil {
		return nil, fmt.Errorf("contacts of the account: %w", err)
	}
	return reach.Read(t, account, since, hash)
}

// ReachLock is what those lock who ask how many contacts an account reached.
func ReachLock(account string, hash func(...string) int64) int64 { return hash("reach", account) }

// NoteRecipient implements Coordinator.
func (m *Many) NoteRecipient(string, messaging.Phone, int64) {}

// FilesCount implements Coordinator.
func (m *Many) FilesCount(bool) {}

var (
	noteSQL       = engine.PostgresSQL(`LOCK TABLE cut_changes IN ROW EXCLUSIVE MODE`)
	awaitNotesSQL = engine.PostgresSQL(`LOCK TABLE cut_changes IN SHARE ROW EXCLUSIVE MODE`)
)

// LockNotes implements Coordinator.
func (m *Many) LockNotes(t *engine.Tx, wantsToKnow bool) error {
	if wantsToKnow {
		return t.Put(awaitNotesSQL)
	}
	return t.Put(noteSQL)
}

// LowWater implements Coordinator.
func (m *Many) LowWater() *lowwater.Marks { return nil }

// What owners hold that live is theirs, and must not fill the list. They end it themselves where a lease is over: only
// they know whether the call goes on. Of whom this process has the folder ($3) it knows that it is
// dead. That the lease of another one has ended says so only to who may bury ($4).
var sendingSQL = engine.SQL(`SELECT ` + stored.MessageColumns + ` FROM messages
		WHERE state = 'sending' AND (owner <> ?1 OR lease_ends <= ?2) ORDER BY lease_ends LIMIT 200 {{skip locked}}`).OnPostgres(`SELECT ` + stored.MessageColumns + ` FROM messages
		WHERE state = 'sending' AND (owner = $1 AND lease_ends <= $2 OR owner = $3 OR owner <> $1 AND NOT EXISTS (SELECT 1 FROM nodes
			WHERE nodes.owner = messages.owner AND ($4 = 0 OR nodes.lease_ends > ` + nodes.Now + `)))
		ORDER BY lease_ends LIMIT 200 FOR UPDATE OF messages SKIP LOCKED`)

// Sending implements Coordinator.
func (m *Many) Sending(t *engine.Tx, own string, now int64, each func(*engine.Row) error) error {
	return t.Query(sendingSQL, each, own, now, m.Calls.Predecessor(), engine.Flag(m.Beat.MayBury()))
}

var aliveSQL = engine.PostgresSQL(`SELECT CAST(1 AS BIGINT) WHERE ` + nodes.Alive("$1"))

// Alive implements Coordinator.
func (m *Many) Alive(t *engine.Tx, owner, own string) (alive bool, err error) {
	if owner == own {
		return true, nil
	}
	if owner == m.Calls.Predecessor() {
		return false, nil
	}
	err = t.Query(aliveSQL, func(*engine.Row) error { alive = true; return nil }, owner)
	if err != nil {
		return alive, fmt.Errorf("whether its owner lives: %w", err)
	}
	return alive, nil
}

// Buries implements Coordinator.
func (m *Many) Buries() bool { return m.Beat.MayBury() }

var freeLookupsSQL = engine.SQL(`UPDATE lookups SET due_at = ?1, lease_ends = 0, owner = '' WHERE lease_ends > 0 AND owner <> ?2`).OnPostgres(`UPDATE lookups SET due_at = $1, lease_ends = 0, owner = ''
		WHERE lease_ends > 0 AND owner <> $2 AND owner <> '' AND (owner = $3 OR $4 = 1 AND NOT ` + nodes.Alive("lookups.owner") + `)`)

// FreeLookups implements Coordinator.
func (m *Many) FreeLookups(t *engine.Tx, own string, now int64) (int64, error) {
	return t.Exec(freeLookupsSQL, now, own, m.Calls.Predecessor(), engine.Flag(m.Beat.MayBury()))
}

var noticeDueSQL = engine.PostgresSQL(`INSERT INTO notices (kind, id) VALUES ('due', $1)`)

// TellDue has other processes hear of what waits.
func (m *Many) TellDue(t *engine.Tx, at int64) error {
	at = max(at, t.At)
	if !m.Wakes.Worth(at) {
		return nil
	}
	return t.Put(noticeDueSQL, at)
}

// Close implements Coordinator.
func (m *Many) Close() {}
