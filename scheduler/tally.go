package scheduler

import (
	"cmp"
	"slices"
	"sync"

	"github.com/nudgewire/nudgewire"
)

// The kinds of Exclusion.
const (
	KindPhone     = "phone"     // no number that can be sent to
	KindVariable  = "variable"  // a variable is empty or too long
	KindDuplicate = "duplicate" // an earlier row has the same phone
	KindSkipped   = "skipped"   // blocked, or messaged lately
	KindRow       = "row"       // the row itself is broken
	KindSize      = "size"      // the row alone is larger than a part
	KindAgain     = "again"     // no exclusion: why a row of an ended run is sent again
)

// mostReasons bounds how many reasons are told apart: a reason may quote a character.
const mostReasons = 100

// exclusions counts the rows left out, by reason. It may be used by several goroutines.
type exclusions struct {
	mu   sync.Mutex
	by   map[[2]string]*nudgewire.Exclusion
	rows int64
}

func (x *exclusions) add(kind, reason string, row int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows++
	if x.by == nil {
		x.by = map[[2]string]*nudgewire.Exclusion{}
	}
	key := [2]string{kind, reason}
	one := x.by[key]
	if one == nil && len(x.by) >= mostReasons {
		key[1] = "other reasons"
		one = x.by[key]
	}
	if one == nil {
		one = &nudgewire.Exclusion{Kind: kind, Reason: key[1], First: row}
		x.by[key] = one
	}
	one.Count++
	one.First = min(one.First, row)
}

// list is the exclusions, the most frequent first.
func (x *exclusions) list() []nudgewire.Exclusion {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]nudgewire.Exclusion, 0, len(x.by))
	for _, one := range x.by {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b nudgewire.Exclusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

func (x *exclusions) count() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rows
}
