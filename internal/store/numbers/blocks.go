package numbers

import (
	"fmt"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Blocks are what a process has taken of each sequence for itself alone, on a server that others write to.
type Blocks struct {
	mu     sync.Mutex
	blocks [sequenceCount]block
}

type block struct {
	next, end int64
	taken     time.Time
}

// fill takes in a new block, unless another writer was faster and got a later one.
func (n *Blocks) fill(of Sequence, first int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if first >= n.blocks[of].next {
		n.blocks[of] = block{next: first, end: first + of.Block(), taken: time.Now()}
	}
}

// take gives some without a gap; ok is false where a new block is needed.
func (n *Blocks) take(of Sequence, some int64) (first int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := &n.blocks[of]
	if b.end-b.next < some || time.Since(b.taken) > blockFor {
		return 0, false
	}
	first = b.next
	b.next += some
	return first, true
}

// Forget forgets what is left: another may have been given it, too.
func (n *Blocks) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocks = [sequenceCount]block{}
}

// blockFor is how long numbers of a block are given out, so that numbers grow with time.
const blockFor = time.Second

var nextBlockSQL = engine.PostgresSQL(`SELECT nextval($1::text::regclass)`)

// Take gives some numbers without a gap, of a new block where the present one has too few left.
func (n *Blocks) Take(t *engine.Tx, of Sequence, some int64) (first int64, err error) {
	if some > of.Block() {
		return 0, fmt.Errorf("%d numbers at once; at most %d can be had", some, of.Block())
	}
	for {
		first, ok := n.take(of, some)
		if ok {
			return first, nil
		}
		err := t.Query(nextBlockSQL, func(r *engine.Row) error { n.fill(of, r.Int()); return r.Err }, sequences[of].name)
		if err != nil {
			return 0, fmt.Errorf("numbers: %w", err)
		}
	}
}
