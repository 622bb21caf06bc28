package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire"
)

func TestEntriesComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bits := rapid.SliceOfN(rapid.Byte(), 0, 300)
		entries := rapid.SliceOfN(rapid.SliceOfN(bits, 2, 2), 1, 9).Draw(rt, "entries")
		var plain []byte
		for _, e := range entries {
			plain = appendPiece(appendPiece(plain, e[0]), e[1])
		}
		packed := pack(nil, plain)
		for i, e := range entries {
			var a, b []byte
			ok, err := entry(packed, int64(i), &a, &b)
			if err != nil || !ok || !bytes.Equal(a, e[0]) || !bytes.Equal(b, e[1]) {
				rt.Fatalf("entry %d: %q %q, %v %v", i, a, b, ok, err)
			}
		}
		var a, b []byte
		if ok, err := entry(packed, int64(len(entries)), &a, &b); ok || err != nil {
			rt.Fatalf("an entry after the last: %v %v", ok, err)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add(pack(nil, appendPiece(appendPiece(nil, "application/json"), "{}")), int64(0))
	f.Add([]byte{packedPlain, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, int64(0))
	f.Fuzz(func(t *testing.T, in []byte, at int64) {
		var a, b []byte
		if ok, err := entry(in, at, &a, &b); ok && err != nil {
			t.Errorf("an entry and an error: %v", err)
		}
	})
}

func TestDamagedBundlesAreErrors(t *testing.T) {
	for words, in := range map[string][]byte{
		"unpack: a bundle that ends in the middle of an entry": {packedPlain, 3, 'a', 'b'},
		"unpack: unknown form 9":                               {9, 1, 2},
	} {
		var a []byte
		if ok, err := entry(in, 0, &a); ok || fmt.Sprint(err) != words {
			t.Errorf("%x: %v, want %s", in, err, words)
		}
	}
}

// Numbers may come in blocks, with gaps between them.
func TestABundleEndsWhereNumbersHaveAGap(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	first, second := testPlan("a"), testPlan("b")
	for _, p := range []*nudgewire.Plan{&first, &second} {
		p.Event.Payload = []byte(p.Event.DedupeKey)
	}
	var room []byte
	var ready [2]readyPlan
	for i, p := range []*nudgewire.Plan{&first, &second} {
		if err := ready[i].prepare(p, s.hash, &room); err != nil {
			t.Fatal(err)
		}
	}
	var got [2]nudgewire.Receipt
	if err := s.write(t.Context(), laneIngest, func(tx *tx) (err error) {
		for i := range ready {
			if got[i], err = tx.accept(&ready[i], planAll); err != nil {
				return err
			}
			single(s).ids[eventIDs] += 5
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a", "b"} {
		story, err := s.EventStory(t.Context(), got[i].EventID)
		if err != nil || string(story.Payload) != want || len(story.Decisions) != 1 {
			t.Errorf("event %d: payload %q, %d decisions (%v), want %q", got[i].EventID, story.Payload, len(story.Decisions), err, want)
		}
	}
}
