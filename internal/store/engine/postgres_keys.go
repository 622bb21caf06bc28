package engine

import (
	"slices"

	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// LockOf is what a hash is locked by: a correlation key and its tombstones, whose hash is the other's complement, by one lock.
func LockOf(hash int64) int64 { return hash ^ (hash >> 63) }

// A keyCache is what the open transaction knows of the keys that it has locked.
type keyCache struct {
	locked map[int64]bool           // by lockOf
	known  map[int64][]keyindex.Key // by hash
}

func (c *keyCache) clear() {
	if c.locked == nil {
		c.locked, c.known = map[int64]bool{}, map[int64][]keyindex.Key{}
	}
	clear(c.locked)
	clear(c.known)
}

// fresh is what of the hashes is not locked yet, each once, in ascending order of their locks.
func (c *keyCache) fresh(hashes []int64) []int64 {
	var out []int64
	for _, hash := range hashes {
		if id := LockOf(hash); !c.locked[id] {
			c.locked[id] = true
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// unknown is what of the hashes was not looked up yet. From now on it counts as looked up.
func (c *keyCache) unknown(hashes []int64) []int64 {
	var out []int64
	for _, hash := range hashes {
		if _, known := c.known[hash]; !known {
			c.known[hash] = nil
			out = append(out, hash)
		}
	}
	return out
}

// forget has hashes looked up anew.
func (c *keyCache) forget(hashes []int64) {
	for _, hash := range hashes {
		delete(c.known, hash)
	}
}

func (c *keyCache) add(k keyindex.Key) {
	if !slices.Contains(c.known[k.Hash], k) {
		c.known[k.Hash] = append(c.known[k.Hash], k)
	}
}

// LockKeys keeps other transactions from these hashes until this one ends, and looks up what they and read lead to.
func (e *Postgres) LockKeys(hashes, read []int64) error {
	return e.lock(e.keys.fresh(hashes), append(slices.Clone(hashes), read...), false)
}

// TryLockKeys is LockKeys that waits for nobody: busy says which of the hashes another transaction has. reads are what is going to be found
// under each.
func (e *Postgres) TryLockKeys(hashes []int64, reads [][]int64) (busy []bool, err error) {
	var locks []int64
	for _, hash := range hashes {
		if !e.keys.locked[LockOf(hash)] {
			locks = append(locks, LockOf(hash))
		}
	}
	if err := e.lock(locks, slices.Concat(reads...), true); err != nil {
		return nil, err
	}
	busy = make([]bool, len(hashes))
	for i, hash := range hashes {
		if busy[i] = !e.keys.locked[LockOf(hash)]; busy[i] {
			e.keys.forget(reads[i]) // its owner may add to them
		}
	}
	return busy, nil
}

// FindKeys appends to ids the numbers that a hash leads to in the parts from first to last, each once and in ascending order.
func (e *Postgres) FindKeys(first, last, hash int64, ids []int64) ([]int64, error) {
	if err := e.lock(nil, []int64{hash}, false); err != nil {
		return nil, err
	}
	for _, k := range e.keys.known[hash] {
		if k.Part >= first && k.Part <= last {
			ids = append(ids, k.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// AddKey has FindKeys know of a key that the transaction writes.
func (e *Postgres) AddKey(k keyindex.Key) { e.keys.add(k) }
