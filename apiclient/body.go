package apiclient

import (
	"errors"
	"io"
	"sync"
)

// A body is a request's content that can prove it never left. The transport may come to read it
// after RoundTrip has already returned with an error (a cancelled context, say), so asking "was it
// read?" proves nothing: sealing it first does. Once a body is sealed untouched, no byte of it can
// reach the service any more.
//
// The opposite is no proof: a body that was read may have died in a buffer. And a body of
// which a part left counts as sent, because a service may act on a part of an upload.
type body struct {
	mu      sync.Mutex
	src     io.Reader // reads under mu: after seal returns, src is the caller's again
	taken   int64     // bytes handed to the transport
	touched bool      // a read was begun
	sealed  bool
	failure error // of src itself, for a better reason than the transport gives
}

var errSealed = errors.New("the call has ended")

// Read hands content to the transport.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sealed {
		return 0, errSealed
	}
	b.touched = true
	n, err := b.src.Read(p)
	b.taken += int64(n)
	if err != nil && err != io.EOF {
		b.failure = err
	}
	return n, err
}

// Close ends reading; the transport calls it, sometimes before the request was written.
func (b *body) Close() error {
	b.seal()
	return nil
}

// seal ends reading for good and reports whether any was begun before.
func (b *body) seal() (touched bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sealed = true
	return b.touched
}
