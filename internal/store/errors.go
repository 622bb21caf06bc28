package store

import (
	"errors"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What a caller can decide on, beside the errors of package messaging.
var (
	// ErrOverloaded means that too many requests already wait to be stored; nothing was stored.
	ErrOverloaded = errors.New("too many events are waiting to be stored; try again in a moment")
	// ErrUnanswered means that the disk or the database server has not answered in time: an event may be stored or not, and is known
	// when it comes again.
	ErrUnanswered = errors.New("the data has not answered in time; what was sent may be stored, and is known when it comes again")
	// ErrClosed means that the store takes no more.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly means that the store was opened for reading.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrForgotten means that a message cannot be sent again: what it said is not kept.
	ErrForgotten = errors.New("its variables are not kept (keep_variables: false), so it cannot be sent again; resolve it as accepted or drop, and have the sender make a new one")
)

// NoWrite is the error of an op that changed nothing: the batch of such an op is committed all the same.
type NoWrite struct{ Err error }

func (u NoWrite) Error() string { return u.Err.Error() }
func (u NoWrite) Unwrap() error { return u.Err }

// A StateError says that a message is not in the state that an order about it needs.
type StateError struct {
	ID    messaging.MessageID
	State messaging.State // that it is in
	Want  messaging.State // that the order needs
}

// Error says which state the message is in and which one the order needs.
func (e *StateError) Error() string {
	words := map[messaging.State]string{
		messaging.StateWaiting:   "still waits for its time",
		messaging.StateSending:   "is being sent at this moment",
		messaging.StateAccepted:  "was accepted by the service already",
		messaging.StateRejected:  "was rejected by the service already",
		messaging.StateInDoubt:   "may have been sent already; nobody knows",
		messaging.StateCancelled: "was cancelled already",
		messaging.StateDropped:   "was dropped already",
	}
	return fmt.Sprintf("message %d %s (%s); this needs one that is %s", e.ID, words[e.State], e.State, e.Want)
}

// A PanicError is a panic inside one operation of a batch; its neighbours were not harmed.
type PanicError struct {
	Value any
	Stack []byte
}

// Error leaves the stack out; it is there for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Wrap adds what was done to err, as fmt.Errorf does; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
