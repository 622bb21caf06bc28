package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// The kinds of messaging.Excluded.
const (
	KindPhone     = "phone"     // no number that can be sent to
	KindVariable  = "variable"  // a variable is empty or too long
	KindSend      = "send"      // its header, text, language or category cannot be used
	KindDuplicate = "duplicate" // an earlier row has the same phone
	KindContact   = "contact"   // blocked, or messaged lately
	KindMessage   = "message"   // for a retry: its message may not be sent again
	KindRow       = "row"       // the row itself is broken
	KindSize      = "size"      // the row alone is larger than a part
	KindRetry     = "retry"     // not excluded: why a row of an ended run is sent again
)

// maxReasons bounds how many reasons are counted one by one: a reason may quote a character.
const maxReasons = 100

// excludedReasons counts the excluded rows by reason. It may be used by several goroutines.
type excludedReasons struct {
	mu   sync.Mutex
	by   map[[2]string]*excludedReason
	rows int64
}

type excludedReason struct {
	messaging.Excluded
	first position
}

func (x *excludedReasons) add(kind, reason string, at position) { x.addAs(kind, reason, reason, at) }

// addAs counts rows whose reasons differ only in what they quote as one; the first row has the word.
func (x *excludedReasons) addAs(kind, group, reason string, at position) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows++
	if x.by == nil {
		x.by = map[[2]string]*excludedReason{}
	}
	key := [2]string{kind, group}
	one := x.by[key]
	if one == nil && len(x.by) >= maxReasons {
		key[1], reason = "other reasons", "other reasons"
		one = x.by[key]
	}
	if one == nil {
		one = &excludedReason{messaging.Excluded{Kind: kind, Reason: reason, First: at.Row, File: at.File}, at}
		x.by[key] = one
	}
	one.Count++
	if at.before(one.first) {
		one.First, one.File, one.first = at.Row, at.File, at
		if key[1] != "other reasons" {
			one.Reason = reason
		}
	}
}

// list is the reasons, the most frequent first.
func (x *excludedReasons) list() []messaging.Excluded {
	x.mu.Lock()
	defer x.mu.Unlock()
	sorted := slices.SortedFunc(maps.Values(x.by), func(a, b *excludedReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.first.nth, b.first.nth), cmp.Compare(a.First, b.First), cmp.Compare(a.Reason, b.Reason))
	})
	all := make([]messaging.Excluded, len(sorted))
	for i, one := range sorted {
		all[i] = one.Excluded
	}
	return all
}

// fileNames tells whether rows came from several files: only then reasons name theirs.
type fileNames struct {
	first   string
	any     bool
	several bool
}

func (f *fileNames) see(file string) {
	if !f.any {
		f.first, f.any = file, true
	}
	f.several = f.several || file != f.first
}

// short takes the file away where it is always the same.
func (f *fileNames) short(all []messaging.Excluded) []messaging.Excluded {
	if !f.several {
		for i := range all {
			all[i].File = ""
		}
	}
	return all
}

func (x *excludedReasons) count() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rows
}
