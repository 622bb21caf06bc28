package keyindex

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ranges is the first part that is a day here.
const ranges = 3

// A table in memory, which undoes what a transaction did.
type table struct {
	keys, before []Key
	fails        error
}

func (t *table) Insert(keys []Key) error {
	if !slices.IsSortedFunc(keys, Compare) {
		return errors.New("keys out of order")
	}
	for _, k := range keys {
		if at, there := slices.BinarySearchFunc(t.keys, k, Compare); !there {
			t.keys = slices.Insert(t.keys, at, k)
		}
	}
	return t.fails
}

func (t *table) Find(first, last, hash int64, each func(int64)) error {
	for _, k := range t.keys {
		if k.Hash == hash && k.Part >= first && k.Part <= last {
			each(k.ID)
		}
	}
	return t.fails
}

func (t *table) page(_ context.Context, after Key) ([]Key, error) {
	at, there := slices.BinarySearchFunc(t.keys, after, Compare)
	if there {
		at++
	}
	return slices.Clone(t.keys[at:min(at+PageSize, len(t.keys))]), t.fails
}

// Whatever is remembered, flushed, swept and undone, Find gives what a plain list of the keys has.
func TestFindGivesWhatWasRemembered(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lies := &table{}
		x := New(ranges, 0, 0)
		x.Limit = 8
		var have []Key
		fill := func() { x.Fill(rt.Context(), lies.page) }
		begin := func() {
			x.Begin()
			lies.before = slices.Clone(lies.keys)
		}
		key := rapid.Custom(func(rt *rapid.T) Key {
			hash := int64(rapid.Uint64().Draw(rt, "hash"))
			if rapid.Bool().Draw(rt, "a hash of few") {
				hash = rapid.Int64Range(0, 3).Draw(rt, "which") << 60
			}
			return Key{Part: rapid.Int64Range(0, 9).Draw(rt, "part"), Hash: hash, ID: rapid.Int64Range(1, 50).Draw(rt, "id")}
		})
		rt.Repeat(map[string]func(*rapid.T){
			"a transaction": func(rt *rapid.T) {
				begin()
				var added []Key
				for range rapid.IntRange(0, 20).Draw(rt, "keys") {
					k := key.Draw(rt, "key")
					if rapid.Bool().Draw(rt, "of an old row") {
						if k.Part >= ranges {
							continue // events are never old
						}
						if err := x.RememberOld(lies, k); err != nil {
							rt.Fatal(err)
						}
					} else {
						x.Remember(k)
					}
					added = append(added, k)
				}
				if err := x.Flush(lies, func() error { return nil }); err != nil {
					rt.Fatal(err)
				}
				if rapid.Bool().Draw(rt, "undone") {
					x.Rollback()
					lies.keys = lies.before
					return
				}
				x.Commit()
				have = append(have, added...)
			},
			"a flush of all": func(rt *rapid.T) {
				begin()
				if err := x.FlushAll(lies); err != nil {
					rt.Fatal(err)
				}
				x.Commit()
				if x.Held() != 0 {
					rt.Fatalf("%d are left", x.Held())
				}
			},
			"the filter is filled": func(*rapid.T) { fill() },
			"a sweep": func(rt *rapid.T) {
				kept := x.Sweep()
				for _, k := range lies.keys {
					kept(k.Hash)
				}
				if rapid.Bool().Draw(rt, "to its end") {
					x.Swept()
				}
			},
			"find": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				if len(have) > 0 && rapid.Bool().Draw(rt, "one that is there") {
					k = rapid.SampledFrom(have).Draw(rt, "which")
				}
				first, last := k.Part, k.Part
				if first >= ranges {
					first, last = int64(ranges), first+rapid.Int64Range(0, 9).Draw(rt, "days")
				}
				var want []int64
				for _, one := range have {
					if one.Hash == k.Hash && one.Part >= first && one.Part <= last {
						want = append(want, one.ID)
					}
				}
				slices.Sort(want)
				want = slices.Compact(want)
				got, err := x.Find(lies, first, last, k.Hash, nil)
				if err != nil || !slices.Equal(got, want) {
					rt.Fatalf("%+v to %d: %v (%v), want %v", k, last, got, err, want)
				}
			},
		})
	})
}

// Small data that becomes much finds what a plain map of its keys has, with its first filter and with the next one, wherever its keys lie, and
// whatever was undone or is gone from the table.
func TestASmallIndexGrows(t *testing.T) {
	grew := 0
	rapid.Check(t, func(rt *rapid.T) {
		lies, have := &table{}, map[Key]bool{}
		x := New(ranges, 0, 0).Small()
		x.grows = 12
		x.Limit = rapid.SampledFrom([]int{10, 1000}).Draw(rt, "limit")
		olds := rapid.Bool().Draw(rt, "old rows")
		if rapid.Bool().Draw(rt, "filled at once") {
			x.Fill(rt.Context(), lies.page)
		}
		key := rapid.Custom(func(rt *rapid.T) Key {
			return Key{Part: rapid.Int64Range(0, 9).Draw(rt, "part"), Hash: rapid.Int64Range(1, 40).Draw(rt, "hash") * 0x1E3779B97F4A7C15, ID: rapid.Int64Range(1, 9).Draw(rt, "id")}
		})
		inMemory := func(k Key) bool { return slices.Contains(x.segments[segmentOf(k.Hash)], k) }
		rt.Repeat(map[string]func(*rapid.T){
			"a transaction": func(rt *rapid.T) {
				x.Begin()
				lies.before = slices.Clone(lies.keys)
				added := rapid.SliceOfN(key, 0, 25).Draw(rt, "keys")
				for _, k := range added {
					if olds && k.Part < ranges && rapid.Bool().Draw(rt, "of an old row") {
						if err := x.RememberOld(lies, k); err != nil {
							rt.Fatal(err)
						}
					} else {
						x.Remember(k)
					}
				}
				if err := x.Flush(lies, func() error { return nil }); err != nil {
					rt.Fatal(err)
				}
				if rapid.Bool().Draw(rt, "undone") {
					x.Rollback()
					lies.keys = lies.before
					return
				}
				x.Commit()
				for _, k := range added {
					have[k] = true
				}
			},
			"the filter is filled": func(*rapid.T) {
				if !x.Filled() {
					x.Fill(rt.Context(), lies.page)
				}
			},
			"keys are deleted from the table": func(rt *rapid.T) {
				kept := x.Sweep()
				lies.keys = slices.DeleteFunc(lies.keys, func(k Key) bool {
					if k.ID%2 == 0 || inMemory(k) {
						kept(k.Hash)
						return false
					}
					delete(have, k)
					return true
				})
				if rapid.Bool().Draw(rt, "to the end of the walk") {
					x.Swept()
				}
			},
			"find": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				if len(have) > 0 && rapid.Bool().Draw(rt, "one that is there") {
					k = rapid.SampledFrom(slices.SortedFunc(maps.Keys(have), Compare)).Draw(rt, "which")
				}
				last := k.Part
				if k.Part >= ranges {
					last = 9
				}
				var want []int64
				for one := range have {
					if one.Hash == k.Hash && one.Part >= k.Part && one.Part <= last {
						want = append(want, one.ID)
					}
				}
				slices.Sort(want)
				want = slices.Compact(want)
				got, err := x.Find(lies, k.Part, last, k.Hash, nil)
				if err != nil || !slices.Equal(got, want) {
					rt.Fatalf("%+v to %d: %v (%v), want %v", k, last, got, err, want)
				}
			},
		})
		if len(x.known.words) == filterWords {
			grew++
		}
	})
	if grew < 10 {
		t.Errorf("the test is weak: %d grew", grew)
	}
}

// A small index looks for few hashes in vain: just before it grows, and after it.
func TestHowOftenASmallIndexLooksInVain(t *testing.T) {
	lies := &table{}
	x := New(ranges, 0, 0).Small()
	x.Fill(t.Context(), lies.page)
	dice := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct{ keys, words, most int }{
		{smallMost, smallWords, 400},
		{smallMost + 1, filterWords, 5},
		{10 * smallMost, filterWords, 20},
	} {
		for x.Held() < tt.keys {
			x.Begin()
			x.Remember(Key{Hash: int64(dice.Uint64()), ID: 1})
			x.Commit()
		}
		vain := 0
		for range 100_000 {
			if x.known.mayContain(int64(dice.Uint64())) {
				vain++
			}
		}
		if len(x.known.words) != tt.words || vain > tt.most {
			t.Errorf("with %d keys: %d words, %d of 100,000 unknown hashes would be looked for", tt.keys, len(x.known.words), vain)
		}
	}
}

func TestAFilterSaysNothingUntilItHoldsEverything(t *testing.T) {
	f := newFilter(filterWords)
	f.add(7)
	if !f.mayContain(7) || !f.mayContain(8) {
		t.Error("a filter that may lack keys of the table spoke")
	}
	f.full.Store(true)
	if !f.mayContain(7) || f.mayContain(8) {
		t.Errorf("may contain what was added: %v, another: %v", f.mayContain(7), f.mayContain(8))
	}
	x := New(ranges, 0, 0)
	if x.Fill(t.Context(), (&table{fails: errors.New("the disk is gone")}).page); x.Filled() {
		t.Error("a filter that could not be filled speaks")
	}
}

func TestAFilterHoldsTheWholeTable(t *testing.T) {
	lies := &table{}
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range int64(2*PageSize + PageSize/2) {
		lies.keys = append(lies.keys, Key{Part: i % 3, Hash: int64(dice.Uint64()), ID: i})
	}
	for id := range int64(PageSize) { // a page ends among rows that differ only in their last column
		lies.keys = append(lies.keys, Key{Part: 3, Hash: 4, ID: id})
	}
	lies.keys = append(lies.keys, Key{Part: 4, Hash: 5, ID: 6})
	slices.SortFunc(lies.keys, Compare)
	x := New(ranges, 0, 0)
	x.Fill(t.Context(), lies.page)
	for _, k := range lies.keys {
		if !x.known.mayContain(k.Hash) {
			t.Fatalf("says that %d is not there, which is in the table", k.Hash)
		}
	}
	vain := 0
	for range 100_000 {
		if x.known.mayContain(int64(dice.Uint64())) {
			vain++
		}
	}
	if vain > 1000 {
		t.Errorf("%d of 100,000 unknown hashes would be looked for", vain)
	}
}

// The promise: what is new is known to be new without a look, whatever the data holds.
func BenchmarkMayContain(b *testing.B) {
	f := newFilter(filterWords)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 3_000_000 {
		f.add(int64(dice.Uint64()))
	}
	f.full.Store(true)
	vain := 0
	for b.Loop() {
		if f.mayContain(int64(dice.Uint64())) {
			vain++
		}
	}
	b.ReportMetric(float64(vain)/float64(b.N), "vain")
}
