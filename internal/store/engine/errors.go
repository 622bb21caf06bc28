package engine

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// An OutageError says that the database cannot be reached, or serves nobody at present. Nothing was written.
type OutageError struct{ Cause error }

// Error says so; nothing has to be done once the database is back.
func (e *OutageError) Error() string {
	return "the database cannot be reached, or cannot write at present; nothing is taken and nothing is sent until it can: " + e.Cause.Error()
}

// Unwrap is what the driver said.
func (e *OutageError) Unwrap() error { return e.Cause }

// An UnknownError says that the answer to a commit was lost, and that the database could not be asked afterwards: what was written may be
// there or not.
type UnknownError struct{ Cause error }

// Error says so.
func (e *UnknownError) Error() string {
	return "the database was lost in the middle of a commit, so what was written may be there or not: " + e.Cause.Error()
}

// Unwrap is what the driver said.
func (e *UnknownError) Unwrap() error { return e.Cause }

// ConcernsAll reports whether an error is the same for every operation, whoever shares its batch.
func ConcernsAll(err error) bool {
	if _, is := errors.AsType[*OutageError](err); is {
		return true
	}
	_, is := errors.AsType[*UnknownError](err)
	return is
}

// noRoomForLocks is the code of a server that has no room for one more lock.
const noRoomForLocks = "53200"

// Collided reports whether the transaction was ended because of what others do at the same time: they waited for each other, or
// too long, or there was no room for so many locks. Its operations may be tried again, one by one.
func Collided(err error) bool {
	e, is := errors.AsType[*pgconn.PgError](err)
	return is && (e.Code == "40001" || e.Code == "40P01" || e.Code == "55P03" || e.Code == noRoomForLocks)
}

// A NewerSchemaError says that the data was written by another version of nudgewire.
type NewerSchemaError struct{ Found, Known int64 }

// Error names both versions and the next step.
func (e *NewerSchemaError) Error() string {
	if e.Found < e.Known {
		return fmt.Sprintf("the data has schema version %d and this nudgewire reads version %d; start the daemon once to bring it up to date", e.Found, e.Known)
	}
	return fmt.Sprintf("the data has schema version %d and this nudgewire knows versions up to %d; use the newer nudgewire that wrote it", e.Found, e.Known)
}

// A ServerError says that a PostgreSQL server cannot keep what is promised.
type ServerError struct {
	Words  string
	Passes bool // it may end without a change of ours
}

// Error says so.
func (e *ServerError) Error() string { return e.Words }
