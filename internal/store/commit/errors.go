package commit

import (
	"errors"
	"fmt"
)

var (
	// ErrOverloaded means that too many requests already wait to be stored; nothing was stored.
	ErrOverloaded = errors.New("too many events are waiting to be stored; try again in a moment")
	// ErrUnanswered means that the disk or the database server has not answered in time: an event may be stored or not, and is known
	// when it comes again.
	ErrUnanswered = errors.New("the data has not answered in time; what was sent may be stored, and is known when it comes again")
	// ErrClosed means that the store takes no more.
	ErrClosed = errors.New("the store is closed")
)

// NoWrite is the error of an operation that changed nothing: the batch of such a one is committed all the same.
type NoWrite struct{ Err error }

func (u NoWrite) Error() string { return u.Err.Error() }
func (u NoWrite) Unwrap() error { return u.Err }

// A PanicError is a panic inside one operation of a batch; its neighbours were not harmed.
type PanicError struct {
	Value any
	Stack []byte
}

// Error leaves the stack out; it is there for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
