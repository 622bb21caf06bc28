package keyindex

import (
	"context"
	"sync/atomic"
)

// Most webhooks are new, and so are most carts: that nothing is known under a hash is the usual answer. A Bloom filter
// gives it from memory: three bits of one word for each hash. Where they are not all set, no key has the hash,
// whatever its part. Where they are, memory and table are searched.
//
// It holds every key or it says nothing: new keys come in as they are made, those of the table are read beside the
// work after the start (Fill), and until that is done mayContain is always true. Keys that are removed or
// rolled back stay in it, which costs a search, until a sweep of the table fills another.
type filter struct {
	words []atomic.Uint64
	full  atomic.Bool // holds every key there is
}

// filterWords make 8 MB: 0.4 % of new hashes are searched for in vain beside three million keys, 6 % beside ten million,
// 41 % beside thirty million.
const filterWords = 1 << 20

// smallWords are for data that nobody keeps, which is made anew many times a second.
const smallWords = 1 << 14

func newFilter(words int) *filter { return &filter{words: make([]atomic.Uint64, words)} }

// bits are where a hash is noted. Segments go by its first bits, this by those behind them.
func (f *filter) bits(hash int64) (word *atomic.Uint64, bits uint64) {
	h := uint64(hash)
	return &f.words[h>>20%uint64(len(f.words))], 1<<(h%64) | 1<<(h>>6%64) | 1<<(h>>12%64)
}

func (f *filter) add(hash int64) {
	word, bits := f.bits(hash)
	word.Or(bits)
}

// mayContain is false where surely no key has this hash.
func (f *filter) mayContain(hash int64) bool {
	if !f.full.Load() {
		return true
	}
	word, bits := f.bits(hash)
	return word.Load()&bits == bits
}

// learn adds the hash of a new key.
func (x *Index) learn(hash int64) {
	x.known.add(hash)
	if x.fresh != nil {
		x.fresh.add(hash)
	}
}

// PageSize is how many keys a page of Fill and of a sweep has.
const PageSize = 1 << 15

// Fill reads the hashes of the table into the filter, a page at a time so that no checkpoint waits for it: page gives up to
// PageSize keys behind one, in order. It ends early where page fails; then each search goes to the table. It may run
// beside the other methods, but for Sweep.
func (x *Index) Fill(ctx context.Context, page func(ctx context.Context, after Key) ([]Key, error)) {
	known, last := x.known, Key{Part: -1}
	for n := PageSize; n == PageSize; {
		keys, err := page(ctx, last)
		if err != nil {
			return
		}
		for _, k := range keys {
			known.add(k.Hash)
			last = k
		}
		n = len(keys)
	}
	known.full.Store(true)
}

// Filled reports whether the filter answers.
func (x *Index) Filled() bool { return x.known.full.Load() }

// Sweep begins another filter, which knows what is in memory and what comes: the caller walks through the table and calls kept
// with the hash of each key that stays, from any goroutine. One that is left by a walk that was cut off is forgotten.
func (x *Index) Sweep() (kept func(hash int64)) { return x.sweep(len(x.known.words)) }

func (x *Index) sweep(words int) (kept func(hash int64)) {
	fresh := newFilter(words)
	for i := range x.segments {
		for _, k := range x.segments[i] {
			fresh.add(k.Hash)
		}
	}
	x.fresh = fresh
	return fresh.add
}

// Sweeping reports whether a sweep is under way.
func (x *Index) Sweeping() bool { return x.fresh != nil }

// Swept is called at the end of the walk.
func (x *Index) Swept() {
	if x.fresh == nil {
		return // a transaction that was undone runs again
	}
	x.fresh.full.Store(true)
	x.known, x.fresh = x.fresh, nil
}
