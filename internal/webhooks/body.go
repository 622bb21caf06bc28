package webhooks

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/units"
)

// How a body is read. A body that came with its head is read in one piece. For a longer one memory
// is taken when its bytes are there: first a step, and then as much again as has come.
const (
	smallBody = 4 << 10  // bytes for which the request's own charge is enough
	bodyStep  = 16 << 10 // bytes of the first step beyond that

	bodyPatience = 2 * time.Second  // in which the body has to begin
	bodyRate     = 1000             // bytes a second that it has to keep up after that
	bodyTime     = 15 * time.Second // in which it has to be whole: no sender needs as long
)

var firstBytes = sync.Pool{New: func() any { return new([smallBody]byte) }}

// A bodyReader reads one body.
type bodyReader struct {
	from  io.Reader
	conn  *http.ResponseController
	hold  *holding
	limit int64
	began time.Time
	until time.Time // the deadline that is set
	read  int64
}

// errBeyond means that the body is longer than the limit.
var errBeyond = errors.New("longer than the limit")

// all reads a body of length bytes, or as many as come when it is -1, but no more than the limit.
// The error is a shedError, errBeyond, or the connection's.
func (b *bodyReader) all(length int64) ([]byte, error) {
	if length > b.limit {
		return nil, errBeyond
	}
	if length >= 0 && length <= smallBody {
		body := make([]byte, length)
		n, err := b.fill(body)
		return whole(body[:n], length, err)
	}
	first := firstBytes.Get().(*[smallBody]byte) // the pool holds nothing else
	defer firstBytes.Put(first)
	n, err := b.fill(first[:])
	size := b.limit + 1 // one more, to see that it is longer
	if length >= 0 {
		size = length
	}
	have, mine := first[:n], false // the pool's bytes are not for the caller
	for err == nil && int64(len(have)) < size {
		grown := min(size, max(bodyStep, 2*int64(len(have))))
		held := int64(0)
		if mine {
			held = int64(cap(have))
		}
		if why, ok := b.hold.more(grown - held); !ok {
			return nil, shedError{why}
		}
		next := make([]byte, grown)
		copy(next, have)
		n, err = b.fill(next[len(have):])
		have, mine = next[:len(have)+n], true
	}
	if int64(len(have)) > b.limit {
		return nil, errBeyond
	}
	if !mine {
		have = append([]byte(nil), have...)
	}
	return whole(have, length, err)
}

// whole tells the end of a body from its being cut: as much came as was announced, or the chunks
// came to their end.
func whole(body []byte, length int64, err error) ([]byte, error) {
	switch {
	case length >= 0 && int64(len(body)) == length:
		return body, nil
	case length < 0 && errors.Is(err, io.EOF):
		return body, nil
	case err == nil || errors.Is(err, io.EOF):
		return body, io.ErrUnexpectedEOF
	default:
		return body, err
	}
}

// fill reads until to is full, which is no error, or the body ends.
func (b *bodyReader) fill(to []byte) (n int, err error) {
	for n < len(to) && err == nil {
		var some int
		some, err = b.some(to[n:])
		n += some
	}
	if n == len(to) {
		return n, nil
	}
	return n, err
}

// some is one read, with the deadline that the bytes so far allow.
func (b *bodyReader) some(to []byte) (int, error) {
	until := b.began.Add(min(bodyTime, bodyPatience+time.Duration(b.read)*time.Second/bodyRate))
	if until.Sub(b.until) > bodyPatience/4 {
		b.until = until
		_ = b.conn.SetReadDeadline(until) // a connection that knows no deadline, as in tests, has its own end
	}
	if b.hold.evicted.Load() { // the deadline that woke us may have been replaced by this one
		return 0, shedError{shedUnproven}
	}
	n, err := b.from.Read(to)
	b.read += int64(n)
	switch {
	case err != nil && b.hold.evicted.Load():
		return n, shedError{shedUnproven}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, shedError{shedSlow}
	}
	return n, err
}

// bodyError is a body that could not be read whole, as a rejected request or a shedError.
func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[shedError](err); ok {
		return err
	}
	if errors.Is(err, errBeyond) {
		return &connectors.Rejected{
			Status: http.StatusRequestEntityTooLarge, Stage: connectors.StageSize, Public: "body too large",
			Reason: "the body is larger than " + units.Number(limit) + " bytes; raise max_body if the sender is right",
		}
	}
	return &connectors.Rejected{
		Status: http.StatusBadRequest, Stage: stageCut, Public: "body cut short", Reason: "the body ended early",
	}
}
