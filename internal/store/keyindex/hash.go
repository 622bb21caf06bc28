package keyindex

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Hash is the 8-byte key under which parts are indexed. It is not a secret and not
// trusted: a look-up by it compares the texts, too.
func Hash(parts ...string) int64 {
	buf := make([]byte, 0, 256)
	for _, p := range parts {
		// The length keeps ("ab", "c") apart from ("a", "bc").
		buf = binary.AppendUvarint(buf, uint64(len(p)))
		buf = append(buf, p...)
	}
	return int64(xxh3.Hash(buf))
}
