package engine

import (
	"context"
	"errors"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Away says in a few words why nothing can be written or sent at present, where that may end without a change of ours: the disk, or
// the database server. It is "" where err is anything else.
func Away(err error) string {
	if why := sqlite.DiskTrouble(err); why != "" {
		return why
	}
	if _, is := errors.AsType[*OutageError](err); is || ConcernsAll(err) {
		return outageWords(err)
	}
	if server, is := errors.AsType[*ServerError](err); is && server.Passes {
		return "the database server is a standby, which nobody can write to"
	}
	return ""
}

// Unready says in a few words why nothing can be stored at present, for anybody: it names no path and no server; "" where err is anything
// else.
func Unready(err error) string {
	_, gone := errors.AsType[*sqlite.GoneError](err)
	switch {
	case sqlite.Damaged(err):
		return "the data is damaged"
	case gone:
		return "the data is not where it was opened"
	default:
		return Away(err)
	}
}

func outageWords(err error) string {
	if e, is := errors.AsType[*pgconn.PgError](err); is {
		switch {
		case e.Code == "53300":
			return "the database server has no connection free"
		case e.Code == "53100":
			return "the disk of the database server is full"
		case e.Code == "57P03":
			return "the database server is starting or stopping"
		case e.Code[:2] == "25":
			return "the database server is a standby, or set to read only"
		case e.Code == "42501":
			return "the role has not the rights that it needs in the database"
		}
	}
	return "the database server cannot be reached"
}

// Hint is the next step after an error of a PostgreSQL database, of damaged data, or of the disk; "" where the error says it all.
func Hint(err error) string {
	switch _, gone := errors.AsType[*sqlite.GoneError](err); {
	case sqlite.Damaged(err):
		return sqlite.DamagedHint
	case gone:
		return "put the files back where they were, or start the daemon anew to begin with what is there"
	case sqlite.DiskFull(err):
		return "make room on the disk of the data; the daemon goes on by itself"
	case sqlite.DiskTrouble(err) != "":
		return "look at the disk of the data; the daemon goes on by itself once it can be written to"
	}
	if e, is := errors.AsType[*pgconn.PgError](err); is {
		switch e.Code {
		case "28P01", "28000":
			return "look at the user and the password in storage:, and at pg_hba.conf of the server"
		case "3D000":
			return "make the database: CREATE DATABASE …; docs/cluster.md has the commands"
		case "42501":
			return "give the role its rights: docs/cluster.md has the commands"
		case "25006":
			return "name the server that takes writes in storage:, or set default_transaction_read_only to off there; the daemon goes on by itself"
		case "53300":
			return "raise max_connections of the server, or end programs that are connected to it"
		case "53100":
			return "make room on the disk of the database server"
		}
	}
	if why := Away(err); why != "" {
		return HintServer
	}
	return ""
}

// HintServer is the next step where a server cannot be reached.
const HintServer = "look at the database server and the way to it; the daemon goes on by itself once it is back"

// Unreachable makes an *OutageError of an error of opening a connection that may pass: the server is away, starts, stops or is full.
// What only a person can mend stays as it is: a wrong password, a name that leads nowhere in the config.
func Unreachable(err error) error {
	if err == nil {
		return nil
	}
	if _, said := errors.AsType[*pgconn.PgError](err); said {
		if outage(err) {
			return &OutageError{err}
		}
		return err
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if connecting || network || errors.Is(err, context.DeadlineExceeded) {
		return &OutageError{err}
	}
	return err
}
