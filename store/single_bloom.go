package store

import (
	"context"
	"sync/atomic"
)

// Most webhooks are new, and so are most carts: that nothing is known under a hash is the usual answer. A Bloom filter
// gives it from memory: three bits of one word for each hash. Where they are not all set, no key has the hash,
// whatever its part. Where they are, the memtable and the table are searched.
//
// It holds every key or it says nothing: new keys come in as they are made, those of the table are read beside the
// work after the start (fillBloom), and until that is done mayContain is always true. Keys that are removed or
// rolled back stay in it, which costs a search, until a sweep of the keys fills another (retention_keys.go).

// bloomWords make 8 MB: 0.4 % of new hashes are searched for in vain beside three million keys, 6 % beside ten million,
// 41 % beside thirty million.
const bloomWords = 1 << 20

type bloom struct {
	words []atomic.Uint64
	full  atomic.Bool // holds every key there is
}

func newBloom() *bloom { return &bloom{words: make([]atomic.Uint64, bloomWords)} }

// learn adds the hash of a new key.
func (w *singleWriter) learn(hash int64) {
	w.known.add(hash)
	if w.next != nil {
		w.next.add(hash)
	}
}

// sweeping begins another filter, which knows what the memtable holds and what comes; the walk adds what the table keeps.
// One that is left by a walk that was cut off is forgotten.
func (w *singleWriter) sweeping(*tx) (kept func(hash int64)) {
	next := newBloom()
	for i := range w.keys.segments {
		for _, k := range w.keys.segments[i] {
			next.add(k.hash)
		}
	}
	w.next = next
	return next.add
}

func (w *singleWriter) swept(*tx) {
	if w.next == nil {
		return // a batch that was undone runs again
	}
	w.next.full.Store(true)
	w.known, w.next = w.next, nil
}

// bits are where a hash is noted. The memtable goes by its first bits, this by those behind them.
func (f *bloom) bits(hash int64) (word *atomic.Uint64, bits uint64) {
	h := uint64(hash)
	return &f.words[h>>20%bloomWords], 1<<(h%64) | 1<<(h>>6%64) | 1<<(h>>12%64)
}

func (f *bloom) add(hash int64) {
	word, bits := f.bits(hash)
	word.Or(bits)
}

// mayContain is false where surely no key has this hash.
func (f *bloom) mayContain(hash int64) bool {
	if !f.full.Load() {
		return true
	}
	word, bits := f.bits(hash)
	return word.Load()&bits == bits
}

// filling is the goroutine that reads the table into the filter. Its zero value was never started.
type filling struct {
	stop context.CancelFunc
	done chan struct{}
}

func (w *singleWriter) startFilling(ctx context.Context, s *Store) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	known := w.known // a sweep may put another in its place
	w.filling = filling{stop, make(chan struct{})}
	go func() {
		defer close(w.filling.done)
		fillBloom(ctx, s, known)
	}()
}

// stopFilling waits until nobody reads any more, wherever the reading is.
func (w *singleWriter) stopFilling() {
	w.filling.stop()
	<-w.filling.done
}

// fillBloom reads the hashes of the table, a page at a time so that no checkpoint waits for it. It ends early with
// ctx or where the disk fails; then each search goes to the table.
func fillBloom(ctx context.Context, s *Store, known *bloom) {
	last := key{part: -1}
	for n := keysPage; n == keysPage; {
		n = 0
		err := s.rows(ctx, `SELECT part, hash, id FROM keys WHERE (part, hash, id) > (?1, ?2, ?3) ORDER BY part, hash, id LIMIT ?4`,
			[]any{last.part, last.hash, last.id, keysPage}, func(r *row) error {
				last = key{r.int(), r.int(), r.int()}
				known.add(last.hash)
				n++
				return nil
			})
		if err != nil {
			return
		}
	}
	known.full.Store(true)
}
