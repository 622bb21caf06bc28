package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nudgewire/nudgewire/internal/pgaddress"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// OnServer reports whether a DSN names a PostgreSQL database, and no file of this machine.
func OnServer(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// checkDSN says what is wrong with the address of a PostgreSQL database, without repeating it: there may be a password in it.
func checkDSN(address string) error {
	if strings.Contains(address, "#") {
		return errors.New("has a # in it, which is %23 in an address")
	}
	_, err := pgaddress.Parse(address)
	if no, ok := errors.AsType[*pgaddress.FileError](err); ok {
		return fmt.Errorf("names a file that cannot be used: %w", no)
	}
	if err != nil {
		return errors.New("cannot read the address of the database")
	}
	return nil
}

// A ServerError says that a PostgreSQL server cannot keep what is promised.
type ServerError struct {
	Words  string
	Passes bool // it may end without a change of ours
}

func (e *ServerError) Error() string { return e.Words }

// openPostgres opens the data in a PostgreSQL database.
func (s *Store) openPostgres(ctx context.Context, o *Options) (err error) {
	address, local, _ := strings.Cut(o.DSN, "#")
	if err := checkDSN(address); err != nil {
		return fmt.Errorf("storage: %w; write postgres://user:password@server:5432/database", err)
	}
	cfg, err := connectionTo(address, "nudgewire")
	if err != nil {
		return err
	}
	defer func() { err = Wrap(err, "PostgreSQL at %s", whereIs(cfg)) }()
	cfg.StatementCacheCapacity = 2 * len(statements)
	s.openPool(cfg)
	if err := checkServer(ctx, s.reads.DB); err != nil {
		return unreachable(err)
	}
	if err := s.readClock(ctx); err != nil {
		return unreachable(err)
	}
	if o.ReadOnly {
		if err := s.hasData(ctx); err != nil {
			return err
		}
		if err := checkSchema(ctx, s.reads); err != nil {
			return err
		}
		if err := arrived(ctx, s.reads, whereIs(cfg)); err != nil {
			return err
		}
		return s.marks.loadAll(ctx, s)
	}
	if local == "" {
		return errors.New("needs a folder for what this process notes, after a # behind the address")
	}
	if err := os.MkdirAll(local, 0o700); err != nil {
		return fmt.Errorf("folder of this machine: %w", err)
	}
	if s.folder, err = sqlite.TakeLock(Path(o.DSN) + ".lock"); err != nil {
		return err
	}
	s.calls.path = Path(o.DSN) + ".calls"
	if checkSchema(ctx, s.reads) != nil { // mostly another process has brought it up to date
		if err := migratePostgres(ctx, cfg); err != nil {
			return unreachable(err)
		}
	}
	s.openQuick(cfg)
	s.beat.Quick, s.beat.Slow, s.beat.Machine, s.beat.Learn = s.quick, s.reads.DB, s.clock.machine, s.clock.learn
	s.beat.Flushed, s.beat.Synced = flushedNow, stillSynced
	write := cfg.Copy()
	write.RuntimeParams["statement_timeout"] = milliseconds(statementFor)
	write.RuntimeParams["lock_timeout"] = milliseconds(lockFor)
	// Each statement of a writer reads a few rows by an index, in its order. What the server knows of a queue is soon wrong, and
	// a plan that reads all that waits and sorts it looks good to it then.
	for _, way := range []string{"seqscan", "bitmapscan", "sort", "material", "hashjoin", "mergejoin"} {
		write.RuntimeParams["enable_"+way] = "off"
	}
	// Where no other way is left, such as through a table of six rows, the price of a forbidden one makes the statement look long
	// enough to be compiled first, which takes a quarter of a second of a processor and reads nothing faster.
	write.RuntimeParams["jit"] = "off"
	wakes := &nodes.WakeUps{}
	for i := range o.Writers {
		e := newPostgresEngine(func(ctx context.Context) (*pgx.Conn, error) { return s.connectWriter(ctx, write) })
		e.refused = &s.refused
		w := newWriter(&s.shared, e)
		w.peers = &manyWriters{e, &s.numbers, wakes}
		if s.more = append(s.more, w); i == 0 {
			s.writer, s.more = w, nil
		}
	}
	if err := s.keepPredecessor(ctx); err != nil {
		return err
	}
	if err := s.marks.loadAll(ctx, s); err != nil {
		return err
	}
	s.notices = nodes.NewNotices(cfg, (&peerNotices{s: s}).readNotices)
	if err := s.writer.engine.begin(); err != nil {
		return err
	}
	return s.loadRestoration(ctx)
}

// connectionTo is what every connection to the database at an address begins with.
func connectionTo(address, application string) (*pgx.ConnConfig, error) {
	cfg, err := pgaddress.Parse(address)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = application
	cfg.RuntimeParams["client_encoding"] = "UTF8"
	cfg.RuntimeParams["default_transaction_isolation"] = "read committed"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = milliseconds(idleFor) // by which checkServer knows a pooler
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectFor
	}
	return cfg, nil
}

// defaultWriters is how many connections of a process write at the same time: while one waits for the disk of the server, another
// asks, and a third one reads answers.
const defaultWriters = 4

// connectWriter opens a connection that writes, and takes a number for it that no other such connection has.
func (s *Store) connectWriter(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := sharesData(ctx, conn, whereIs(cfg)); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	for number := int64(1); number <= maxWriters; number++ {
		var free bool
		err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtext('nudgewire writer'), $1::bigint::int)`, number).Scan(&free)
		if err == nil && free {
			_, err = conn.Exec(ctx, `SELECT set_config('nudgewire.writer', $1::bigint::text, false)`, number)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
		if !free {
			continue
		}
		if err := s.settlePlace(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
		return conn, nil
	}
	return nil, errors.Join(fmt.Errorf("more than %d connections write to this database", maxWriters), conn.Close(ctx))
}

// maxWriters bounds the connections that write at the same time, of all processes.
const maxWriters = 1000

const (
	statementFor = 20 * time.Second
	lockFor      = 5 * time.Second // for a transaction of a process that hangs; then each operation waits by itself
	idleFor      = time.Minute     // a transaction of a process that hangs
	quickFor     = 2 * time.Second
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// whereIs is the server and the database of a config, without a secret.
func whereIs(cfg *pgx.ConnConfig) string {
	return fmt.Sprintf("%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
}

// hasData is ErrNoData where no daemon has made its tables yet.
func (s *Store) hasData(ctx context.Context) error {
	var there bool
	if err := s.reads.scan(ctx, `SELECT to_regclass('messages') IS NOT NULL`, nil, &there); err != nil {
		return unreachable(err)
	}
	if !there {
		return ErrNoData
	}
	return nil
}

func (s *Store) openPool(cfg *pgx.ConnConfig) {
	read := cfg.Copy()
	read.RuntimeParams["statement_timeout"] = milliseconds(longestRead)
	s.reads = pool{stdlib.OpenDB(*read), postgresDialect, nil}
	s.reads.SetMaxOpenConns(mostReaders)
	s.reads.SetMaxIdleConns(mostReaders)
}

// openQuick opens connections for what takes no time and waits for nobody.
func (s *Store) openQuick(cfg *pgx.ConnConfig) {
	own := cfg.Copy()
	own.RuntimeParams["statement_timeout"] = milliseconds(quickFor)
	s.quick = stdlib.OpenDB(*own)
	s.quick.SetMaxOpenConns(2)
	s.quick.SetMaxIdleConns(2)
}

// checkServer refuses a server that cannot keep what is promised.
func checkServer(ctx context.Context, db *sql.DB) error {
	var version int
	var idle string
	var sync, encoding string
	var standby bool
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'), current_setting('server_encoding'), pg_is_in_recovery(), (SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')`).
		Scan(&version, &sync, &encoding, &standby, &idle)
	switch {
	case refusesSettings(err):
		return &ServerError{Words: pooled}
	case err != nil:
		return err
	case idle != milliseconds(idleFor): // what a connection begins with got lost on the way
		return &ServerError{Words: pooled}
	case version < 13_00_00:
		return &ServerError{Words: fmt.Sprintf("its version is %d; nudgewire needs 13 or later", version/10000)}
	case sync == "off":
		return &ServerError{Words: "synchronous_commit is off there: a crash would lose events that their senders were told are stored; set it to on (ALTER ROLE … SET synchronous_commit = on)"}
	case encoding != "UTF8":
		return &ServerError{Words: "the database has the encoding " + encoding + "; make one with UTF8 (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)"}
	case standby:
		return &ServerError{"it is a standby, which nobody can write to; name the primary, or all with target_session_attrs=read-write", true}
	}
	return nil
}

// pooled refuses what stands between nudgewire and its database and gives each transaction another connection: locks and settings of a
// session would be somebody else's.
const pooled = "a connection pooler, such as PgBouncer, stands before the database, and gives sessions no settings of their own; nudgewire has its own pool: name the PostgreSQL server itself in storage:"

// refusesSettings reports whether the other side does not speak what every PostgreSQL server does when a connection begins.
func refusesSettings(err error) bool {
	e, is := errors.AsType[*pgconn.PgError](err)
	return is && e.Code == "08P01"
}

// migratePostgres brings the schema up to date, one process at a time.
func migratePostgres(ctx context.Context, cfg *pgx.ConnConfig) (err error) {
	own := cfg.Copy()
	own.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // a step has many statements
	db := stdlib.OpenDB(*own)
	defer func() { err = errors.Join(err, db.Close()) }()
	lock, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := lock.ExecContext(ctx, `SELECT pg_advisory_lock(hashtext('nudgewire schema'))`); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	err = migrate(ctx, db, postgresDialect, steps)
	_, unlock := lock.ExecContext(ctx, `SELECT pg_advisory_unlock(hashtext('nudgewire schema'))`)
	return errors.Join(err, unlock)
}
