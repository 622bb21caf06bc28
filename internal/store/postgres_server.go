package store

import (
	"context"
	"errors"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// ErrNoData means that a database answers and holds no data of nudgewire.
var ErrNoData = errors.New("there is no data in this database yet; the daemon makes its tables when it first starts")

// MostConnections is how many connections a daemon opens to a PostgreSQL server at the most: those that write and read, and one
// each for the schema, for word from other nodes and for liveness.
const MostConnections = defaultWriters + engine.MostReaders + 3

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
		if err := s.Rows(ctx, `SELECT 1`, nil, func(*engine.Row) error { return nil }); err != nil {
			return v, err
		}
		if took := time.Since(began); v.Latency == 0 || took < v.Latency {
			v.Latency = took
		}
	}
	err = s.Rows(ctx, `SELECT current_setting('server_version'), (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint`,
		nil, func(r *engine.Row) error {
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
	err := s.reads.Scan(asking, `SELECT pg_is_in_recovery()`, nil, &standby)
	if standby {
		err = &engine.ServerError{Words: "it is a standby, which nobody can write to", Passes: true}
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		s.away.Store(nil)
	default:
		var away error = &engine.OutageError{Cause: err}
		s.away.Store(&away)
	}
}

const lookFor = 3 * time.Second

// refusedFor is how long it is told that the server refuses writes, once it has refused one.
const refusedFor = 30 * time.Second

// Refused is an *OutageError with what a database server said that answers and has refused a write a moment ago, for a reason that the
// next one will meet, too: its disk is full, it is set to read only, or the role has lost rights. It holds nothing up: what is asked next is tried.
func (s *Store) Refused() error {
	if r := s.refused.Load(); r != nil && time.Since(r.At) < refusedFor {
		return &engine.OutageError{Cause: r.Err}
	}
	return nil
}

// Hint is the next step after any error of these data; "" where they are a file and the error says it all.
func (s *Store) Hint(err error) string {
	hint := engine.Hint(err)
	if hint == "" && s.file == nil {
		return engine.HintServer
	}
	return hint
}

// readClock asks the server for the time, before anything is compared with it. Heartbeats go on with that.
func (s *Store) readClock(ctx context.Context) error {
	var said int64
	began := s.clock.Machine()
	err := s.reads.QueryRowContext(ctx, `SELECT `+nodes.Now).Scan(&said)
	if err == nil {
		s.clock.Learn(began, engine.Moment(said))
	}
	return err
}
