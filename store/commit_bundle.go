package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nudgewire/nudgewire"
)

// What the events of a group carried, and what was decided about them, is stored in bundles of
// neighbours: the webhooks of a shop are alike, so together they compress to a fraction of what they
// take one by one, and they fill pages without the gaps that rows of a third of a page leave.
// A bundle has the number of its first event, and the entries after it are of the numbers that follow.

// maxBundle is how much a bundle may hold, in bytes before compression and but for its last entry: a read of one
// entry unpacks them all.
const maxBundle = 128 << 10

// A bundle is one in the making.
type bundle struct {
	insert       *statement
	first, count int64
	plain        []byte
	packed       []byte
}

func (b *bundle) clear() { b.count, b.plain = 0, b.plain[:0] }

// next begins the entry of event id, which the caller appends to plain.
func (t *tx) next(b *bundle, id int64) error {
	if len(b.plain) > maxBundle || id != b.first+b.count {
		if err := t.store(b); err != nil {
			return err
		}
	}
	if b.count == 0 {
		b.first = id
	}
	b.count++
	return nil
}

// writeBundles stores what the open bundles hold at the end of a batch.
func (t *tx) writeBundles() error {
	if err := t.store(&t.payloads); err != nil {
		return err
	}
	return t.store(&t.decisions)
}

// store stores the bundle and makes it empty.
func (t *tx) store(b *bundle) error {
	if b.count == 0 {
		return nil
	}
	b.packed = pack(b.packed[:0], b.plain)
	if err := t.put(b.insert, b.first, b.packed); err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	if cap(b.plain) > 8*maxBundle { // a huge body's room is let go
		b.plain, b.packed = nil, nil
	}
	b.clear()
	return nil
}

// appendPiece appends a piece of an entry with its length before it.
func appendPiece[T string | []byte](b []byte, piece T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(piece))), piece...)
}

// appendLoad appends the entry of what an event carried.
func appendLoad(b []byte, e *nudgewire.Event, facts []byte) []byte {
	return appendPiece(appendPiece(appendPiece(b, e.ContentType), e.Payload), facts)
}

// entry fills pieces with those of the entry that comes at places after the first; ok is false where the
// bundle has none.
func entry(packed []byte, at int64, pieces ...*[]byte) (ok bool, err error) {
	plain, err := unpack(packed)
	for ; err == nil && len(plain) > 0; at-- {
		for _, p := range pieces {
			size, n := binary.Uvarint(plain)
			if n <= 0 || size > uint64(len(plain)-n) {
				return false, errDamagedBundle
			}
			end := n + int(size)
			*p, plain = plain[n:end:end], plain[end:]
		}
		if at == 0 {
			return true, nil
		}
	}
	return false, err
}

var errDamagedBundle = errors.New("unpack: a bundle that ends in the middle of an entry")
