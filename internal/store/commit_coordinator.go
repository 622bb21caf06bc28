package store

import (
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
)

// A coordinator is what a transaction asks wherever the answer depends on who else writes to the data: which
// numbers are free, who holds a key, whose claims still count. No operation knows more about that than this
// interface says. singleWriter (single_*.go) is for one process alone, which is all that SQLite has; an engine
// with many writers is a second implementation.
//
// Its methods are called inside transactions, from one goroutine at a time, unless they say otherwise.
type coordinator interface {
	// begin opens the transaction.
	begin(t *Tx) error
	// settle ends it: for a nil err it writes what is left to write and commits, otherwise it rolls back.
	// It returns err, or why the commit failed; then nothing was written.
	settle(t *Tx, err error) error

	// allocate gives n numbers without a gap between them, which no row had before, and returns the first.
	allocate(t *Tx, of numbers.Sequence, n int64) (first int64, err error)

	// lock keeps other transactions from these hashes until this one ends. An operation calls it once, before its
	// first find, with every hash that it is going to remember, or to find and to rely on, in any order. read are those that
	// it is going to find, and others may remember more under meanwhile.
	lock(t *Tx, hashes, read []int64) error
	// tryLock is lock for a claim, which waits for nobody: busy says which of the hashes another transaction has; nil for none. reads
	// are what is going to be found under each.
	tryLock(t *Tx, hashes []int64, reads [][]int64) (busy []bool, err error)
	// find appends to ids the numbers that are remembered under a hash in the parts from first to last, each once and
	// in ascending order. Another text may have the same hash: the caller compares the rows.
	find(t *Tx, first, last, hash int64, ids []int64) ([]int64, error)
	// remember keeps a key for good. fresh says that its row was inserted in this transaction.
	remember(t *Tx, k key, fresh bool) error

	// sweeping is called before a walk through all keys that are stored, after which those that it found to lead nowhere are
	// gone: the walk says which it kept. swept is called after its end.
	sweeping(t *Tx) (kept func(hash int64))
	swept(t *Tx)

	// contacts are those that messages of an account were accepted for since then or may have reached, and those on its files.
	contacts(t *Tx, account string, since int64, hash func(...string) int64) (*reach.Contacts, error)
	// noteRecipient tells of a message that is accepted in this transaction, or ends there, or waits again, although it may have been taken.
	noteRecipient(account string, phone messaging.Phone, at int64)
	// filesCount is called where a file of a run counts from now on, or with no where it does not any more.
	filesCount(yes bool)

	// lockNotes has whoever wants to know which contacts changed while a part is cut (run_cuts.go) wait for this transaction, or, where it wants
	// to know that itself, has it wait for all that may note one.
	lockNotes(t *Tx, wantsToKnow bool) error

	// lowWater tells claims where to begin; nil where each begins at the first row. From any goroutine.
	lowWater() *lowwater.Marks
	// sending calls each on claims that may be nobody's by now, some at a time: of owners that do not live, and those of own, who asks,
	// with a lease that has ended.
	sending(t *Tx, own string, now int64, each func(*engine.Row) error) error
	// alive reports whether the owner of a claim may still finish it. own is the owner that asks.
	alive(t *Tx, owner, own string) (bool, error)
	// buries reports whether owners that do not live are dead for good: they could have said that they live.
	buries(t *Tx) bool
	// freeLookups has look-ups due again that owners had under way who are dead, and says how many.
	freeLookups(t *Tx, own string, now int64) (int64, error)

	// close is called once, after the last transaction, from any goroutine.
	close()
}

// Lock keeps other transactions that lock one of these hashes from going on until this one ends.
func (t *Tx) Lock(hashes ...int64) error { return t.peers.lock(t, hashes, nil) }

// A key leads from a hash to a row: to an event by its connector and dedupe key, part is then its day; to a
// message by its correlation key, part is then correlations; to the tombstones of a correlation key, part is then
// tombstones and the number 0; or to an event by its phone, or by what people search it by and by its order (see package contacts).
type key = keyindex.Key

// The parts that are no days. Days are above them.
const (
	correlations int64 = iota
	tombstones
	phonesOfEvents
	wordsOfEvents

	firstDay
)

// tombstoneHash is another hash than the one that leads to the messages of the same correlation key.
func tombstoneHash(correlation int64) int64 { return ^correlation }

// allocate gives the next number.
func (t *Tx) allocate(of numbers.Sequence) (id int64, err error) { return t.peers.allocate(t, of, 1) }

// find is good until it is called again.
func (t *Tx) find(first, last, hash int64) (ids []int64, err error) {
	t.found, err = t.peers.find(t, first, last, hash, t.found[:0])
	return t.found, err
}

// lockPlans locks what the plans look for and what they add.
func (t *Tx) lockPlans(plans ...*encodedPlan) error {
	t.locked = t.locked[:0]
	for _, p := range plans {
		if t.locked = append(t.locked, p.hash); p.content != 0 {
			t.locked = append(t.locked, p.content)
		}
		for j := range p.proposals {
			t.locked = p.proposals[j].hashes(t.locked)
		}
		if p.wish != 0 {
			t.locked = append(t.locked, p.wish)
		}
	}
	return t.peers.lock(t, t.locked, nil)
}
