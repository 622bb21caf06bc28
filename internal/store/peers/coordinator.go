package peers

import (
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
)

// A Coordinator is what a transaction asks wherever the answer depends on who else writes to the data: which
// numbers are free, who holds a key, whose claims still count. No operation knows more about that than this
// interface says. Single is for one process alone, which is all that SQLite has; Many is for
// an engine that others write to, too.
//
// Its methods are called inside transactions, from one goroutine at a time, unless they say otherwise.
type Coordinator interface {
	// Begin opens the transaction.
	Begin() error
	// Settle ends it: for a nil err it writes what is left to write and commits, otherwise it rolls back.
	// It returns err, or why the commit failed; then nothing was written.
	Settle(t *engine.Tx, err error) error

	// Allocate gives n numbers without a gap between them, which no row had before, and returns the first.
	Allocate(t *engine.Tx, of numbers.Sequence, n int64) (first int64, err error)

	// Lock keeps other transactions from these hashes until this one ends. An operation calls it once, before its
	// first find, with every hash that it is going to remember, or to find and to rely on, in any order. read are those that
	// it is going to find, and others may remember more under meanwhile.
	Lock(t *engine.Tx, hashes, read []int64) error
	// TryLock is Lock for a claim, which waits for nobody: busy says which of the hashes another transaction has; nil for none. reads
	// are what is going to be found under each.
	TryLock(t *engine.Tx, hashes []int64, reads [][]int64) (busy []bool, err error)
	// Find appends to ids the numbers that are remembered under a hash in the parts from first to last, each once and
	// in ascending order. Another text may have the same hash: the caller compares the rows.
	Find(t *engine.Tx, first, last, hash int64, ids []int64) ([]int64, error)
	// Remember keeps a key for good. fresh says that its row was inserted in this transaction.
	Remember(t *engine.Tx, k Key, fresh bool) error

	// Sweeping is called before a walk through all keys that are stored, after which those that it found to lead nowhere are
	// gone: the walk says which it kept. Swept is called after its end.
	Sweeping() (kept func(hash int64))
	Swept()

	// Contacts are those that messages of an account were accepted for since then or may have reached, and those on its files.
	Contacts(t *engine.Tx, account string, since int64, hash func(...string) int64) (*reach.Contacts, error)
	// NoteRecipient tells of a message that is accepted in this transaction, or ends there, or waits again, although it may have been taken.
	NoteRecipient(account string, phone messaging.Phone, at int64)
	// FilesCount is called where a file of a run counts from now on, or with no where it does not any more.
	FilesCount(yes bool)

	// LockNotes has whoever wants to know which contacts changed while a part is cut (run_cuts.go) wait for this transaction, or, where it wants
	// to know that itself, has it wait for all that may note one.
	LockNotes(t *engine.Tx, wantsToKnow bool) error

	// LowWater tells claims where to begin; nil where each begins at the first row. From any goroutine.
	LowWater() *lowwater.Marks
	// Sending calls each on claims that may be nobody's by now, some at a time: of owners that do not live, and those of own, who asks,
	// with a lease that has ended.
	Sending(t *engine.Tx, own string, now int64, each func(*engine.Row) error) error
	// Alive reports whether the owner of a claim may still finish it. own is the owner that asks.
	Alive(t *engine.Tx, owner, own string) (bool, error)
	// Buries reports whether owners that do not live are dead for good: they could have said that they live.
	Buries() bool
	// FreeLookups has look-ups due again that owners had under way who are dead, and says how many.
	FreeLookups(t *engine.Tx, own string, now int64) (int64, error)

	// TellDue is called at the end of a transaction that leaves something waiting: at is the earliest time.
	TellDue(t *engine.Tx, at int64) error

	// Close is called once, after the last transaction, from any goroutine.
	Close()
}
