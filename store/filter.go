package store

import (
	"context"
	"sync/atomic"
)

// Most webhooks are new, and so are most carts: that nothing is known under a hash is the usual
// answer, and it costs a search of a shelf and a walk through the table, more pages of it the longer the
// ledger gets. A filter (Bloom's) gives that answer from memory: three bits of one word a hash. Where they
// are not all set, no key has the hash, whatever part it would be in. Where they are, somebody looks.
//
// It holds every key or it says nothing: those of the shelves and new ones come in as they are made, those in the
// table are read beside the work after the start (fillFilter), and until that is done lacks is always false.
// Keys that are removed, or whose group is undone, stay in it, which costs a look.

// filterWords make 8 MB: of new hashes 0.4 % are looked for in vain beside three million keys, 6 % beside ten, 41 % beside thirty.
const filterWords = 1 << 20

type filter struct {
	words []atomic.Uint64
	full  atomic.Bool // holds every key there is
}

func newFilter() *filter { return &filter{words: make([]atomic.Uint64, filterWords)} }

// place is where a hash is noted. The shelves go by its first bits, this by those behind.
func (f *filter) place(hash int64) (word *atomic.Uint64, bits uint64) {
	h := uint64(hash)
	return &f.words[h>>20%filterWords], 1<<(h%64) | 1<<(h>>6%64) | 1<<(h>>12%64)
}

func (f *filter) add(hash int64) {
	word, bits := f.place(hash)
	word.Or(bits)
}

// lacks says that surely no key has this hash; false says nothing.
func (f *filter) lacks(hash int64) bool {
	if !f.full.Load() {
		return false
	}
	word, bits := f.place(hash)
	return word.Load()&bits != bits
}

// filling is the goroutine that reads the table into the filter. Its zero value was never started.
type filling struct {
	stop context.CancelFunc
	done chan struct{}
}

func (s *Store) startFilling(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.filling = filling{stop, make(chan struct{})}
	go func() {
		defer close(s.filling.done)
		s.fillFilter(ctx)
	}()
}

// stopFilling waits until nobody reads any more, wherever the reading is.
func (s *Store) stopFilling() {
	if s.filling.stop != nil {
		s.filling.stop()
		<-s.filling.done
	}
}

// fillFilter reads the hashes of the table, a page at a time so that no checkpoint waits for it. It ends early with
// ctx or where the disk fails; then each look goes to the table, as before the filter.
func (s *Store) fillFilter(ctx context.Context) {
	known := s.writer.keys.known
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
