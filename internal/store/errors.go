package store

import (
	"errors"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What a caller can decide on, beside the errors of package messaging.
var (
	// ErrReadOnly means that the store was opened for reading.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrForgotten means that a message cannot be sent again: what it said is not kept.
	ErrForgotten = errors.New("its variables are not kept (keep_variables: false), so it cannot be sent again; resolve it as accepted or drop, and have the sender make a new one")
)

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

// Wrap adds what was done to err, as fmt.Errorf does; nil stays nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
