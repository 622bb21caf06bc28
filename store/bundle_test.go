package store

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
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
