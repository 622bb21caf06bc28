package scheduler

import (
	"cmp"
	"maps"
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
	by   map[[2]string]*exclusion
	rows int64
}

type exclusion struct {
	nudgewire.Exclusion
	first spot
}

func (x *exclusions) add(kind, reason string, at spot) { x.addAs(kind, reason, reason, at) }

// addAs counts rows whose reasons differ only in what they quote as one; the first row has the word.
func (x *exclusions) addAs(kind, group, reason string, at spot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows++
	if x.by == nil {
		x.by = map[[2]string]*exclusion{}
	}
	key := [2]string{kind, group}
	one := x.by[key]
	if one == nil && len(x.by) >= mostReasons {
		key[1], reason = "other reasons", "other reasons"
		one = x.by[key]
	}
	if one == nil {
		one = &exclusion{nudgewire.Exclusion{Kind: kind, Reason: reason, First: at.Row, File: at.File}, at}
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

// list is the exclusions, the most frequent first.
func (x *exclusions) list() []nudgewire.Exclusion {
	x.mu.Lock()
	defer x.mu.Unlock()
	sorted := slices.SortedFunc(maps.Values(x.by), func(a, b *exclusion) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.first.nth, b.first.nth), cmp.Compare(a.First, b.First), cmp.Compare(a.Reason, b.Reason))
	})
	all := make([]nudgewire.Exclusion, len(sorted))
	for i, one := range sorted {
		all[i] = one.Exclusion
	}
	return all
}

// fileNames tells whether rows came from several files: only then exclusions name theirs.
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
func (f *fileNames) short(all []nudgewire.Exclusion) []nudgewire.Exclusion {
	if !f.several {
		for i := range all {
			all[i].File = ""
		}
	}
	return all
}

func (x *exclusions) count() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rows
}
