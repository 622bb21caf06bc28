package engine

import (
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Row is one result row read column by column, from the writer's driver or from a pool
// alike. The first column of a wrong type is kept in Err and reads as zero from then on.
type Row struct {
	values []driver.Value
	next   int
	Err    error
}

// Value is the next column as the driver gave it.
func (r *Row) Value() driver.Value {
	v := r.values[r.next]
	r.next++
	return v
}

// Int is the next column, a number.
func (r *Row) Int() int64 {
	switch v := r.Value().(type) {
	case int64:
		return v
	default:
		r.wrong(v, "a number")
		return 0
	}
}

// Text is the next column, a text.
func (r *Row) Text() string {
	switch v := r.Value().(type) {
	case string:
		return v
	case []byte:
		return string(v)
	default:
		r.wrong(v, "text")
		return ""
	}
}

// Phone is one that this store wrote, and so the identity of a number already.
func (r *Row) Phone() messaging.Phone { return messaging.Phone(r.Text()) }

// Blob is a copy: drivers reuse their buffers.
func (r *Row) Blob() []byte {
	switch v := r.Value().(type) {
	case []byte:
		return append([]byte(nil), v...)
	case string:
		return []byte(v)
	default:
		r.wrong(v, "bytes")
		return nil
	}
}

// Time is the next column, a time of microseconds.
func (r *Row) Time() time.Time { return Moment(r.Int()) }

func (r *Row) wrong(v any, want string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("column %d holds %T, not %s", r.next, v, want)
	}
}

// Micro is t as it is stored: microseconds since 1970 UTC, 0 for the zero time.
func Micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Moment is a stored time, in UTC.
func Moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Flag is b as a stored number.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
