package stored

import (
	"bytes"
	"fmt"
	"testing"
)

func FuzzPack(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("short"))
	f.Add([]byte("\nof\nlines\n"))
	f.Add(bytes.Repeat([]byte("long "), 100))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := unpack(pack(in))
		if err != nil || !bytes.Equal(got, in) {
			t.Errorf("%q came back as %q (%v)", in, got, err)
		}
		if facts, payload, err := UnpackContent(PackContent(`{"cart":{}}`, in)); err != nil || facts != `{"cart":{}}` || !bytes.Equal(payload, in) {
			t.Errorf("%q came back as %q beside %s (%v)", in, payload, facts, err)
		}
		// Whatever a damaged row holds, reading it ends with bytes or with an error.
		if _, err := unpack(in); err != nil && len(in) == 0 {
			t.Errorf("nothing unpacks to an error: %v", err)
		}
	})
}

func TestDamagedPayloadsAreErrors(t *testing.T) {
	for words, in := range map[string][]byte{
		"unpack: unknown form 9":       {9, 1, 2},
		"unpack: s2: corrupt input":    {packedS2},
		"unpack: too large to be ours": {packedS2, 0xff, 0xff, 0xff, 0x7f},
	} {
		if _, err := unpack(in); fmt.Sprint(err) != words {
			t.Errorf("%x: %v, want %s", in, err, words)
		}
	}
}
