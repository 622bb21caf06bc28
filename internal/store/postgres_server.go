package store

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// ErrNoData means that a database answers and holds no data of nudgewire.
var ErrNoData = errors.New("there is no data in this database yet; the daemon makes its tables when it first starts")

// MostConnections is how many connections a daemon opens to a PostgreSQL server at the most: those that write and read, and one
// each for the schema, for word from other nodes and for liveness.
const MostConnections = defaultWriters + mostReaders + 3

// A Server is what a PostgreSQL server says of itself.
type Server struct {
	Version         string        // such as "15.8"
	Latency         time.Duration // of the quickest of some answers
	Connections     int           // open at present, everybody's
	MostConnections int
}

// Server asks the server how it is. It is zero where the data is a file.
func (s *Store) Server(ctx context.Context) (v Server, err error) {
	if s.file != nil {
		return v, nil
	}
	for range 3 {
		began := time.Now()
		if err := s.Rows(ctx, `SELECT 1`, nil, func(*Row) error { return nil }); err != nil {
			return v, err
		}
		if took := time.Since(began); v.Latency == 0 || took < v.Latency {
			v.Latency = took
		}
	}
	err = s.Rows(ctx, `SELECT current_setting('server_version'), (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint`,
		nil, func(r *Row) error {
			v.Version, v.Connections, v.MostConnections = r.Text(), int(r.Int()), int(r.Int())
			return r.Err
		})
	return v, Wrap(err, "ask the database server")
}

// LookAtServer asks the server whether it serves, for Present, and gives up after lookFor. It does nothing where the data is a file.
func (s *Store) LookAtServer(ctx context.Context) {
	if s.file != nil {
		return
	}
	asking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var standby bool
	err := s.reads.scan(asking, `SELECT pg_is_in_recovery()`, nil, &standby)
	if standby {
		err = &ServerError{Words: "it is a standby, which nobody can write to", Passes: true}
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		s.away.Store(nil)
	default:
		var away error = &OutageError{err}
		s.away.Store(&away)
	}
}

const lookFor = 3 * time.Second

// refusedFor is how long it is told that the server refuses writes, once it has refused one.
const refusedFor = 30 * time.Second

// Refused is an *OutageError with what a database server said that answers and has refused a write a moment ago, for a reason that the
// next one will meet, too: its disk is full, it is set to read only, or the role has lost rights. It holds nothing up: what is asked next is tried.
func (s *Store) Refused() error {
	if r := s.refused.Load(); r != nil && time.Since(r.at) < refusedFor {
		return &OutageError{r.err}
	}
	return nil
}

// Away says in a few words why nothing can be written or sent at present, where that may end without a change of ours: the disk, or
// the database server. It is "" where err is anything else.
func Away(err error) string {
	if why := sqlite.DiskTrouble(err); why != "" {
		return why
	}
	if _, is := errors.AsType[*OutageError](err); is || everybodys(err) {
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
		return lookAtServer
	}
	return ""
}

const lookAtServer = "look at the database server and the way to it; the daemon goes on by itself once it is back"

// Hint is the next step after any error of these data; "" where they are a file and the error says it all.
func (s *Store) Hint(err error) string {
	hint := Hint(err)
	if hint == "" && s.file == nil {
		return lookAtServer
	}
	return hint
}

// unreachable makes an *OutageError of an error of opening a connection that may pass: the server is away, starts, stops or is full.
// What only a person can mend stays as it is: a wrong password, a name that leads nowhere in the config.
func unreachable(err error) error {
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
