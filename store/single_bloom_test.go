package store

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// filled waits until the filter of a store that was just opened holds the keys of the table.
func filled(t testing.TB, s *Store) {
	t.Helper()
	<-single(s).filling.done
	if !single(s).known.full.Load() {
		t.Fatal("the filter could not be filled")
	}
}

func TestABloomFilterSaysNothingUntilItHoldsEverything(t *testing.T) {
	f := newBloom()
	f.add(7)
	if !f.mayContain(7) || !f.mayContain(8) {
		t.Error("a filter that may lack keys of the table spoke")
	}
	f.full.Store(true)
	if !f.mayContain(7) || f.mayContain(8) {
		t.Errorf("may contain what was added: %v, another: %v", f.mayContain(7), f.mayContain(8))
	}
}

func TestABloomFilterHoldsTheWholeTableAfterAStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	dice := rand.New(rand.NewPCG(1, 2))
	there := make([]int64, 2*keysPage+keysPage/2)
	if err := s.write(t.Context(), laneWork, func(tx *tx) error {
		for i := range there {
			there[i] = int64(dice.Uint64())
			part := int64(i % 3)
			if err := single(s).remember(tx, key{part, there[i], int64(i)}, false); err != nil {
				return err
			}
		}
		// A page ends among rows that differ only in their last column.
		for id := range int64(keysPage) {
			if err := single(s).remember(tx, key{3, 4, id}, false); err != nil {
				return err
			}
		}
		return single(s).remember(tx, key{4, 5, 6}, false)
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	filled(t, s)
	known := single(s).known
	for _, hash := range append(there, 4, 5) {
		if !known.mayContain(hash) {
			t.Fatalf("says that %d is not there, which is in the table", hash)
		}
	}
	vain := 0
	for range 100_000 {
		if known.mayContain(int64(dice.Uint64())) {
			vain++
		}
	}
	if vain > 1000 {
		t.Errorf("%d of 100,000 unknown hashes would be looked for", vain)
	}
}

func TestAStoreMayCloseWhileItsBloomFilterIsFilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	if err := s.write(t.Context(), laneWork, func(tx *tx) error {
		for i := range int64(3 * keysPage) {
			if err := single(s).remember(tx, key{1, i, i}, false); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
	}
}

// The promise: what is new is known to be new without a look, whatever the ledger holds.
func BenchmarkMayContain(b *testing.B) {
	f := newBloom()
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
