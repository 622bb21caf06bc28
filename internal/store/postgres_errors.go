package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// An OutageError says that the database cannot be reached, or serves nobody at present. Nothing was written.
type OutageError struct{ Cause error }

// Error says so; nothing has to be done once the database is back.
func (e *OutageError) Error() string {
	return "the database cannot be reached, or cannot write at present; nothing is taken and nothing is sent until it can: " + e.Cause.Error()
}

func (e *OutageError) Unwrap() error { return e.Cause }

// An UnknownError says that the answer to a commit was lost, and that the database could not be asked afterwards: what was written may be
// there or not.
type UnknownError struct{ Cause error }

// Error says so.
func (e *UnknownError) Error() string {
	return "the database was lost in the middle of a commit, so what was written may be there or not: " + e.Cause.Error()
}

func (e *UnknownError) Unwrap() error { return e.Cause }

// everybodys reports whether an error is the same for every operation, whoever shares its batch.
func everybodys(err error) bool {
	if _, is := errors.AsType[*OutageError](err); is {
		return true
	}
	_, is := errors.AsType[*UnknownError](err)
	return is
}

// noRoomForLocks is the code of a server that has no room for one more lock.
const noRoomForLocks = "53200"

// collided reports whether the transaction was ended because of what others do at the same time: they waited for each other, or
// too long, or there was no room for so many locks. Its operations may be tried again, one by one.
func collided(err error) bool {
	e, is := errors.AsType[*pgconn.PgError](err)
	return is && (e.Code == "40001" || e.Code == "40P01" || e.Code == "55P03" || e.Code == noRoomForLocks)
}
